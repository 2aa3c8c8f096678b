"""What a plugin is made of: the base class of an analysis, its options, the hook."""

from __future__ import annotations

import dataclasses
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, get_args

import pluggy

from rocperf.errors import ConfigError, PluginError
from rocperf.model import Finding, Requires

if TYPE_CHECKING:
    from rocperf.profile import Profile

#: Entry-point group of plugins, and the name that hook markers carry.
GROUP = "rocperf"

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
        Its value unless set: a bool, int, float or str. Its type is the option's.
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
            help_text = field.metadata.get("help")
            # Written so that NaN, which is neither above nor below, is refused, too.
            if low is not None and not value >= low:
                raise ConfigError(f"{field.name} = {value} is below {low}", hint=help_text)
            if high is not None and not value <= high:
                raise ConfigError(f"{field.name} = {value} is above {high}", hint=help_text)


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
        # Of this class alone: an inherited `Analysis[...]` has been looked at already.
        for base in () if "options_type" in vars(cls) else vars(cls).get("__orig_bases__", ()):
            for argument in get_args(base):
                if isinstance(argument, type) and issubclass(argument, Options):
                    cls.options_type = argument
        if not _KEBAB.fullmatch(getattr(cls, "id", "")):
            raise PluginError(
                f"{cls.__qualname__}.id must be kebab-case", hint='such as id = "launch-gaps"'
            )
        if not getattr(cls, "title", ""):
            raise PluginError(
                f"{cls.__qualname__} has no title", hint='such as title = "Gaps between launches"'
            )

    def __init__(self, options: O) -> None:
        self.options = options

    @abstractmethod
    def run(self, profile: Profile) -> Iterable[Finding]:
        """Yield findings, or nothing when all is well.

        Raises
        ------
        UnjudgedError
            If there is nothing it could judge, though `requires` is met: it is then skipped
            with this reason. Its hint is the command that would help, where that is not
            ``rocperf collect``.
        """


AnalysisType = type[Analysis[Any]]


class Hooks:
    """What a plugin may implement."""

    @hookspec
    def rocperf_analyses(self) -> Iterable[AnalysisType]:
        """Return the analyses that this plugin provides."""
        return ()
