"""Which process a run is of, what its role is, and from when to when it went."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rocperf.ingest.discover import PASS_FOLDER
from rocperf.ingest.names import group_name, role, short_names
from rocperf.ingest.secrets import reduce
from rocperf.ingest.sink import INCOMING
from rocperf.schema import TABLES

if TYPE_CHECKING:
    from rocperf.ingest.sink import StoreSink
    from rocperf.ingest.source import RunInfo

_HOST = re.compile(r"(?:node|host)[-_.]?\w", re.IGNORECASE)
_EVENTS = tuple(
    table.name
    for table in TABLES
    if {"start_ns", "end_ns", "file_id"} <= set(table.column_names)
    and table.name != "all_dispatches"
)


@dataclass(slots=True)
class _Process:
    process_id: int
    workload: int | None
    hostname: str | None
    rank: int | None
    ordinal: int | None
    command: str | None
    node: str | None = None


def number_kernels(sink: StoreSink) -> None:
    """Fill ``kernels``: every name with group, short name and role."""
    run = sink.connection.execute
    rows = run(
        f"SELECT kernel, min(run_id) AS first FROM {INCOMING} GROUP BY kernel"
        " ORDER BY first, kernel"
    ).fetchall()
    names = [str(row[0]) for row in rows]
    groups = [group_name(name) for name in names]
    short = short_names(groups)
    run("CREATE TABLE scratch.main.names (kernel_id UINTEGER, name VARCHAR, group_name VARCHAR)")
    seen: set[str] = set()
    for number, (name, group) in enumerate(zip(names, groups, strict=True), start=1):
        run("INSERT INTO scratch.main.names VALUES (?, ?, ?)", [number, name, group])
        # A name with another tail is another kernel of the same group: it keeps its tail.
        label = short[group] if group not in seen else f"{short[group]} ({number})"
        seen.add(group)
        run("INSERT INTO kernels VALUES (?, ?, ?, ?, ?)", [number, name, group, label, role(group)])


def describe_runs(sink: StoreSink) -> None:
    """Fill ``runs``, ``processes`` and ``environment`` from what readers told and the rows say."""
    run = sink.connection.execute
    with_counters = {row[0] for row in run("SELECT DISTINCT run_id FROM counter_values").fetchall()}
    spans = _spans(sink)
    for run_id, info in sink.runs.items():
        info.role = info.role or ("counters" if run_id in with_counters else "timing")
        start, end = spans.get(run_id, (None, None))
        info.start_ns = start if start is not None else info.start_ns
        info.end_ns = end if end is not None else info.end_ns
    processes = _known_processes(sink)
    known = len(processes)
    of_run = _assign(sink, processes)
    for each in processes[known:]:
        run(
            "INSERT INTO processes VALUES (?, ?, ?, ?, ?)",
            [each.process_id, each.hostname, each.rank, each.ordinal, each.command],
        )
    for run_id, info in sink.runs.items():
        run(
            "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                run_id,
                of_run[run_id],
                info.role,
                info.pass_number,
                info.hostname,
                info.pid,
                info.rank,
                info.command,
                info.start_ns,
                info.end_ns,
                info.tool,
                info.tool_version,
                info.rocm_version,
                info.status,
            ],
        )
        for name, value in reduce(info.environment).items():
            run("INSERT INTO environment VALUES (?, ?, ?)", [run_id, name, value])
    run("CREATE TABLE scratch.main.run_roles AS SELECT run_id, process_id, role FROM runs")


def _spans(sink: StoreSink) -> dict[int, tuple[int, int]]:
    """First and last recorded event of each run, nanoseconds."""
    parts = [
        f"SELECT run_id, min(start_ns) AS s, max(coalesce(end_ns, start_ns)) AS e FROM {table}"
        " GROUP BY run_id"
        for table in (*_EVENTS, INCOMING)
    ]
    parts.append(
        "SELECT run_id, min(timestamp_ns), max(timestamp_ns) FROM pc_samples GROUP BY run_id"
    )
    rows = sink.connection.execute(
        f"SELECT run_id, min(s), max(e) FROM ({' UNION ALL '.join(parts)}) GROUP BY run_id"
        " HAVING min(s) IS NOT NULL"
    ).fetchall()
    return {int(run_id): (int(s), int(e)) for run_id, s, e in rows}


def _known_processes(sink: StoreSink) -> list[_Process]:
    rows = sink.connection.execute(
        "SELECT process_id, hostname, rank, ordinal, command FROM processes ORDER BY process_id"
    ).fetchall()
    return [_Process(row[0], None, row[1], row[2], row[3], row[4]) for row in rows]


def _assign(sink: StoreSink, processes: list[_Process]) -> dict[int, int]:
    """Give each run its process: by rank, else by place in start order within an execution."""
    executions: dict[tuple[object, ...], list[int]] = defaultdict(list)
    counters = _counters_of(sink)
    for run_id, info in sink.runs.items():
        folder, tag = info.key[0], info.key[-1]
        execution = (sink.workload_of[run_id], folder, tag, info.role, counters.get(run_id))
        executions[execution].append(run_id)
    of_run: dict[int, int] = {}
    for (workload, place, *_), members in executions.items():
        ordered = sorted(members, key=lambda each: _order(sink.runs[each]))
        for ordinal, run_id in enumerate(ordered, start=1):
            info = sink.runs[run_id]
            node = _node(sink.root_of[run_id], place)
            found = next((p for p in processes if _is_of(info, ordinal, workload, node, p)), None)
            if found is None:
                number = max((p.process_id for p in processes), default=0) + 1
                found = _Process(
                    number,
                    int(str(workload)),
                    info.hostname,
                    info.rank,
                    ordinal,
                    info.command,
                    node,
                )
                processes.append(found)
            of_run[run_id] = found.process_id
    return of_run


def _counters_of(sink: StoreSink) -> dict[int, str]:
    """Name the counters of each run: two runs of one process differ in them."""
    rows = sink.connection.execute(
        "SELECT run_id, string_agg(counter, ',' ORDER BY counter) FROM"
        " (SELECT DISTINCT run_id, counter FROM counter_values) GROUP BY run_id"
    ).fetchall()
    return {int(run_id): str(names) for run_id, names in rows}


def _order(info: RunInfo) -> tuple[object, ...]:
    return (info.hostname or "", info.start_ns or 0, info.pid or 0, info.key)


def _node(root: Path | None, folder: object) -> str | None:
    """Name the machine whose folder a run lies in: rocprofv3 makes one for each host."""
    place = Path(str(folder))
    if root is None or not place.is_relative_to(root):
        return None
    parts = place.relative_to(root).parts
    return next((p for p in parts if _HOST.match(p) or not PASS_FOLDER.fullmatch(p)), None)


def _is_of(
    info: RunInfo, ordinal: int, workload: object, node: str | None, process: _Process
) -> bool:
    """Say whether a run is one of a process that is known already.

    A process of the profile that is appended to belongs to any workload.
    """
    if process.workload is not None and process.workload != workload:
        return False
    if None not in (node, process.node) and node != process.node:
        return False
    if None not in (info.command, process.command) and info.command != process.command:
        return False
    if info.rank is not None or process.rank is not None:
        return info.rank == process.rank
    return process.ordinal == ordinal


def record_files(sink: StoreSink, checksums: dict[Path, str]) -> None:
    """Fill ``files``."""
    for record in sink.files:
        source = record.source
        sink.connection.execute(
            "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                record.file_id,
                record.run_id,
                str(source.path),
                checksums.get(source.path),
                source.size,
                source.format,
                source.kind,
                source.version,
                record.rows,
                record.rejected,
                record.status,
            ],
        )


def runs_without_events(sink: StoreSink, runs: Iterable[int]) -> set[int]:
    """Name the runs that recorded nothing: helper processes that did no GPU work."""
    tables = (INCOMING, "counter_values", "pc_samples", "sensor_samples", *_EVENTS)
    union = " UNION ".join(f"SELECT DISTINCT run_id FROM {table}" for table in tables)
    seen = {int(row[0]) for row in sink.connection.execute(union).fetchall()}
    return set(runs) - seen
