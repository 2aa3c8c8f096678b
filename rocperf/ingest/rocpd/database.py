"""A rocpd file, opened so that nothing in it takes effect, and read in batches of columns.

SQLite gathers each column of a batch into one JSON array, which polars decodes into a typed
column: no row becomes a Python object, and SQLite works on the next batch while this one is
stored.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

import polars as pl

from rocperf.errors import InputError

#: Tables of schema 3 that hold what a profile keeps; others of theirs are known, too.
KNOWN = (
    "metadata",
    "string",
    "info_node",
    "info_process",
    "info_thread",
    "info_agent",
    "info_queue",
    "info_stream",
    "info_pmc",
    "info_code_object",
    "info_kernel_symbol",
    "track",
    "event",
    "arg",
    "pmc_event",
    "region",
    "sample",
    "kernel_dispatch",
    "memory_copy",
    "memory_allocate",
    "graph_launch",
    "hip_event",
    "event_operation",
)
_TABLE = re.compile(rf"rocpd_({'|'.join(sorted(KNOWN, key=len, reverse=True))})_([0-9a-f_]+)")
_LATER = re.compile(r"rocpd_([a-z0-9_]+)")
_OWN = re.compile(r"sqlite_\w+")

#: Rows of one batch. A choice of ours: some 10 MB of text at 20 columns.
BATCH_ROWS = 100_000
#: Rows of one batch of texts, which may be long.
TEXT_ROWS = 10_000

_TYPES: dict[str, type[pl.DataType]] = {"int": pl.Int64, "real": pl.Float64, "text": pl.String}
_LAST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Field:
    """One column to read.

    Parameters
    ----------
    name
        What it is called here.
    sql
        Expression over the aliases of the query, of our making.
    kind
        What it becomes: 64-bit integers, floating point or text.
    """

    name: str
    sql: str
    kind: Literal["int", "real", "text"] = "int"

    @property
    def gathered(self) -> tuple[str, ...]:
        """Aggregates that gather the column."""
        if self.kind == "real":
            # SQLite writes 15 digits: whole part and rest apart keep all that a double has.
            fits = f"abs({self.sql}) <= 1.7976931348623157e308"
            whole = f"CASE WHEN {fits} THEN CAST({self.sql} AS INTEGER) END"
            rest = f"CASE WHEN {fits} THEN {self.sql} - CAST({self.sql} AS INTEGER) END"
            return (f"json_group_array({whole})", f"json_group_array({rest})")
        if self.kind == "text":
            return (f"json_group_array(CAST({self.sql} AS TEXT))",)
        return (f"json_group_array({self.sql})",)

    @property
    def careful(self) -> tuple[str, ...]:
        """The same, for a column that holds something else than numbers in places."""
        if self.kind == "text":
            return self.gathered
        number = f"CASE WHEN typeof({self.sql}) IN ('integer', 'real') THEN {self.sql} END"
        return Field(self.name, f"({number})", self.kind).gathered

    def decoded(self, arrays: Sequence[str]) -> pl.Series:
        """Turn gathered arrays into a column."""
        first = _decode(self.name, arrays[0], _TYPES["int" if self.kind == "real" else self.kind])
        if self.kind != "real":
            return first
        return (first.cast(pl.Float64) + _decode(self.name, arrays[1], pl.Float64)).alias(self.name)


def _decode(name: str, array: str, kind: type[pl.DataType]) -> pl.Series:
    if array == "[]":
        return pl.Series(name, [], dtype=kind)
    return pl.Series(name, [array]).str.json_decode(pl.List(kind)).explode()


class Database:
    """A file of rocpd.

    Parameters
    ----------
    path
        The file.

    Attributes
    ----------
    parts
        Physical name of each table, by name, of each suffix: one recorded process each.
    plain
        Names of all tables.
    views, triggers, foreign
        How many there are of what is never used.
    unread
        Tables of a part that are of no kind that is known, by suffix.
    odd
        Tables in which something else stood where a number belongs.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
        self._connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
        self._connection.text_factory = _text
        self.parts: dict[str, dict[str, str]] = {}
        self.plain: set[str] = set()
        self.views = self.triggers = self.foreign = 0
        self.unread: dict[str, dict[str, str]] = {}
        self.odd: set[str] = set()
        self._columns: dict[str, frozenset[str]] = {}
        try:
            self._look()
        except BaseException:
            self.close()
            raise

    def _look(self) -> None:
        self.rows("PRAGMA trusted_schema = OFF")
        for kind, name in self.rows("SELECT type, name FROM sqlite_master"):
            self.views += kind == "view"
            self.triggers += kind == "trigger"
            if kind != "table" or _OWN.fullmatch(str(name)):
                continue
            self.plain.add(str(name))
            found = _TABLE.fullmatch(str(name))
            if found is not None:
                self.parts.setdefault(found[2], {})[found[1]] = str(name)
        for name in sorted(self.plain):
            if not _TABLE.fullmatch(name):
                self._keep_count(name)

    def _keep_count(self, name: str) -> None:
        """Sort a table that is not known: one of a later schema, or not of this format at all."""
        found = _LATER.fullmatch(name)
        suffix = next(
            (each for each in self.parts if found and found[1].endswith(f"_{each}")), None
        )
        if found is None or suffix is None:
            self.foreign += 1
        else:
            kind = found[1].removesuffix(f"_{suffix}")
            self.unread.setdefault(suffix, {})[kind] = name

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[object, ...]]:
        """Fetch a few rows.

        Raises
        ------
        InputError
            If the file is damaged.
        """
        try:
            return self._connection.execute(sql, tuple(parameters)).fetchall()
        except sqlite3.Error as error:
            raise self.damaged(error) from error

    def damaged(self, error: object) -> InputError:
        """Make the error for a file that SQLite cannot read."""
        return InputError(
            f"{self.path}: the database is damaged: {error}",
            hint="was the writer interrupted, or the copy? --salvage keeps what can be read",
        )

    def columns(self, table: str) -> frozenset[str]:
        """Name the columns of a physical table."""
        if table not in self._columns:
            found = self.rows("SELECT name FROM pragma_table_info(?)", [table])
            self._columns[table] = frozenset(str(name) for (name,) in found)
        return self._columns[table]

    def batches(
        self,
        table: str,
        fields: Sequence[Field],
        *,
        joins: str = "",
        where: str = "",
        group_by: str = "",
        batch_rows: int = BATCH_ROWS,
    ) -> Iterator[pl.DataFrame]:
        """Read a table, batch by batch, in order of its rows.

        Parameters
        ----------
        table
            Physical name; its alias is ``t``.
        fields
            What to read.
        joins, where
            Further tables and a condition, of our making.
        group_by
            Column of the table by whose equal neighbours rows are gathered: a batch never ends
            between two of them.
        batch_rows
            Rows of one batch.
        """
        query = _Query(table, fields, joins, where, group_by, batch_rows)
        with ThreadPoolExecutor(1, thread_name_prefix="sqlite") as pool:
            ahead = pool.submit(self._batch, query, -(2**63))
            while True:
                frame, last = ahead.result()
                if last < _LAST:
                    ahead = pool.submit(self._batch, query, last)
                if frame.height:
                    yield frame
                if last >= _LAST:
                    return

    def _batch(self, query: _Query, after: int) -> tuple[pl.DataFrame, int]:
        """Read the batch after a row; return it and the number of its last row."""
        run = self._connection.execute
        try:
            last = _LAST
            found = run(query.end, (after, query.batch_rows - 1)).fetchone()
            if found and query.group_by:
                found = run(query.next_group, (found[0], found[1])).fetchone()
                last = found[0] - 1 if found else _LAST
            elif found:
                last = found[0]
            try:
                arrays = run(query.sql(careful=False), (after, last)).fetchone()
                return query.frame(arrays), last
            except (sqlite3.OperationalError, pl.exceptions.ComputeError):
                # SQLite lets any column hold anything; what is no number is then left out.
                arrays = run(query.sql(careful=True), (after, last)).fetchone()
                self.odd.add(query.table)
                return query.frame(arrays), last
        except (sqlite3.Error, pl.exceptions.PolarsError) as error:
            raise self.damaged(error) from error


