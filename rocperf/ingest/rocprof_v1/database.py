"""``results.db`` of rocprof: tables OPS, COPY, HIP, HSA and rocTX."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import polars as pl

from rocperf.errors import InputError
from rocperf.ingest.rocprof_v1.events import (
    api_calls,
    copies,
    dispatches,
    markers,
)
from rocperf.ingest.source import RunInfo

if TYPE_CHECKING:
    from rocperf.ingest.source import Sink, SourceFile

#: Records of one batch. A choice of ours: some 50 MB with their argument texts.
BATCH_ROWS = 50_000
_COLUMNS = (
    "BeginNs",
    "EndNs",
    "dev-id",
    "queue-id",
    "stream-id",
    "Name",
    "args",
    "pid",
    "proc-id",
    "tid",
    "Index",
)
_TEXTS = ("Name", "args")


def read_database(source: SourceFile, stem: Path, sink: Sink) -> None:
    """Read a database into a sink.

    Parameters
    ----------
    source
        The file; opened read-only, and only the tables named here are read.
    stem
        Its path without suffix: the run's identity.
    sink
        Takes runs, files and rows.

    Raises
    ------
    InputError
        The database is damaged.
    """
    # A path may hold what means something in an URI.
    address = f"file:{quote(str(source.path.absolute()))}?mode=ro&immutable=1"
    try:
        database = sqlite3.connect(address, uri=True)
        try:
            _read(database, source, stem, sink)
        finally:
            database.close()
    except sqlite3.DatabaseError as error:
        raise InputError(
            f"{source.path.name}: damaged database ({error})", hint="record the program again"
        ) from None


def _read(database: sqlite3.Connection, source: SourceFile, stem: Path, sink: Sink) -> None:
    found = {str(name) for (name,) in database.execute("SELECT name FROM sqlite_master")}
    pid = _pid(database, found)
    info = RunInfo(
        key=(str(stem), "workload", "trace"),
        pid=pid,
        tool="rocprof",
        tool_version="1",
        role="timing",
    )
    run_id = sink.run(info)
    file_id = sink.file(source, run_id)
    _append_agents(database, found, sink, run_id, file_id)
    sizes = _copy_sizes(database, found)
    filled = done = 0

    def sized(frame: pl.DataFrame) -> pl.DataFrame:
        return copies(frame, sizes)

    plan: tuple[tuple[str, str, Callable[[pl.DataFrame], pl.DataFrame]], ...] = (
        ("OPS", "all_dispatches", dispatches),
        ("COPY", "copies", sized),
        ("HIP", "api_calls", lambda frame: api_calls(frame, "hip")),
        ("HSA", "api_calls", lambda frame: api_calls(frame, "hsa")),
        ("rocTX", "markers", markers),
    )
    for table, target, convert in plan:
        if table not in found:
            continue
        for frame in _batches(database, table):
            rows = convert(frame)
            sink.append(target, rows, run_id=run_id, file_id=file_id)
            filled += frame.height - rows.height if table == "COPY" else 0
            done += frame.height
            # Of a database the bytes read are not known before its end.
            sink.progress(source, done, 0)
    sink.records(file_id, stored=done - filled, rejected=filled)
    sink.progress(source, done, source.size)
    if filled:
        sink.note(
            "info",
            "fills-left-out",
            f"{source.path.name}: {filled} fills listed among copies are not copies",
            file_id=file_id,
            rows=filled,
            run_id=run_id,
        )


def _columns(database: sqlite3.Connection, table: str) -> list[str]:
    # Tables are named by this module alone, never by the file.
    there = {str(row[1]) for row in database.execute(f'PRAGMA table_info("{table}")')}
    return [name for name in _COLUMNS if name in there]


def _batches(database: sqlite3.Connection, table: str) -> Iterator[pl.DataFrame]:
    names = _columns(database, table)
    chosen = ", ".join(f'"{name}"' for name in names)
    cursor = database.execute(f'SELECT rowid, {chosen} FROM "{table}" ORDER BY rowid')
    schema = {"row": pl.UInt64} | {n: pl.String if n in _TEXTS else pl.Int64 for n in names}
    while rows := cursor.fetchmany(BATCH_ROWS):
        yield _frame(rows, schema)


def _frame(
    rows: Sequence[tuple[object, ...]], schema: Mapping[str, type[pl.DataType]]
) -> pl.DataFrame:
    try:
        return pl.DataFrame(rows, schema=schema, orient="row")
    except (TypeError, pl.exceptions.PolarsError) as error:
        raise sqlite3.DatabaseError(f"a value has the wrong type: {error}") from None


def _pid(database: sqlite3.Connection, found: set[str]) -> int | None:
    """Say which process it is: where there is a ``proc-id``, ``pid`` is a lane of the picture."""
    for table in ("OPS", "COPY", "HIP", "HSA"):
        names = _columns(database, table) if table in found else []
        name = next((each for each in ("proc-id", "pid") if each in names), None)
        if name:
            row = database.execute(f'SELECT "{name}" FROM "{table}" LIMIT 1').fetchone()
            if row and isinstance(row[0], int):
                return row[0]
    return None


def _append_agents(
    database: sqlite3.Connection, found: set[str], sink: Sink, run_id: int, file_id: int
) -> None:
    parts = [
        f'SELECT "dev-id" FROM "{table}"'
        for table in ("OPS", "COPY")
        if table in found and "dev-id" in _columns(database, table)
    ]
    if not parts:
        return
    ids = [row[0] for row in database.execute(" UNION ".join(parts)) if row[0] is not None]
    if ids:
        frame = pl.DataFrame({"agent_id": sorted(ids), "kind": ["GPU"] * len(ids)})
        sink.append("agents", frame, run_id=run_id, file_id=file_id)


def _copy_sizes(database: sqlite3.Connection, found: set[str]) -> pl.DataFrame:
    """Take sizes from the calls: those that made exactly one copy each.

    Returns
    -------
    polars.DataFrame
        ``Index`` of the copy and ``bytes``.
    """
    schema = {"Index": pl.Int64, "args": pl.String}
    if not {"HIP", "COPY"} <= found or "args" not in _columns(database, "HIP"):
        return pl.DataFrame(schema={"Index": pl.Int64, "bytes": pl.UInt64})
    rows = database.execute(
        'SELECT "Index", max(args) FROM HIP WHERE Name LIKE \'hipMemcpy%\' AND "Index" IN '
        '(SELECT "Index" FROM COPY GROUP BY "Index" HAVING count(*) = 1) '
        'GROUP BY "Index" HAVING count(*) = 1'
    ).fetchall()
    size = pl.col("args").str.extract(r"sizeBytes\((\d+)\)", 1)
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return frame.select("Index", size.cast(pl.UInt64, strict=False).alias("bytes"))
