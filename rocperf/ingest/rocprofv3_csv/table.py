"""One CSV file as a relation of DuckDB, and what of it DuckDB rejects."""

from __future__ import annotations

import contextlib
import csv
import io
import re
import tempfile
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rocperf.errors import InputError
from rocperf.ingest.rocprofv3_csv.headers import NEEDED, TIMES, TYPES, header_of
from rocperf.store import scratch_prefix

if TYPE_CHECKING:
    from rocperf.ingest.source import Sink, SourceFile

_REJECTS, _SCANS = "csv_rejects", "csv_scans"
#: What `Table.stage` reads into.
STAGED = "scratch.main.raw"
# Columns that no table takes: the kind of the file, and an id that names nothing outside it.
_UNUSED = frozenset({"Kind", "Kernel_Id"})
_PROCESS = ("Process_Id", "Pid")
_HEAD = 64 * 1024
_LOOKED_AT = 200
# What C writes of a double; DuckDB also takes 1_000.
_NUMBER = r"[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?|-?(nan|inf)"
_POWER = re.compile(r"[\d.,]+E[+-]?\d+", re.IGNORECASE)


@dataclass(frozen=True)
class Table:
    """An open file.

    Parameters
    ----------
    source
        The file.
    header
        Names of its columns, in order.
    rounded
        Whether a spreadsheet rounded its times.
    loose
        Whether a counter's value is written as no program writes numbers: hexadecimal, say.
    link
        A path to the file in which no character is special.
    threads
        Threads that its first rows name.
    process
        The process that its first row names.
    counter
        The counter that its first row names.
    cut_line
        Its last line, when that does not end with a newline.
    numbered
        Whether what is staged has the numbers of the records in a column of its own.
    """

    source: SourceFile
    header: tuple[str, ...]
    rounded: bool
    loose: bool
    link: Path
    threads: frozenset[int]
    process: int | None
    counter: str | None
    cut_line: int | None
    numbered: bool = False

    @property
    def types(self) -> dict[str, str]:
        """SQL type by column, in order of the header."""
        types = {name: TYPES.get(name, "VARCHAR") for name in self.header}
        if self.rounded:
            types.update(dict.fromkeys(TIMES & set(self.header), "VARCHAR"))
        if self.loose:
            types["Counter_Value"] = "VARCHAR"
        return types

    @property
    def value(self) -> str:
        """SQL over ``f``: the value of a counter; NULL where it is not written as a number."""
        plain = 'f."Counter_Value"'
        if not self.loose:
            return plain
        number = f"TRY_CAST({plain} AS DOUBLE)"
        return f"CASE WHEN regexp_full_match({plain}, '{_NUMBER}') THEN {number} END"

    @property
    def relation(self) -> str:
        """What was staged: its own columns and ``row``, the place among the records read."""
        if self.numbered:
            return f"(SELECT * FROM {STAGED})"
        return f"(SELECT rowid + 1 AS row, * FROM {STAGED})"

    @property
    def kept(self) -> tuple[str, ...]:
        """Columns that some table takes."""
        return tuple(name for name in self.header if name not in _UNUSED)

    @property
    def process_column(self) -> str | None:
        """The column that names the process, where there is one."""
        return next((c for c in _PROCESS if c in self.header), None)

    @property
    def scan(self) -> str:
        """The file itself; what is rejected is to be looked at with `rejected`.

        Only names of columns go into the text, quoted; the path is ours.
        """
        columns = ", ".join(f"{_text(name)}: '{kind}'" for name, kind in self.types.items())
        return (
            f"read_csv({_text(str(self.link))}, columns = {{{columns}}},"
            " auto_detect = false, header = true, delim = ',', quote = '\"', escape = '\"',"
            " strict_mode = true, null_padding = false,"
            f" store_rejects = true, rejects_table = '{_REJECTS}', rejects_scan = '{_SCANS}')"
        )

    def stage(self, sink: Sink, only: str | None = None) -> None:
        """Read the file into a scratch table, whose rows then keep its order.

        Numbering records while they are read keeps DuckDB on one core; the ids of an ordered
        table number them for nothing, and each later query scans only the columns it needs.

        Parameters
        ----------
        sink
            Its connection holds the table.
        only
            SQL of the columns to read; None for all that some table takes.
        """
        forget(sink)
        sink.connection.execute(f"DROP TABLE IF EXISTS {STAGED}")
        kept = only or ", ".join(f'"{name}"' for name in self.kept)
        sink.connection.execute(f"CREATE TABLE {STAGED} AS SELECT {kept} FROM {self.scan}")