@dataclass(frozen=True, slots=True)
class _Query:
    table: str
    fields: Sequence[Field]
    joins: str
    where: str
    group_by: str
    batch_rows: int

    @property
    def end(self) -> str:
        """Ask for the row that ends a batch."""
        group = f", {self.group_by}" if self.group_by else ""
        return (
            f'SELECT rowid{group} FROM "{self.table}" WHERE rowid > ? ORDER BY rowid'
            " LIMIT 1 OFFSET ?"
        )

    @property
    def next_group(self) -> str:
        """Ask for the first row of the next group."""
        return (
            f'SELECT rowid FROM "{self.table}" WHERE rowid > ? AND {self.group_by} IS NOT ?'
            " ORDER BY rowid LIMIT 1"
        )

    def sql(self, *, careful: bool) -> str:
        """Ask for all columns of a batch."""
        gathered = [part for f in self.fields for part in (f.careful if careful else f.gathered)]
        condition = f" AND ({self.where})" if self.where else ""
        source = f'"{self.table}" t {self.joins} WHERE t.rowid > ? AND t.rowid <= ?{condition}'
        if not self.group_by:
            return f"SELECT {', '.join(gathered)} FROM {source}"
        inner = ", ".join(f"{f.sql} AS {f.name}" for f in self.fields)
        named = [Field(f.name, f.name, f.kind) for f in self.fields]
        gathered = [part for f in named for part in (f.careful if careful else f.gathered)]
        return (
            f"SELECT {', '.join(gathered)} FROM"
            f" (SELECT {inner} FROM {source} GROUP BY t.{self.group_by})"
        )

    def frame(self, arrays: Sequence[str]) -> pl.DataFrame:
        """Decode the columns of a batch."""
        columns: list[pl.Series] = []
        at = 0
        for field in self.fields:
            width = len(field.gathered)
            columns.append(field.decoded(arrays[at : at + width]))
            at += width
        return pl.DataFrame(columns)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
