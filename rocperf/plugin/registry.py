"""Installed plugins: what each provides, and what is wrong with the broken ones."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from rocperf.errors import PluginError, UsageError
from rocperf.model import Failed
from rocperf.plugin.analysis import GROUP, AnalysisType
from rocperf.plugin.foreign import standin
from rocperf.plugin.loading import Address, load
from rocperf.plugin.worker import LIMIT_S, Worker

#: Distribution whose analyses are imported and run in the main process.
OURS = "rocperf"


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

    What ships with rocperf is imported here. Everything else is imported by a worker process,
    which describes it: an import can exit, crash or hang as well as a run can. pluggy stops at
    the first exception in a hook call, so each plugin is asked on its own.

    Parameters
    ----------
    limit_s
        Seconds that importing one plugin may take.
    """

    def __init__(self, *, limit_s: float = LIMIT_S) -> None:
        self._limit_s = limit_s
        self._rows: list[PluginRow] = []
        self._analyses: dict[str, AnalysisType] = {}
        self._external: dict[str, Address] = {}
        self._added: set[Address] = set()

    @classmethod
    def installed(cls, *, limit_s: float = LIMIT_S) -> Plugins:
        """Load every plugin of the entry-point group: ours, then the others in order of name."""
        plugins = cls(limit_s=limit_s)
        foreign: list[EntryPoint] = []
        for entry in sorted(entry_points(group=GROUP), key=lambda each: (each.name, each.value)):
            # Ours come first, so that no other plugin can take the name of one.
            if entry.dist is not None and entry.dist.name == OURS:
                plugins._add_ours(entry)
            else:
                foreign.append(entry)
        with Worker(limit_s) as worker:
            for entry in foreign:
                owner = entry.dist.name if entry.dist is not None else "?"
                version = entry.dist.version if entry.dist is not None else None
                address = ("entry", entry.value)
                plugins._add_foreign(worker, address, entry.name, version, owner)
        return plugins

    def add_file(self, path: Path) -> None:
        """Load one file as a plugin; the same file twice counts once.

        Raises
        ------
        UsageError
            If there is no such file.
        """
        if not path.is_file():
            raise UsageError(f"there is no plugin file {path}", hint="name a Python file")
        address = ("file", str(path.resolve()))
        if address in self._added:
            return
        with Worker(self._limit_s) as worker:
            self._add_foreign(worker, address, path.stem, None, str(path))

    def analyses(self) -> dict[str, AnalysisType]:
        """Return every analysis by id, in order of id."""
        return dict(sorted(self._analyses.items()))

    def external(self) -> dict[str, Address]:
        """Return the analyses that do not ship with rocperf, and how a worker loads each."""
        return dict(self._external)

    def rows(self) -> tuple[PluginRow, ...]:
        """Return one row a plugin, broken ones included."""
        return tuple(self._rows)

    def failures(self) -> tuple[Failed, ...]:
        """Return an outcome for each plugin that gave no analysis, so that it is told."""
        return tuple(
            Failed(f"plugin {row.name}", row.error) for row in self._rows if row.error is not None
        )

    def _add_ours(self, entry: EntryPoint) -> None:
        version = entry.dist.version if entry.dist is not None else None
        try:
            self._register(load(("entry", entry.value)), entry.name, version, OURS, None)
        except Exception as error:  # noqa: BLE001  # the boundary to a plugin
            self._broken(entry.name, version, OURS, error)

    def _add_foreign(
        self, worker: Worker, address: Address, name: str, version: str | None, origin: str
    ) -> None:
        self._added.add(address)
        try:
            kinds = [standin(row) for row in worker.describe(address)]
            self._register(kinds, name, version, origin, address)
        except PluginError as error:
            self._broken(name, version, origin, error)

    def _register(
        self,
        kinds: list[AnalysisType],
        name: str,
        version: str | None,
        origin: str,
        address: Address | None,
    ) -> None:
        ids = [kind.id for kind in kinds]
        for each in ids:
            if each in self._analyses:
                raise PluginError(f"another plugin provides {each!r} already")
        self._analyses.update(zip(ids, kinds, strict=True))
        if address is not None:
            self._external.update(dict.fromkeys(ids, address))
        self._rows.append(PluginRow(name, version, origin, tuple(ids)))

    def _broken(self, name: str, version: str | None, origin: str, error: Exception) -> None:
        lines = str(error).splitlines()
        text = lines[0] if lines else type(error).__name__
        if not isinstance(error, PluginError):
            text = f"{type(error).__name__}: {text}"
        self._rows.append(PluginRow(name, version, origin, (), text[:300]))
