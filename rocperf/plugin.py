"""The plugin interface: hooks that register, the base class of an analysis, its options."""

from __future__ import annotations

import dataclasses
import importlib.util
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeGuard, TypeVar, get_args

import pluggy

from rocperf.errors import ConfigError, PluginError, UsageError
from rocperf.model import Finding, Requires
from rocperf.profile import Profile

#: Entry-point group of plugins, and the name that hook markers carry.
GROUP = "rocperf"
#: Distribution whose analyses run in the main process.
OURS = "rocperf"

hookspec = pluggy.HookspecMarker(GROUP)
hookimpl = pluggy.HookimplMarker(GROUP)

T = TypeVar("T")
_KEBAB = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def option(
    default: T,
    *,
    help: str,  # noqa: A002
    unit: str = "",
    minimum: float | None = None,
    maximum: float | None = None,
) -> T:
    """Declare one option of an analysis.

    Parameters
    ----------
    default
        Its value unless set; its type is the option's.
    help
        What it means, and where the default comes from.
    unit, minimum, maximum
        Unit and bounds.
    """
    metadata = {"help": help, "unit": unit, "minimum": minimum, "maximum": maximum}
    value: T = dataclasses.field(default=default, metadata=metadata)
    return value


@dataclass(frozen=True)
class Options:
    """Base of an analysis's options: a frozen dataclass of `option` fields."""

    def __post_init__(self) -> None:
        """Hold every value against its bounds.

        Raises
        ------
        ConfigError
            If one is outside.
        """
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            low, high = field.metadata.get("minimum"), field.metadata.get("maximum")
            if low is not None and value < low:
                raise ConfigError(
                    f"{field.name} = {value} is below {low}", hint=field.metadata["help"]
                )
            if high is not None and value > high:
                raise ConfigError(
                    f"{field.name} = {value} is above {high}", hint=field.metadata["help"]
                )


O = TypeVar("O", bound=Options)  # noqa: E741


