"""Takes what readers give, numbers it, and puts it into a store."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl

from rocperf.ingest.events import Note, Progress
from rocperf.ingest.secrets import scrub
from rocperf.ingest.source import OnEvent, RunInfo, SourceFile
from rocperf.ingest.stopping import Stop
from rocperf.schema import ALL_DISPATCHES, BY_NAME, TABLES
from rocperf.store import arrow

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb

    from rocperf.store import Store

#: Dispatches on their way, each with the name of its kernel; they get their ids at the end.
INCOMING = "scratch.main.incoming"

#: Rows of one kind that are kept before they are stored. A choice of ours.
_GATHERED_ROWS = 50_000

_Shape = tuple[str, tuple[tuple[str, pl.DataType], ...]]
_NUMBERED_LATER = ("launch_id", "kernel_id")


@dataclass(slots=True)
class FileRecord:
    """A row of ``files``."""

    file_id: int
    source: SourceFile
    run_id: int | None
    status: str = "read"
    rows: int = 0
    rejected: int = 0


class StoreSink:
    """The sink over a store.

    Parameters
    ----------
    store
        Takes the rows.
    total_bytes
        Size of everything that will be read.
    on_event
        Told of progress and notes.
    salvage
        Whether readers keep the complete records of files that break off.
    first_run, first_file
        First numbers to give, after those of the profile that is appended to.
    """

    def __init__(
        self,
        store: Store,
        total_bytes: int,
        on_event: OnEvent | None,
        *,
        first_run: int = 1,
        first_file: int = 1,
        salvage: bool = False,
    ) -> None:
        self.store = store
        self.salvage = salvage
        self.refusals: list[str] = []
        self.broken: set[Path] = set()
        self.max_unpacked = sys.maxsize
        self.stop = Stop()
        self.runs: dict[int, RunInfo] = {}
        self.workload_of: dict[int, int] = {}
        self.files: list[FileRecord] = []
        self.workload = 0
        self.root: Path | None = None
        self.root_of: dict[int, Path | None] = {}
        self.notes = 0
        self._on_event = on_event
        self._first_run, self._first_file = first_run, first_file
        self._gathered: dict[_Shape, list[pl.DataFrame]] | None = None
        self._ids: dict[tuple[int, tuple[str, ...]], int] = {}
        self._total, self._rows, self._bytes = total_bytes, 0, 0
        self._started = time.monotonic()
        columns = [c for c in ALL_DISPATCHES.columns if c.name not in _NUMBERED_LATER]
        kept = ", ".join(f"{c.name} {c.type}" for c in columns)
        self.connection.execute(f"CREATE TABLE {INCOMING} ({kept}, kernel VARCHAR NOT NULL)")

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """Connection of the store."""
        return self.store.connection

    def run(self, info: RunInfo) -> int:
        """Return the id of the run; of several with one key, what is known is joined."""
        place = (self.workload, info.key)
        clean = replace(info, command=scrub(info.command) if info.command else None)
        run_id = self._ids.get(place)
        if run_id is None:
            run_id = self._ids[place] = self._first_run + len(self._ids)
            self.runs[run_id] = clean
            self.workload_of[run_id] = self.workload
            self.root_of[run_id] = self.root
            return run_id
        known = self.runs[run_id]
        for name in RunInfo.__dataclass_fields__:
            if getattr(known, name) in (None, {}):
                setattr(known, name, getattr(clean, name))
        if clean.status != "complete":
            known.status = clean.status
        return run_id

    def file(self, source: SourceFile, run_id: int | None) -> int:
        """Register a file that is read."""
        return self._register(source, run_id, "read")

    def refuse(self, source: SourceFile, reason: str, *, empty: bool = False) -> None:
        """Register a file that cannot be read, and tell why; `empty`: there is nothing in it."""
        if not empty:
            self.refusals.append(reason)
        file_id = self._register(source, None, "refused")
        self.note("error", "file-refused", reason, file_id=file_id)

    def ignore(self, source: SourceFile, reason: str) -> None:
        """Register a file that is not needed, and tell why."""
        file_id = self._register(source, None, "ignored")
        self.note("info", "file-ignored", reason, file_id=file_id)

    def _register(self, source: SourceFile, run_id: int | None, status: str) -> int:
        file_id = self._first_file + len(self.files)
        self.files.append(FileRecord(file_id, source, run_id, status))
        return file_id

    def records(self, file_id: int, *, stored: int, rejected: int) -> None:
        """Correct the number of records of a file: one of them may give several rows."""
        record = self._record(file_id)
        record.rows, record.rejected = stored, rejected

    def _record(self, file_id: int) -> FileRecord:
        return self.files[file_id - self._first_file]

    def append(self, table: str, frame: pl.DataFrame, *, run_id: int, file_id: int | None) -> None:
        """Add the rows of a frame."""
        if not frame.height:
            return
        if self._gathered is None:
            self._append(table, frame, run_id, file_id)
            return
        # What varies from frame to frame becomes a column, so that one statement takes many.
        own = [pl.lit(run_id).alias("run_id"), pl.lit(file_id, pl.Int64).alias("file_id")]
        known = (table, tuple(frame.schema.items()))
        waiting = self._gathered.setdefault(known, [])
        waiting.append(frame.with_columns(own))
        if sum(each.height for each in waiting) >= _GATHERED_ROWS:
            self._flush(known)

    @contextlib.contextmanager
    def gathering(self) -> Generator[None]:
        """Keep small frames and store them together: each statement costs some milliseconds."""
        self._gathered = {}
        try:
            yield
            for known in list(self._gathered):
                self._flush(known)
        finally:
            self._gathered = None

    def _flush(self, known: _Shape) -> None:
        waiting = self._gathered.pop(known, []) if self._gathered else []
        if waiting:
            self._append(known[0], pl.concat(waiting), None, None)
            self._count(waiting)

    def _append(
        self, table: str, frame: pl.DataFrame, run_id: int | None, file_id: int | None
    ) -> None:
        self.connection.register("given", arrow(frame))
        try:
            self._insert(table, frame.columns, "SELECT * FROM given", (), run_id, file_id)
        finally:
            self.connection.unregister("given")

    def append_sql(
        self,
        table: str,
        select: str,
        params: Sequence[object],
        *,
        run_id: int,
        file_id: int | None,
    ) -> int:
        """Add the rows of a query."""
        described = self.connection.execute(f"DESCRIBE {select}", list(params)).fetchall()
        columns = [str(row[0]) for row in described]
        return self._insert(table, columns, select, params, run_id, file_id)

    def _insert(
        self,
        table: str,
        columns: Sequence[str],
        select: str,
        params: Sequence[object],
        run_id: int | None,
        file_id: int | None,
    ) -> int:
        """Insert rows; without `run_id` they state their run and file themselves."""
        # Not in `progress`: readers tell of it from within a query.
        self.stop.check()
        known = BY_NAME[table].column_names
        place = table
        if table == ALL_DISPATCHES.name:
            known, place = (*known, "kernel"), INCOMING
        unknown = set(columns) - set(known) - {"file_id"}
        if unknown:
            raise ValueError(f"{table} has no column {sorted(unknown)}")
        stated = run_id is None
        columns = [c for c in columns if c != "file_id" or c in known]
        names, values = list(columns), [f'q."{name}"' for name in columns]
        if not stated:
            names.append("run_id")
            values.append(str(run_id))
        if not stated and "file_id" in known:
            names.append("file_id")
            values.append("NULL" if file_id is None else str(int(file_id)))
        into = ", ".join(f'"{name}"' for name in names)
        row = self.connection.execute(
            f"INSERT INTO {place} ({into}) SELECT {', '.join(values)} FROM ({select}) q",
            list(params),
        ).fetchone()
        count = int(row[0]) if row else 0
        self._rows += count
        if file_id is not None:
            self._record(file_id).rows += count
        return count

    def _count(self, frames: Sequence[pl.DataFrame]) -> None:
        """Count gathered rows of each file."""
        for frame in frames:
            file_id = frame["file_id"][0]
            if file_id is not None:
                self._record(int(file_id)).rows += frame.height

    def note(
        self,
        severity: str,
        code: str,
        message: str,
        *,
        file_id: int | None = None,
        row: int | None = None,
        rows: int | None = None,
        run_id: int | None = None,
    ) -> None:
        """Keep a note and tell it."""
        self.store.note(severity, code, message, file_id=file_id, row=row, rows=rows, run_id=run_id)
        self.notes += severity != "info"
        if self._on_event is not None:
            new = file_id is not None and file_id >= self._first_file
            name = self._record(file_id).source.path.name if new and file_id else None
            self._on_event(Note(severity, code, message, name, row, rows))

    def progress(self, file: SourceFile, rows: int, bytes_done: int) -> None:
        """Tell how far reading is; rows are those counted here, over all files."""
        del rows
        if self._on_event is not None:
            seconds = max(time.monotonic() - self._started, 1e-3)
            done = min(self._bytes + bytes_done, self._total)
            rate = self._rows / seconds
            self._on_event(Progress(file.path.name, self._rows, done, self._total, rate))

    def finished(self, source: SourceFile) -> None:
        """Count a file as read in full."""
        self._bytes += source.size
        self.progress(source, 0, 0)

    def mark(self) -> tuple[int, int]:
        """Remember where files and rows stand, for `back_to`."""
        return len(self.files), self._rows

    def back_to(self, mark: tuple[int, int]) -> None:
        """Take back files that were begun since, and their rows."""
        begun = [record.file_id for record in self.files[mark[0] :]]
        del self.files[mark[0] :]
        self._rows = mark[1]
        if begun:
            within = f"file_id IN ({', '.join(map(str, begun))})"
            self.connection.execute(f"DELETE FROM {INCOMING} WHERE {within}")
            for table in TABLES:
                if "file_id" in table.column_names and table.name != "files":
                    self.connection.execute(f"DELETE FROM {table.name} WHERE {within}")
