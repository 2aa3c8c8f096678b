"""rocpd: the SQLite databases that rocprofv3 writes from ROCm 7.0 on.

Every table exists once per recorded process, under a name that ends in its identity. Only these
physical tables are read, never the views of the file, whose inner joins lose rows and whose text
is whatever the writer put there. Columns are found by name, so that all of schema 3 is read.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from rocperf.errors import InputError
from rocperf.ingest.rocpd_rows import AGENT_FIELDS, QUERIES, SCHEMAS, finished
from rocperf.ingest.secrets import reduce
from rocperf.ingest.source import RunInfo, SourceFile

if TYPE_CHECKING:
    from rocperf.ingest.source import Sink

FORMAT = "rocpd"
_MAGIC = b"SQLite format 3\x00"
_TABLE = re.compile(r"rocpd_([a-z_]+?)_?(_[0-9a-f]{8}[0-9a-f_]*)\Z")
#: Rows of one batch. A choice of ours: some 50 MB with 25 columns.
BATCH_ROWS = 100_000


def recognise(path: Path, head: bytes) -> SourceFile | None:
    """Say whether a file is a rocpd database, by its tables."""
    if not head.startswith(_MAGIC):
        return None
    with closing(_connect(path)) as database:
        names = _names(database)
        if {"rocpd_op", "rocpd_api"} & names and not _suffixes(names):
            raise InputError(
                f"{path} is rocmProfileData schema 2, not rocprofv3 rocpd (schema 3)",
                hint="record it again with rocprofv3",
            )
        if not _suffixes(names):
            return None
    return SourceFile(path, FORMAT, None, "3", path.stat().st_size)


def read(sources: list[SourceFile], sink: Sink) -> None:
    """Read databases into a sink, one run a recorded process.

    Raises
    ------
    InputError
        If a database is damaged or was never finished.
    """
    for source in sources:
        with closing(_connect(source.path)) as database:
            try:
                found = 0
                for suffix in _suffixes(_names(database)):
                    found += _Process(database, suffix, source, sink).read()
            except sqlite3.Error as error:
                raise InputError(
                    f"{source.path} cannot be read: {error}", hint="was the run ended early?"
                ) from error
        if not found:
            raise InputError(
                f"{source.path}: no process row, 0 dispatches: the writer was interrupted",
                hint="record it again, and let rocprofv3 finish writing",
            )


def _connect(path: Path) -> sqlite3.Connection:
    uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
    database = sqlite3.connect(uri, uri=True)
    database.execute("PRAGMA trusted_schema = OFF")
    database.text_factory = _decoded
    return database


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _names(database: sqlite3.Connection) -> set[str]:
    try:
        rows = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    except sqlite3.Error:
        return set()
    return {str(name) for (name,) in rows}


def _suffixes(names: set[str]) -> list[str]:
    return sorted(m[2] for name in names if (m := _TABLE.match(name)) and m[1] == "metadata")


class _Process:
    """One recorded process: the tables of one suffix."""

    def __init__(
        self, database: sqlite3.Connection, suffix: str, source: SourceFile, sink: Sink
    ) -> None:
        self.database = database
        self.suffix = suffix
        self.source = source
        self.sink = sink
        self.tables = _names(database)

    def read(self) -> int:
        """Read everything; return how many processes (0 or 1) there were."""
        row = self._one("SELECT pid, ppid, command, environment, init, fini FROM {info_process}")
        if row is None:
            return 0
        host = self._one("SELECT hostname FROM {info_node}")
        info = RunInfo(
            key=(str(self.source.path.parent), self.suffix, "rocpd"),
            hostname=host["hostname"] if host else None,
            pid=row["pid"],
            command=row["command"],
            start_ns=row["init"] or None,
            end_ns=row["fini"] or None,
            tool="rocprofv3",
            environment=reduce(_object(row["environment"])),
        )
        run_id = self.sink.run(info)
        file_id = self.sink.file(self.source, run_id)
        self._agents(run_id, file_id)
        self._prepare()
        done = 0
        for table, query in QUERIES:
            for frame in self._batches(query, SCHEMAS[table]):
                rows = finished(table, frame)
                if rows.height:
                    self.sink.append(table, rows, run_id=run_id, file_id=file_id)
                done += rows.height
                self.sink.progress(self.source, done, 0)
        return 1

    def _text(self, query: str) -> str:
        """Put the physical names of tables into a query of ours."""
        return re.sub(r"\{(\w+)\}", lambda m: f'"rocpd_{m[1]}{self.suffix}"', query)

    def _one(self, query: str) -> dict[str, Any] | None:
        cursor = self.database.execute(self._text(query) + " LIMIT 1")
        row = cursor.fetchone()
        return (
            None if row is None else dict(zip([c[0] for c in cursor.description], row, strict=True))
        )

    def _prepare(self) -> None:
        """Index what the file has no index for, in temporary tables of the reader."""
        for name in ("dispatch_of", "args_of", "sampled_at"):
            self.database.execute(f"DROP TABLE IF EXISTS temp.{name}")
        run = self.database.execute
        run("CREATE TEMP TABLE dispatch_of (event_id INTEGER PRIMARY KEY, dispatch_id INTEGER)")
        run(
            self._text(
                "INSERT OR IGNORE INTO dispatch_of SELECT event_id, dispatch_id"
                " FROM {kernel_dispatch} WHERE event_id IS NOT NULL"
            )
        )
        run("CREATE TEMP TABLE args_of (event_id INTEGER PRIMARY KEY, args TEXT)")
        run(
            self._text(
                "INSERT INTO args_of SELECT event_id, json_group_object("
                "coalesce(nullif(name, ''), position), value) FROM {arg} GROUP BY event_id"
            )
        )
        run("CREATE TEMP TABLE sampled_at (event_id INTEGER PRIMARY KEY, at INTEGER)")
        run(
            self._text(
                "INSERT INTO sampled_at SELECT event_id, min(timestamp) FROM {sample}"
                " WHERE event_id IS NOT NULL GROUP BY event_id"
            )
        )

    def _batches(self, query: str, schema: Mapping[str, Any]) -> Iterator[pl.DataFrame]:
        cursor = self.database.execute(self._text(query))
        while rows := cursor.fetchmany(BATCH_ROWS):
            yield pl.DataFrame(rows, schema=dict(schema), orient="row", strict=False)

    def _agents(self, run_id: int, file_id: int) -> None:
        cursor = self.database.execute(
            self._text(
                "SELECT type, absolute_index, logical_index, type_index, name, product_name,"
                " extdata FROM {info_agent} WHERE type IN ('CPU', 'GPU') ORDER BY absolute_index"
            )
        )
        rows: list[dict[str, Any]] = []
        for kind, agent_id, logical, ordinal, name, product, extdata in cursor:
            facts = _object(extdata)
            row: dict[str, Any] = {
                "agent_id": agent_id,
                "kind": kind,
                "logical_index": logical,
                "type_index": ordinal,
                "target": name if kind == "GPU" and str(name).startswith("gfx") else None,
                "product": product or None,
            }
            for column, (field, factor) in AGENT_FIELDS.items():
                value = facts.get(field)
                told = value if isinstance(value, int) and kind == "GPU" else 0
                row[column] = told * factor or None
            rows.append(row)
        if rows:
            types = dict.fromkeys(AGENT_FIELDS, pl.UInt64)
            frame = pl.DataFrame(rows, schema_overrides=types)
            self.sink.append("agents", frame, run_id=run_id, file_id=file_id)


def _object(text: object) -> dict[str, Any]:
    try:
        value = json.loads(str(text))
    except ValueError:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