class Analysis(ABC, Generic[O]):
    """One question asked of a profile.

    Attributes
    ----------
    id
        Kebab-case name, unique among installed plugins.
    title
        The question in a few words.
    requires
        What the profile must hold; without it the analysis is skipped, not wrong.
    """

    id: ClassVar[str]
    title: ClassVar[str]
    requires: ClassVar[Requires] = Requires()
    options_type: ClassVar[type[Options]] = Options
    options: O

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Find the options type, and refuse an id that cannot be typed in a shell."""
        super().__init_subclass__(**kwargs)
        for base in getattr(cls, "__orig_bases__", ()):
            for argument in get_args(base):
                if isinstance(argument, type) and issubclass(argument, Options):
                    cls.options_type = argument
        if not _KEBAB.fullmatch(getattr(cls, "id", "")):
            raise PluginError(
                f"{cls.__qualname__}.id must be kebab-case", hint='such as id = "launch-gaps"'
            )

    def __init__(self, options: O) -> None:
        self.options = options

    @abstractmethod
    def run(self, profile: Profile) -> Iterable[Finding]:
        """Yield findings, or nothing when all is well."""


AnalysisType = type[Analysis[Any]]


class Hooks:
    """What a plugin may implement."""

    @hookspec
    def rocperf_analyses(self) -> Iterable[AnalysisType]:
        """Return the analyses that this plugin provides."""
        return ()


@dataclass(frozen=True, slots=True)
class PluginRow:
    """One line of ``rocperf plugins list``."""

    name: str
    version: str | None
    origin: str
    analyses: tuple[str, ...]
    error: str | None = None


class Plugins:
    """Installed plugins. A broken one is a row with a reason, never fatal.

    pluggy stops at the first exception in a hook call, so each plugin is asked on its own.
    """

    def __init__(self) -> None:
        self._rows: list[PluginRow] = []
        self._analyses: dict[str, AnalysisType] = {}
        self._external: dict[str, tuple[str, str]] = {}

    @classmethod
    def installed(cls) -> Plugins:
        """Load every plugin of the entry-point group, in order of name."""
        plugins = cls()
        for entry in sorted(entry_points(group=GROUP), key=lambda each: each.name):
            plugins._load(entry)
        return plugins

    def add_file(self, path: Path) -> None:
        """Load one file as a plugin.

        Raises
        ------
        UsageError
            If there is no such file.
        """
        if not path.is_file():
            raise UsageError(f"there is no plugin file {path}", hint="name a Python file")
        try:
            module = load_file(path)
        except (Exception, SystemExit) as error:  # noqa: BLE001  # the boundary to code not ours
            self._rows.append(PluginRow(path.stem, None, str(path), (), _reason(error)))
            return
        self.add(module, path.stem, None, str(path), ("file", str(path.resolve())))

    def add(
        self,
        plugin: object,
        name: str,
        version: str | None,
        origin: str,
        address: tuple[str, str] | None,
    ) -> None:
        """Register one plugin; what is wrong with it becomes its row.

        Parameters
        ----------
        plugin
            A module or object with hook implementations.
        address
            How a worker process can load it again; None when it runs in this one.
        """
        try:
            found = _analyses_of(plugin)
            for kind in found:
                if self._analyses.get(kind.id, kind) is not kind:
                    raise PluginError(f"another plugin provides {kind.id!r} already")
        except (Exception, SystemExit) as error:  # noqa: BLE001  # the boundary to code not ours
            self._rows.append(PluginRow(name, version, origin, (), _reason(error)))
            return
        for kind in found:
            self._analyses[kind.id] = kind
            if address is not None:
                self._external[kind.id] = address
        self._rows.append(PluginRow(name, version, origin, tuple(kind.id for kind in found)))

    def analyses(self) -> dict[str, AnalysisType]:
        """Return every analysis by id, in order of id."""
        return dict(sorted(self._analyses.items()))

    def external(self) -> dict[str, tuple[str, str]]:
        """Return the analyses that do not ship with rocperf, and how a worker loads each."""
        return dict(self._external)

    def rows(self) -> tuple[PluginRow, ...]:
        """Return one row a plugin, broken ones included."""
        return tuple(self._rows)

    def _load(self, entry: EntryPoint) -> None:
        distribution = entry.dist
        owner = distribution.name if distribution else "?"
        version = distribution.version if distribution else None
        try:
            plugin = entry.load()
        except (Exception, SystemExit) as error:  # noqa: BLE001  # the boundary to code not ours
            self._rows.append(PluginRow(entry.name, version, owner, (), _reason(error)))
            return
        address = None if owner == OURS else ("entry", entry.value)
        self.add(plugin, entry.name, version, owner, address)


def load_file(path: Path) -> object:
    """Import one Python file under a name of its own."""
    spec = importlib.util.spec_from_file_location(f"rocperf_plugin_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise PluginError(f"{path} is not a Python file", hint="it must end in .py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load_address(address: tuple[str, str]) -> dict[str, AnalysisType]:
    """Load the analyses at an address of `Plugins.external`, in whatever process."""
    kind, value = address
    from_file = kind == "file"
    plugin = load_file(Path(value)) if from_file else EntryPoint("plugin", value, GROUP).load()
    return {each.id: each for each in _analyses_of(plugin)}


def configure(
    chosen: Mapping[str, AnalysisType], settings: Sequence[str]
) -> dict[str, Analysis[Any]]:
    """Make analyses with their options.

    Parameters
    ----------
    chosen
        Analyses by id.
    settings
        Each ``id.option=value``.

    Raises
    ------
    ConfigError
        If an id, an option or a value is wrong.
    """
    values: dict[str, dict[str, Any]] = {name: {} for name in chosen}
    for setting in settings:
        left, separator, text = setting.partition("=")
        name, dot, key = left.partition(".")
        if not separator or not dot:
            raise ConfigError(f"{setting!r} is not id.option=value")
        if name not in chosen:
            raise ConfigError(f"there is no analysis {name!r}", hint=f"of: {', '.join(chosen)}")
        values[name][key] = _convert(chosen[name], name, key, text)
    return {name: kind(kind.options_type(**values[name])) for name, kind in chosen.items()}


def _convert(kind: AnalysisType, name: str, key: str, text: str) -> object:
    fields = {field.name: field for field in dataclasses.fields(kind.options_type)}
    if key not in fields:
        known = ", ".join(fields) or "none"
        raise ConfigError(f"{name} has no option {key!r}", hint=f"its options: {known}")
    default: Any = fields[key].default
    if isinstance(default, bool):
        words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
        if text.lower() in words:
            return words[text.lower()]
    else:
        try:
            return type(default)(text)
        except ValueError:
            pass
    raise ConfigError(
        f"{name}.{key} = {text!r} is not a {type(default).__name__}",
        hint=fields[key].metadata.get("help", ""),
    )


def describe_options(name: str, kind: AnalysisType) -> str:
    """Return one line an option: how to set it, its default, unit and meaning."""
    lines: list[str] = []
    for field in dataclasses.fields(kind.options_type):
        unit = f" {field.metadata['unit']}" if field.metadata.get("unit") else ""
        lines.append(f"  -O {name}.{field.name}={field.default}{unit}: {field.metadata['help']}\n")
    return "".join(lines)


def _analyses_of(plugin: object) -> list[AnalysisType]:
    manager = pluggy.PluginManager(GROUP)
    manager.add_hookspecs(Hooks)
    manager.register(plugin)
    try:
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        raise PluginError(str(error), hint="is the hook's name spelled as documented?") from error
    found: list[AnalysisType] = []
    groups: list[Iterable[object]] = manager.hook.rocperf_analyses()
    for group in groups:
        for kind in group:
            if not _is_analysis(kind):
                raise PluginError(f"{kind!r} is not a subclass of rocperf.Analysis")
            found.append(kind)
    if not found:
        raise PluginError("it provides no analysis", hint="implement rocperf_analyses")
    return found


def _is_analysis(kind: object) -> TypeGuard[AnalysisType]:
    return isinstance(kind, type) and issubclass(kind, Analysis)


def _reason(error: BaseException) -> str:
    text = str(error).splitlines()
    return f"{type(error).__name__}: {text[0] if text else ''}"[:300]
