"""A file that is written as rocprofv3 writes it, as a stream of Arrow batches.

The quick way in. Blocks of a file are cut at ends of lines and read by pyarrow, which counts the
fields of every record, and each block has to look exactly like a file without damage: as many
records as lines, as many quotes in each as in the first, a number wherever one belongs, one
process. Whatever else there may be is not judged here: the stream says that the file does not
fit, nothing of it is stored, and `rocperf.ingest.rocprofv3_csv.table` reads it with care. In one
thing this way takes more: whole numbers in hexadecimal, which rocprofv3 does not write.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import duckdb
import polars as pl

from rocperf.ingest.rocprofv3_csv.durations import duration_column
from rocperf.ingest.rocprofv3_csv.selects import ESSENTIAL
from rocperf.store import pyarrow

if TYPE_CHECKING:
    from rocperf.ingest.rocprofv3_csv.table import Table
    from rocperf.ingest.source import Sink

#: Name under which the rows can be queried, once.
PLAIN = "plain_rows"

#: Bytes that are read at a time. A choice of ours: some tens of thousands of records.
_BLOCK = 4 << 20
# What only the careful way judges: other ends of lines, and holes.
_ODD = (b"\r", b"\0")
_ODD_IN_TEXT = frozenset('"\n')

Aside = Callable[[Any], None]


class UnfitError(Exception):
    """The file is not wholly as rocprofv3 writes it."""


def fits(table: Table) -> bool:
    """Say whether a file can be tried: what is seen of it at once is as it should be."""
    return not (
        table.rounded
        or table.loose
        or table.cut_line is not None
        or duration_column(table.header) is not None
        or (table.process_column is not None and table.process is None)
    )


@contextlib.contextmanager
def plain_rows(
    table: Table, sink: Sink, columns: Sequence[str], aside: Aside | None = None
) -> Generator[str]:
    """Make the records of a file a relation, with its own columns and ``row``.

    Parameters
    ----------
    table
        The file.
    sink
        Its connection gets the relation.
    columns
        Columns that the relation has.
    aside
        Given each block, with every column that some table takes, as an Arrow table.

    Yields
    ------
    str
        The relation; it can be read once, by one query.

    Raises
    ------
    UnfitError
        If the file turns out to be damaged or odd: the query has failed and stored nothing.
    """
    stream = _Stream(table, sink, columns, aside)
    try:
        with registered(sink, PLAIN, stream.reader):
            yield PLAIN
    except duckdb.Error as error:
        if stream.failed is None:
            raise
        raise UnfitError(str(stream.failed)) from error


@contextlib.contextmanager
def registered(sink: Sink, name: str, reader: object) -> Generator[None]:
    """Let queries read Arrow batches under a name."""
    sink.connection.register(name, reader)
    try:
        yield
    finally:
        # A name cannot go while some result has not been fetched to its end.
        sink.connection.execute("SELECT 1").fetchall()
        sink.connection.unregister(name)


class _Stream:
    """Blocks of one file, each checked, and why it ended early if it did."""

    def __init__(
        self, table: Table, sink: Sink, columns: Sequence[str], aside: Aside | None
    ) -> None:
        self._table, self._sink, self._columns, self._aside = table, sink, columns, aside
        self._pa, self._csv, self._compute = pyarrow(), pyarrow("csv"), pyarrow("compute")
        self.failed: Exception | None = None
        known = {"UBIGINT": self._pa.uint64(), "BIGINT": self._pa.int64()}
        text = self._pa.dictionary(self._pa.int32(), self._pa.string())
        self._types = {
            name: self._pa.float64() if kind == "DOUBLE" else known.get(kind, text)
            for name, kind in table.types.items()
        }
        wanted = list(table.kept) if aside is not None else list(columns)
        if table.process_column is not None and table.process_column not in wanted:
            wanted.append(table.process_column)
        self._wanted = wanted
        self._needed = frozenset(ESSENTIAL.get(table.source.kind or "", ()))
        fields = [("row", self._pa.int64()), *((name, self._types[name]) for name in columns)]
        schema = self._pa.schema(fields)
        self.reader: Any = self._pa.RecordBatchReader.from_batches(schema, self._batches(schema))

    def _batches(self, schema: Any) -> Iterator[Any]:
        try:
            yield from self._checked(schema)
        except Exception as error:
            # Whatever it is: the careful way will find out and tell.
            self.failed = error
            raise

    def _checked(self, schema: Any) -> Iterator[Any]:
        done = 0
        quotes: int | None = None
        for block, offset in _blocks(self._table.source.text):
            if quotes is None:
                quotes = block[: block.index(b"\n")].count(b'"')
            records = block.count(b"\n")
            odd = any(each in block for each in _ODD)
            if odd or block.count(b'"') != quotes * records:
                raise UnfitError("quotes, or bytes that do not belong there")
            found = self._read(block)
            if found.num_rows != records:
                raise UnfitError("empty lines")
            self._check(found)
            if self._aside is not None:
                self._aside(found)
            yield from self._numbered(found, done).cast(schema).to_batches()
            done += records
            self._sink.progress(self._table.source, done, offset)
        if not done:
            raise UnfitError("no records")

    def _read(self, block: bytes) -> Any:
        return self._csv.read_csv(
            self._pa.py_buffer(block),
            self._csv.ReadOptions(
                column_names=list(self._types), block_size=max(1 << 16, len(block) // 2 + 1)
            ),
            self._csv.ParseOptions(ignore_empty_lines=True, newlines_in_values=False),
            self._csv.ConvertOptions(
                column_types=self._types,
                include_columns=self._wanted,
                null_values=[""],
                strings_can_be_null=True,
            ),
            # pyarrow's own pool keeps what it was given: some 60 MB here.
            memory_pool=self._pa.system_memory_pool(),
        )

    def _check(self, found: Any) -> None:
        """Look at what pyarrow takes and DuckDB does not."""
        pa, compute = self._pa, self._compute
        for name in self._wanted:
            column = found[name]
            if column.null_count and name in self._needed:
                raise UnfitError(f"{name}: nothing")
            if pa.types.is_dictionary(column.type):
                for chunk in column.chunks:
                    for value in chunk.dictionary.to_pylist():
                        if value != value.strip() or _ODD_IN_TEXT & set(value):
                            raise UnfitError(f"{name}: odd text")
            elif column.null_count:
                raise UnfitError(f"{name}: no number")
            elif (
                pa.types.is_floating(column.type)
                and not compute.all(compute.is_finite(column)).as_py()
            ):
                raise UnfitError(f"{name}: not finite")
        process = self._table.process_column
        if process is not None:
            ends = compute.min_max(found[process]).as_py()
            if {ends["min"], ends["max"]} != {self._table.process}:
                raise UnfitError("several processes")

    def _numbered(self, found: Any, done: int) -> Any:
        """Put the places of the records before the columns that are asked for."""
        count = pl.int_range(done + 1, done + 1 + found.num_rows, eager=True)
        rows = cast("Any", count.to_arrow())  # pyright: ignore[reportUnknownMemberType]
        told = [rows, *(found[name] for name in self._columns)]
        return self._pa.table(told, ["row", *self._columns])


def _blocks(path: Path) -> Iterator[tuple[bytes, int]]:
    """Cut a file after its header into blocks of whole lines; and where each ends."""
    with path.open("rb") as handle:
        done = len(handle.readline())
        rest = b""
        while data := handle.read(_BLOCK):
            end = data.rfind(b"\n") + 1
            if end == 0:
                raise UnfitError("a line longer than a block")
            block = rest + data[:end] if rest else data[:end]
            rest = data[end:]
            done += len(block)
            yield block, done
        if rest:
            raise UnfitError("the last line has no end")
