"""One workload folder into runs: the times' run first, then one a pass."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from rocperf.ingest.compute_workload.long import LongTable, stage
from rocperf.ingest.compute_workload.sysinfo import SystemInfo, read_sysinfo
from rocperf.ingest.compute_workload.wide import (
    Oddities,
    WideTable,
    batches,
    counters,
    dispatches,
    open_table,
)
from rocperf.ingest.source import RunInfo
from rocperf.ingest.widths import refuse_ragged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocperf.ingest.source import Sink, SourceFile

_TIMES = ("start_ns", "end_ns")
_DERIVED = ("kernel_top", "dispatch_info", "roofline")


class Workload:
    """Reads the files of one folder.

    Parameters
    ----------
    folder
        The folder; names the process.
    sources
        Its recognised files.
    sink
        Takes runs, files and rows.
    info
        What is known of machine and tool when there is no ``sysinfo.csv``.
    """

    def __init__(
        self,
        folder: Path,
        sources: Sequence[SourceFile],
        sink: Sink,
        info: SystemInfo | None = None,
    ) -> None:
        self.folder = folder
        self.sink = sink
        self.info = info or SystemInfo(tool="rocprofiler-compute")
        self._of_kind: dict[str | None, list[SourceFile]] = {}
        for source in sorted(sources, key=lambda each: each.path.name):
            self._of_kind.setdefault(source.kind, []).append(source)
        self._agents: dict[int, set[int]] = {}
        self._passes = 0

    def read(self) -> None:
        """Read every file of the folder.

        Raises
        ------
        InputError
            A table lacks a column without which it means nothing.
        """
        for source in self._of_kind.get("sysinfo", ()):
            self._read_sysinfo(source)
        for kind in _DERIVED:
            for source in self._of_kind.get(kind, ()):
                self.sink.ignore(source, f"{source.path.name} only sums up what is read elsewhere")
        for kind in ("timestamps", "counters_long", "counters", "level"):
            for source in self._of_kind.get(kind, ()):
                refuse_ragged(self.sink.connection, source)
        for source in self._of_kind.get("timestamps", ()):
            self._read_times(source)
        for source in self._of_kind.get("counters_long", ()):
            self._read_long(source)
        for source in self._of_kind.get("counters", ()):
            self._read_wide(source)
        for source in self._of_kind.get("level", ()):
            self._read_wide(source, tag=source.path.stem)

    @property
    def _timed(self) -> bool:
        return "timestamps" in self._of_kind

    def _read_sysinfo(self, source: SourceFile) -> None:
        file_id = self.sink.file(source, None)
        self.info = read_sysinfo(source.text)
        if self.info.contradiction:
            self.sink.note(
                "warning", "sysinfo-contradiction", self.info.contradiction, file_id=file_id, row=1
            )

    def _run(
        self, tag: str, *, role: str, pid: int | None = None, number: int | None = None
    ) -> int:
        # Equal but for the tag: passes of one process.
        info = RunInfo(
            key=(str(self.folder), "workload", tag),
            hostname=self.info.hostname,
            pid=pid,
            command=self.info.command,
            tool=self.info.tool,
            tool_version=self.info.tool_version,
            rocm_version=self.info.rocm_version,
            role=role,
            pass_number=number,
        )
        return self.sink.run(info)

    def _numbers(self, count: int) -> range:
        """Give numbers to further passes, from 1 over all tables of the folder."""
        first = self._passes + 1
        self._passes += count
        return range(first, first + count)

    def _append_dispatches(self, rows: pl.DataFrame, run_id: int, file_id: int) -> None:
        self.sink.append("all_dispatches", rows, run_id=run_id, file_id=file_id)
        seen = self._agents.setdefault(run_id, set())
        new = sorted(set(rows["agent_id"].unique().to_list()) - seen)
        seen.update(new)
        if new:
            stated = self.info.agent or {}
            agents = pl.DataFrame([{"agent_id": each, "kind": "GPU", **stated} for each in new])
            self.sink.append("agents", agents, run_id=run_id, file_id=file_id)

    def _read_times(self, source: SourceFile) -> None:
        table = open_table(source.text, source.path.name)
        run_id = self._run("timestamps", role="timing", pid=_pid(table))
        file_id = self.sink.file(source, run_id)
        odd, done = Oddities(), 0
        for batch in batches(table):
            rows = dispatches(batch, table, odd, static_lds=self._static_lds(table))
            self._append_dispatches(rows, run_id, file_id)
            done += batch.height
            self.sink.progress(source, done, source.size * done // max(1, table.rows))
        self._note(odd, table, file_id, run_id)

    def _static_lds(self, table: WideTable) -> bool:
        if table.columns.rocprof_v1:
            return False
        return self.info.generation is None or self.info.generation >= 3

    def _read_wide(self, source: SourceFile, tag: str | None = None) -> None:
        table = open_table(source.text, source.path.name)
        joined = len(table.columns.groups) > 1
        times_run = self._times_run(table, joined=joined)
        pid = None if joined else _pid(table)
        runs = [
            self._run(tag or f"pass {number}", role="counters", pid=pid, number=number)
            for number in self._numbers(len(table.columns.groups))
        ]
        file_id = self.sink.file(source, runs[0] if not joined else None)
        odd, done = Oddities(), 0
        for batch in batches(table):
            rows = dispatches(batch, table, odd, static_lds=self._static_lds(table))
            if times_run is not None:
                self._append_dispatches(rows, times_run, file_id)
            # Times in a table of several passes, or beside a run for times, are copies.
            plain = rows if not joined and not self._timed else rows.drop(_TIMES, strict=False)
            for group, run_id in zip(table.columns.groups, runs, strict=True):
                self._append_dispatches(plain, run_id, file_id)
                chosen = table.columns.of_group(group)
                if chosen:
                    values, instances = counters(batch, plain, chosen, odd)
                    self.sink.append("counter_values", values, run_id=run_id, file_id=file_id)
                    if not instances.is_empty():
                        self.sink.append(
                            "counter_instances", instances, run_id=run_id, file_id=file_id
                        )
            done += batch.height
            self.sink.progress(source, done, source.size * done // max(1, table.rows))
        self._note(odd, table, file_id, None if joined else runs[0])

    def _times_run(self, table: WideTable, *, joined: bool) -> int | None:
        """Give the times of a joined table a run of their own: they are of none of its passes."""
        if not joined or self._timed or "start_ns" not in table.columns.identity:
            return None
        # Whether anything else was measured with them is not known: not a timing run.
        return self._run("times", role="counters")

    def _read_long(self, source: SourceFile) -> None:
        file_id = self.sink.file(source, None)
        table = stage(source.text, self.sink.connection)
        try:
            done = 0
            for index in range(table.passes):
                counted = next(iter(self._numbers(1)))
                run_id = self._run(f"pass {counted}", role="counters", number=counted)
                for rows in table.dispatches(index):
                    self._append_dispatches(rows, run_id, file_id)
                repeated = table.repeated(index)
                if repeated:
                    self.sink.note(
                        "warning",
                        "counter-repeated",
                        f"{repeated} rows state a value of pass {counted} again; "
                        "each is counted once",
                        file_id=file_id,
                        rows=repeated,
                        run_id=run_id,
                    )
                for values in table.values(index):
                    self.sink.append("counter_values", values, run_id=run_id, file_id=file_id)
                    done += values.height
                    share = (index + 1) / table.passes
                    self.sink.progress(source, done, int(source.size * share))
                for parts in table.instances(index):
                    self.sink.append("counter_instances", parts, run_id=run_id, file_id=file_id)
        finally:
            table.close()
        self._note_long(source, table, file_id)

    def _note_long(self, source: SourceFile, table: LongTable, file_id: int) -> None:
        name = source.path.name
        self.sink.records(file_id, stored=table.rows, rejected=table.unusable)
        if table.rounded:
            self._warn(
                "timestamps-rounded", _ROUNDED.format(name, table.rounded), file_id, table.rounded
            )
        if table.unusable:
            self._warn(
                "rows-unusable", _UNUSABLE.format(name, table.unusable), file_id, table.unusable
            )
        if not table.sure:
            self._warn(
                "passes-unsure",
                f"{name}: its passes overlap in time, so some rows may be in the wrong one",
                file_id,
            )

    def _note(self, odd: Oddities, table: WideTable, file_id: int, run_id: int | None) -> None:
        """Say what was odd in a wide table."""
        name = table.name
        self.sink.records(file_id, stored=table.rows - odd.bad_rows, rejected=odd.bad_rows)
        if not table.rows:
            self._warn("file-empty", f"{name}: 0 rows", file_id)
        counted = (
            ("timestamps-rounded", _ROUNDED, odd.rounded_times),
            ("rows-unusable", _UNUSABLE, odd.bad_rows),
            (
                "grid-wrapped",
                "{}: {} rows with a grid of 0: its size is unknown",
                odd.wrapped_grids,
            ),
            ("counter-unusable", "{}: {} counter cells hold no number", odd.bad_cells),
            ("times-reversed", "{}: {} rows end before they start", odd.reversed_times),
        )
        for code, text, count in counted:
            # Times that are copies of another run's were counted there.
            if count and not (code == "timestamps-rounded" and self._copied_times(table)):
                self._warn(code, text.format(name, count), file_id, count, run_id)
        if table.empty:
            self._warn("column-empty", f"{name}: {', '.join(table.empty)} empty, dropped", file_id)
        if odd.disagreeing:
            several = ", ".join(sorted(odd.disagreeing))
            self._warn("channels-disagree", f"{name}: channels do not add up: {several}", file_id)
        if table.renumbered:
            self._warn(
                "dispatch-ids-repeat",
                f"{name}: dispatch ids repeat; record numbers stand in for them",
                file_id,
            )
        if table.columns.inferred:
            self._warn(
                "passes-inferred",
                f"{name}: which counters were measured together is not recorded; it was told "
                "from their order and the counters that a pass can hold",
                file_id,
            )

    def _copied_times(self, table: WideTable) -> bool:
        return self._timed and bool(table.columns.counters)

    def _warn(
        self,
        code: str,
        message: str,
        file_id: int,
        rows: int | None = None,
        run_id: int | None = None,
    ) -> None:
        self.sink.note("warning", code, message, file_id=file_id, rows=rows, run_id=run_id)


_ROUNDED = "{}: timestamps rounded in {} rows, as by a spreadsheet; durations are unknown"
_UNUSABLE = "{}: {} rows without a dispatch, kernel or GPU were not stored"


def _pid(table: WideTable) -> int | None:
    column = table.columns.identity.get("pid")
    if column is None:
        return None
    first = next(batches(table), None)
    if first is None or first.is_empty():
        return None
    text = str(first[column].first() or "")
    return int(text) if text.isdecimal() else None
