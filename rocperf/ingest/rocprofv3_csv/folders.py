"""Files of rocprofv3 into runs: those of one folder whose names begin alike belong together."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from rocperf.errors import InputError
from rocperf.ingest.results_file import rank_in
from rocperf.ingest.rocprofv3_csv.agents import Agents, read_agents
from rocperf.ingest.rocprofv3_csv.headers import name_parts
from rocperf.ingest.rocprofv3_csv.rows import read_rows
from rocperf.ingest.source import RunInfo

if TYPE_CHECKING:
    from rocperf.ingest.source import Sink, SourceFile

_RANK = re.compile(r"(?:^|[_.-])rank[_.-]?(\d+)", re.IGNORECASE)
_PID = re.compile(r"(?:^|[_.-])(\d+)(?=$|[_.-])")
# Kernels last: their files do not name the process, the others do.
_WITHOUT_EVENTS = frozenset({"agent_info", "stats", "empty", "utf16", "odd"})
_ORDER = ("agent_info", "api_trace", "marker_api_trace", "counter_collection")


class Group:
    """Files of one folder whose names begin alike: one process, as a rule.

    Parameters
    ----------
    folder
        The folder.
    stem
        What the names begin with.
    sink
        Takes runs.
    """

    def __init__(self, folder: Path, stem: str, sink: Sink) -> None:
        self.folder, self.stem, self.sink = folder, stem, sink
        self.agents = Agents()
        self.rank = rank_in(stem, folder)
        bare = _RANK.sub("", stem)
        self.named_pid = _number(_PID, bare)
        # What is left names the execution, not the process.
        self.tag = _PID.sub("", bare)
        self._runs: dict[int | None, int] = {}

    def run(self, pid: int | None, threads: frozenset[int] | None = None) -> int:
        """Return the run of a process; without a pid, the one that its threads speak for."""
        if pid is None:
            pid = self._pid_of(threads or frozenset())
        if pid not in self._runs:
            key = (str(self.folder), f"{self.stem}:{pid or ''}", self.tag)
            info = RunInfo(key=key, pid=pid, rank=self.rank, tool="rocprofv3")
            run_id = self.sink.run(info)
            self._runs[pid] = run_id
            self.agents.put(self.sink, run_id)
        return self._runs[pid]

    def _pid_of(self, threads: frozenset[int]) -> int | None:
        """Find the process of a file that names none: files of one run have one name."""
        known = [each for each in self._runs if each is not None]
        speaking = [each for each in known if each in threads]
        if speaking:
            return speaking[0]
        if self.named_pid is not None:
            return self.named_pid
        return known[0] if len(known) == 1 else None


def _number(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.search(text)
    return int(found.group(1)) if found else None


def read_folders(sources: list[SourceFile], sink: Sink) -> None:
    """Read files, group by group."""
    groups: dict[tuple[Path, str], list[SourceFile]] = defaultdict(list)
    for source in sources:
        groups[source.path.parent, name_parts(source.path)[0]].append(source)
    for (folder, stem), files in groups.items():
        group = Group(folder, stem, sink)
        for source in sorted(files, key=_order):
            try:
                _read(source, group)
            except InputError as error:
                sink.refuse(source, error.message)
        if all((each.kind or "").split(":")[0] in _WITHOUT_EVENTS for each in files):
            _only_agents(files, group)


def _only_agents(files: list[SourceFile], group: Group) -> None:
    if any(each.kind == "agent_info" for each in files):
        group.run(None)


def _order(source: SourceFile) -> tuple[int, str]:
    kind = source.kind or ""
    return (_ORDER.index(kind) if kind in _ORDER else len(_ORDER), source.path.name)


def _read(source: SourceFile, group: Group) -> None:
    sink, name = group.sink, source.path.name
    if source.kind == "stats":
        sink.ignore(source, f"{name}: totals are computed again from the events")
    elif source.kind == "empty":
        file_id = sink.file(source, None)
        sink.note("warning", "file-empty", f"{name}: empty file", file_id=file_id)
    elif source.kind == "utf16":
        raise InputError(
            f"{source.path} is UTF-16; rocprofv3 writes UTF-8. Save it as UTF-8 CSV again"
        )
    elif source.kind is not None and source.kind.startswith("odd: "):
        raise InputError(f"{source.path} {source.kind.removeprefix('odd: ')}")
    elif source.kind == "agent_info":
        group.agents = read_agents(source, sink)
    else:
        read_rows(source, group)
