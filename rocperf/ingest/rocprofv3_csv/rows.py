"""Rows of one file into the tables of a profile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import duckdb
import polars as pl

from rocperf.errors import InputError
from rocperf.ingest.rocprofv3_csv.counters import Counters, plain_values, stage_values
from rocperf.ingest.rocprofv3_csv.durations import disagreeing
from rocperf.ingest.rocprofv3_csv.headers import TIMES
from rocperf.ingest.rocprofv3_csv.holes import nul_bytes
from rocperf.ingest.rocprofv3_csv.numbering import number_by_correlation
from rocperf.ingest.rocprofv3_csv.plain import UnfitError, fits, plain_rows
from rocperf.ingest.rocprofv3_csv.repair import Repaired, repair
from rocperf.ingest.rocprofv3_csv.selects import ESSENTIAL, SIMPLE, Expressions, select
from rocperf.ingest.rocprofv3_csv.table import (
    Table,
    cast_relation,
    forget,
    open_table,
    rejected,
)
from rocperf.store import arrow

if TYPE_CHECKING:
    from rocperf.ingest.rocprofv3_csv.folders import Group
    from rocperf.ingest.source import SourceFile

# Above this many rejected records a file is not worth repairing. A choice of ours.
_MOST_REJECTED = 100_000


def read_rows(source: SourceFile, group: Group) -> None:
    """Read a file of events or counters.

    Raises
    ------
    InputError
        If it is damaged beyond single records; nothing of it is stored then.
    """
    run = group.sink.connection.execute
    with open_table(source) as table:
        if fits(table) and _read_plain(table, group):
            return
        # Numbers of records follow the file only while its order is kept.
        run("SET preserve_insertion_order = true")
        try:
            once = stage_values(table, group.sink)
            if once is None:
                table.stage(group.sink)
            File(table, group, once).read()
        except (duckdb.InvalidInputException, duckdb.ConversionException) as error:
            raise InputError(f"{source.path}: {str(error).splitlines()[0]}") from error
        finally:
            run("SET preserve_insertion_order = false")
            forget(group.sink)


def _read_plain(table: Table, group: Group) -> bool:
    """Read a file without damage; return whether it was one, else nothing of it is stored."""
    mark = group.sink.mark()
    try:
        if table.source.kind == "counter_collection":
            with plain_values(table, group.sink) as (staged, once, launches):
                File(staged, group, once, launches).read_plain(staged.relation)
        else:
            columns = table.kept
            with plain_rows(table, group.sink, columns) as relation:
                File(table, group, None).read_plain(relation)
    except UnfitError:
        group.sink.back_to(mark)
        return False
    return True


class File:
    """Reads one open file.

    Parameters
    ----------
    table
        The file.
    group
        The files that it belongs to.
    once
        See `rocperf.ingest.rocprofv3_csv.counters.stage_values`.
    launches
        See `rocperf.ingest.rocprofv3_csv.counters.plain_values`.
    """

    def __init__(
        self, table: Table, group: Group, once: str | None, launches: str | None = None
    ) -> None:
        self.table, self.group, self.once, self.launches = table, group, once, launches
        self.source, self.sink = table.source, group.sink
        self.counters = self.source.kind == "counter_collection"
        self.file_id = 0
        self.stored = self.incomplete = 0

    def read_plain(self, relation: str) -> None:
        """Read it as it is: one process, no damage."""
        run_id = self.group.run(self.table.process, self.table.threads)
        self.file_id = self.sink.file(self.source, run_id)
        self._store(run_id, relation)
        self._note_kind()

    def read(self) -> None:
        """Read it, once for each process in it."""
        column = self.table.process_column
        whole = self.once is None
        if self.once is not None:
            pids: list[int | None] = [self.table.process]
        else:
            pids = (self._pids(column) if column else []) or [None]
        several = len(pids) > 1
        runs = [self.group.run(pid, self.table.threads) for pid in pids]
        self.file_id = self.sink.file(self.source, None if several else runs[0])
        relation = self._complete(self.table.relation, [column] if several else [])
        for pid, run_id in zip(pids, runs, strict=True):
            only = f'(SELECT * FROM {relation} WHERE "{column}" = {pid})'
            self._store(run_id, only if several else relation)
            if run_id == runs[0]:
                self._look_at_rejected(run_id)
        self._note_kind()
        if whole:
            self._note_durations()
        count, first = nul_bytes(self.source.text)
        if count:
            text = f"{count:,} NUL byte{'s' * (count > 1)} at offset {first:,}: a hole, or damage"
            self._note("warning", "nul-bytes", text)
        if not self.stored:
            self._note("warning", "file-empty", "0 rows")

    def _note_kind(self) -> None:
        if self.source.version == "rocpd-convert":
            self._note(
                "info",
                "converted",
                "converted from rocpd; the database itself holds more, such as copied bytes",
            )
        if self.table.rounded:
            self._note(
                "warning", "timestamps-rounded", "timestamps rounded; no times are taken from it"
            )
        elif not self.counters and self.source.kind in SIMPLE:
            self._note_times()

    def _note(
        self, severity: str, code: str, text: str, row: int | None = None, rows: int | None = None
    ) -> None:
        message = f"{self.source.path.name}: {text}"
        self.sink.note(severity, code, message, file_id=self.file_id, row=row, rows=rows)

    def _pids(self, column: str) -> list[int | None]:
        rows = self.sink.connection.execute(
            f'SELECT DISTINCT "{column}" AS p FROM {self.table.relation} WHERE p IS NOT NULL'
            " ORDER BY p"
        ).fetchall()
        # The first one's first, as when the quick way had been tried before.
        return sorted((int(row[0]) for row in rows), key=lambda pid: pid != self.table.process)

    def _expressions(self) -> tuple[str, Expressions]:
        target, build = SIMPLE[self.source.kind or ""]
        return target, build(self.table.header, self.group.agents.nodes, self.table.rounded)

    def _complete(self, relation: str, more: Sequence[str | None] = ()) -> str:
        """Leave out, count and tell the rows without what their table, or `more`, asks for."""
        found = ESSENTIAL.get(self.source.kind or "", ())
        needed = [name for name in (*found, *more) if name in self.table.header]
        if not needed or self.once is not None:
            return relation
        absent = " OR ".join(f'"{name}" IS NULL' for name in needed)
        ((count, first),) = self.sink.connection.execute(
            f"SELECT count(*), min(row) FROM {relation} WHERE {absent}"
        ).fetchall()
        if not count:
            return relation
        self.incomplete += count
        rows = "1 row" if count == 1 else f"{count:,} rows"
        text = f"line {first + 1}: no {' or '.join(needed)} ({rows} rejected)"
        self._note("warning", "rows-rejected", text, first, count)
        return f"(SELECT * FROM {relation} WHERE NOT ({absent}))"

    def _store(self, run_id: int, relation: str) -> None:
        if self.counters:
            nodes = self.group.agents.nodes
            counters = Counters(self.table, self.sink, run_id, self.file_id, nodes, self.launches)
            done = counters.store(relation, self.once)
            self.once = None
        else:
            target, expressions = self._expressions()
            query = select(expressions, relation)
            done = self.sink.append_sql(target, query, (), run_id=run_id, file_id=self.file_id)
            if target == "api_calls":
                self._move_markers()
            elif target == "all_dispatches":
                self._forget_counted(run_id)
        self.stored += done
        self.sink.records(self.file_id, stored=self.stored, rejected=self.incomplete)
        self.sink.progress(self.source, self.stored, self.source.size)

    def _forget_counted(self, run_id: int) -> None:
        """Of dispatches that were counted and traced in one run keep the trace, which says more.

        Counter files are read before kernel traces, because they name the process.
        """
        from rocperf.ingest.sink import INCOMING

        if "Dispatch_Id" not in self.table.header:
            number_by_correlation(self.sink, run_id, self.file_id)
        self.sink.connection.execute(
            f"DELETE FROM {INCOMING} WHERE run_id = {run_id} AND file_id <> {self.file_id}"
            f" AND dispatch_id IN (SELECT dispatch_id FROM {INCOMING}"
            f" WHERE run_id = {run_id} AND file_id = {self.file_id})"
        ).fetchall()

    def _move_markers(self) -> None:
        """Move rows of roctx out of the calls, where one file holds both or only these."""
        run = self.sink.connection.execute
        within = f"file_id = {self.file_id} AND starts_with(domain, 'MARKER_')"
        run(
            "INSERT INTO markers BY NAME SELECT run_id, CASE WHEN contains(domain, 'CONTROL')"
            " THEN 'control' WHEN start_ns = end_ns THEN 'mark' ELSE 'range' END AS kind,"
            " name AS message, thread_id, correlation_id, start_ns, end_ns, file_id, row"
            f" FROM api_calls WHERE {within}"
        )
        run(f"DELETE FROM api_calls WHERE {within}")

    def _look_at_rejected(self, run_id: int) -> None:
        records = rejected(self.sink)
        if not records:
            return
        if len(records) > _MOST_REJECTED:
            raise InputError(
                f"{self.source.path} line {records[0].line}: more than {_MOST_REJECTED:,} records"
                f" are damaged: {records[0].reason.splitlines()[0]}"
            )
        self._shift_rows([each.line - 1 for each in records])
        result = repair(self.table, records, cut_line=self.table.cut_line)
        if result.rows:
            self._store_repaired(run_id, result)
        self._tell(result)

    def _shift_rows(self, missing: list[int]) -> None:
        """Renumber the stored rows as in the file, where rejected records count, too."""
        shifts = [(record - place, place + 1) for place, record in enumerate(missing)]
        run = self.sink.connection.execute
        largest = dict(shifts)
        frame = pl.DataFrame({"after": list(largest), "shift": list(largest.values())})
        self.sink.connection.register("shifts", arrow(frame))
        for place in self._places():
            run(
                f"UPDATE {place} SET row = row + s.shift FROM"
                f" (SELECT t.row AS old, shift FROM {place} t ASOF JOIN shifts"
                f" ON t.row >= shifts.after WHERE t.file_id = {self.file_id}) s"
                f" WHERE {place}.file_id = {self.file_id} AND {place}.row = s.old"
            )
        self.sink.connection.unregister("shifts")

    def _places(self) -> tuple[str, ...]:
        from rocperf.ingest.sink import INCOMING

        if self.counters:
            return (INCOMING, "counter_values")
        target, _ = self._expressions()
        if target == "all_dispatches":
            return (INCOMING,)
        return ("api_calls", "markers") if target == "api_calls" else (target,)

    def _store_repaired(self, run_id: int, result: Repaired) -> None:
        columns = dict(
            zip(self.table.header, zip(*(v for _, v in result.rows), strict=True), strict=True)
        )
        frame = pl.DataFrame({"row": [row for row, _ in result.rows], **columns})
        self.sink.connection.register("repaired", arrow(frame))
        relation = self._complete(cast_relation("repaired", self.table.types))
        self._store(run_id, relation)
        self.sink.connection.unregister("repaired")

    def _tell(self, result: Repaired) -> None:
        self.sink.records(
            self.file_id,
            stored=self.stored,
            rejected=len(result.lost) + (result.cut is not None) + self.incomplete,
        )
        if result.rows:
            count = len(result.rows)
            text = f"{count:,} row{'s' * (count > 1)} repaired: quotes inside a name"
            self._note("info", "rows-repaired", text, result.rows[0][0], count)
        if result.headers:
            text = f"header repeated {result.headers:,} times inside the file, skipped"
            self._note("info", "header-repeated", text, rows=result.headers)
        if result.cut is not None:
            text = f"line {result.cut}: the file ends in the middle of a row, which is left out"
            self._note("warning", "row-cut", text, result.cut - 1, 1)
        if result.lost:
            line, reason = result.lost[0]
            count = len(result.lost)
            more = f" ({count:,} rows rejected)" if count > 1 else " (row rejected)"
            self._note("warning", "rows-rejected", f"line {line}: {reason}{more}", line - 1, count)

    def _note_durations(self) -> None:
        rows, first = disagreeing(self.table, self.sink)
        if rows:
            text = f"{rows:,} rows whose duration is not end minus start; start and end are taken"
            self._note("warning", "durations-disagree", text, first, rows)

    def _note_times(self) -> None:
        """Count rows whose times cannot be, and kernels shorter than a tick."""
        if not TIMES & set(self.table.header) or self.source.kind in ("marker_api_trace",):
            return
        place = self._places()[0]
        if "pc_samples" in place:
            return
        row = self.sink.connection.execute(
            "SELECT count(*) FILTER (start_ns IS NULL), min(row) FILTER (start_ns IS NULL),"
            f" count(*) FILTER (start_ns = end_ns) FROM {place} WHERE file_id = {self.file_id}"
        ).fetchone()
        if row and row[0]:
            text = f"{row[0]:,} rows with end before start or without a time; kept without times"
            self._note("warning", "times-reversed", text, int(row[1]), int(row[0]))
        if row and row[2] and place.endswith("incoming"):
            text = f"{row[2]:,} dispatches with zero duration"
            self._note("info", "zero-duration", text, rows=int(row[2]))
