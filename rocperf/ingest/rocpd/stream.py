"""A table of numbers of a rocpd file, as a stream of Arrow batches.

The quick way in: SQLite's rows become Arrow columns in C and go on into a query of DuckDB, which
reads them as it goes. Columns have one type each, and SQLite lets any column hold anything: where
one does, the stream says so, the query stores nothing, and the table is read as
`rocperf.ingest.rocpd.database` reads it, which looks at every value.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rocperf.store import pyarrow

if TYPE_CHECKING:
    from rocperf.ingest.rocpd.database import Field

#: Rows of one batch. A choice of ours: at 25 columns some 7 MB.
_ROWS = 32_768
_GREATEST = "1.7976931348623157e308"


class UnfitError(Exception):
    """A column holds something else than its type."""


class Stream:
    """Rows of one table.

    Parameters
    ----------
    batches
        Arrow batches, the first of which begins with a row of ours that states the types.
    on_rows
        Told of the rows of each batch.

    Attributes
    ----------
    reader
        A ``pyarrow.RecordBatchReader``; it can be read once.
    schema
        Its schema.
    failed
        Whether reading stopped at a value of another type, or at damage.
    """

    def __init__(self, batches: Iterator[Any], on_rows: Callable[[int], None]) -> None:
        self._batches, self._on_rows = batches, on_rows
        first = next(batches)
        self._first = first.slice(1)
        self.failed = False
        self.schema = first.schema
        self.reader = pyarrow().RecordBatchReader.from_batches(first.schema, self._go())

    def _go(self) -> Iterator[Any]:
        try:
            yield self._first
            self._on_rows(self._first.num_rows)
            for batch in self._batches:
                yield batch
                self._on_rows(batch.num_rows)
        except Exception:
            # Whatever the driver says, the careful way will find out and tell.
            self.failed = True
            raise


@contextlib.contextmanager
def open_stream(
    path: Path,
    source: str,
    fields: Sequence[Field],
    on_rows: Callable[[int], None],
) -> Generator[Stream]:
    """Read a table as a stream.

    Parameters
    ----------
    path
        The file.
    source
        What follows ``FROM`` in the query, of our making.
    fields
        What to read; no texts.
    on_rows
        Told of the rows of each batch after it was read.

    Raises
    ------
    UnfitError
        If the file cannot be read this way; nothing was read.
    """
    sqlite: Any = import_module("adbc_driver_sqlite.dbapi")
    pa = pyarrow()
    types = [pa.float64() if field.kind == "real" else pa.int64() for field in fields]
    stated = ", ".join(f"{'0.0' if f.kind == 'real' else '0'} AS {f.name}" for f in fields)
    query = f"SELECT {stated} UNION ALL SELECT {', '.join(map(_value, fields))} FROM {source}"
    uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
    with contextlib.ExitStack() as stack:
        try:
            connection: Any = stack.enter_context(sqlite.connect(uri))
            cursor: Any = stack.enter_context(connection.cursor())
            cursor.execute("PRAGMA trusted_schema = OFF")
            cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": str(_ROWS)})
            cursor.execute(query)
            stream = Stream(iter(cursor.fetch_record_batch()), on_rows)
        except (sqlite.Error, pa.ArrowException, OSError) as error:
            raise UnfitError(str(error)) from error
        if stream.schema.types != types:
            raise UnfitError(f"{path}: {stream.schema.types} where {types} belong")
        yield stream


def _value(field: Field) -> str:
    if field.kind != "real":
        return field.sql
    number = f"CASE typeof({field.sql}) WHEN 'integer' THEN CAST({field.sql} AS REAL)"
    return f"CASE WHEN abs({field.sql}) <= {_GREATEST} THEN {number} ELSE {field.sql} END END"