@contextlib.contextmanager
def open_table(source: SourceFile) -> Generator[Table]:
    """Open a file for reading by DuckDB.

    Raises
    ------
    InputError
        If its header is one that cannot be trusted.
    """
    with source.text.open("rb") as handle:
        head = handle.read(_HEAD)
        handle.seek(max(0, source.text.stat().st_size - _HEAD))
        tail = handle.read()
    header = header_of(head)
    _check(source, header)
    first = _records(head, header)[:_LOOKED_AT]
    with tempfile.TemporaryDirectory(prefix=scratch_prefix()) as folder:
        link = Path(folder) / "table.csv"
        link.symlink_to(source.text.resolve())
        yield Table(
            source=source,
            header=header,
            rounded=_rounded(first, header),
            loose=_loose(first, header),
            link=link,
            threads=frozenset(_numbers(first, header, ("Thread_Id",))),
            process=next(iter(_numbers(first, header, _PROCESS)), None),
            counter=_counter(first, header),
            cut_line=None if tail.endswith(b"\n") else _lines(source.text),
        )


def _lines(path: Path) -> int:
    with path.open("rb") as handle:
        return 1 + sum(chunk.count(b"\n") for chunk in iter(lambda: handle.read(1 << 20), b""))


def _records(data: bytes, header: Sequence[str]) -> list[list[str]]:
    """Split the whole records after the first line; damaged ones are left to DuckDB."""
    text = data.decode("utf-8", "replace").split("\n", 1)[-1]
    found: list[list[str]] = []
    with contextlib.suppress(csv.Error):
        found.extend(row for row in csv.reader(io.StringIO(text)) if len(row) == len(header))
    return found


def _numbers(
    rows: Sequence[Sequence[str]], header: Sequence[str], names: Sequence[str]
) -> list[int]:
    place = next((header.index(name) for name in names if name in header), None)
    if place is None:
        return []
    return [int(row[place]) for row in rows if row[place].isdecimal()]


def _counter(rows: Sequence[Sequence[str]], header: Sequence[str]) -> str | None:
    if not rows or "Counter_Name" not in header:
        return None
    return rows[0][header.index("Counter_Name")]


def _check(source: SourceFile, header: Sequence[str]) -> None:
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise InputError(
            f"{source.path} line 1: column {twice[0]} occurs twice", hint="export the file again"
        )
    missing = [name for name in NEEDED.get(source.kind or "", ()) if name not in header]
    if missing:
        raise InputError(
            f"{source.path} line 1: column {', '.join(missing)} is missing",
            hint="export the file again",
        )


def _rounded(rows: Sequence[Sequence[str]], header: Sequence[str]) -> bool:
    """Say whether times are written like 7.3021E+14: their last digits are gone."""
    places = [place for place, name in enumerate(header) if name in TIMES]
    return any(_POWER.fullmatch(row[place]) for row in rows for place in places)


@dataclass(frozen=True)
class Rejected:
    """A record that DuckDB did not take.

    Parameters
    ----------
    line
        Its line in the file, from 1.
    text
        The line.
    reason
        What DuckDB says.
    """

    line: int
    text: str
    reason: str


def any_rejected(sink: Sink) -> bool:
    """Say whether the reads since the last `forget` rejected a record."""
    return bool(sink.connection.execute(f"SELECT 1 FROM {_REJECTS} LIMIT 1").fetchall())


def rejected(sink: Sink) -> list[Rejected]:
    """Fetch what the last read rejected, and forget it."""
    run = sink.connection.execute
    rows = run(
        f"SELECT line, any_value(csv_line), any_value(error_message) FROM {_REJECTS}"
        " GROUP BY line ORDER BY line"
    ).fetchall()
    forget(sink)
    return [Rejected(int(row[0]), str(row[1] or ""), str(row[2])) for row in rows]


def forget(sink: Sink) -> None:
    """Drop the tables of rejects."""
    for name in (_REJECTS, _SCANS):
        sink.connection.execute(f"DROP TABLE IF EXISTS {name}")


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def cast_relation(name: str, types: Mapping[str, str]) -> str:
    """Give a registered frame of texts the types of the file, and skip what does not fit."""
    columns = ", ".join(
        f'TRY_CAST("{column}" AS {kind}) AS "{column}"' for column, kind in types.items()
    )
    return f"(SELECT row, {columns} FROM {name})"


def _loose(rows: Sequence[Sequence[str]], header: Sequence[str]) -> bool:
    if "Counter_Value" not in header:
        return False
    place = header.index("Counter_Value")
    return any(row[place] and not re.fullmatch(_NUMBER, row[place]) for row in rows)
