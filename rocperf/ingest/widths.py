"""Records of a CSV file that have another number of fields than its header.

polars fills short records with nulls in silence: values would stand under the wrong names.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rocperf.errors import InputError
from rocperf.ingest.rocprofv3_csv.headers import header_of
from rocperf.store import scratch_prefix

if TYPE_CHECKING:
    import duckdb

    from rocperf.ingest.source import SourceFile

_HEAD = 256 * 1024
_REJECTS, _SCANS = "width_rejects", "width_scans"


def refuse_ragged(connection: duckdb.DuckDBPyConnection, source: SourceFile) -> None:
    """Refuse a file in which a record does not fit the header.

    Raises
    ------
    InputError
        It names the line and both numbers of fields.
    """
    with source.text.open("rb") as file:
        columns = len(header_of(file.read(_HEAD)))
    found = first_ragged(connection, source.text, columns)
    if found is not None:
        line, fields = found
        raise InputError(
            f"{source.path.name} line {line}: {fields} fields, header has {columns}",
            hint="its records do not fit its header: give the file as the profiler wrote it",
        )


def first_ragged(
    connection: duckdb.DuckDBPyConnection, path: Path, columns: int
) -> tuple[int, int] | None:
    """Find the first record that does not fit the header.

    Parameters
    ----------
    connection
        Reads the file.
    path
        The file.
    columns
        Fields of its header.

    Returns
    -------
    tuple of int or None
        Line, from 1, and number of fields; None when every record fits.
    """
    names = ", ".join(f"'c{number}': 'VARCHAR'" for number in range(columns))
    with tempfile.TemporaryDirectory(prefix=scratch_prefix()) as folder:
        link = Path(folder) / "table.csv"
        link.symlink_to(path.resolve())
        place = str(link).replace("'", "''")
        connection.execute(
            f"SELECT count(*) FROM read_csv('{place}', columns = {{{names}}}, header = true,"
            " auto_detect = false, delim = ',', quote = '\"', escape = '\"', null_padding = false,"
            f" store_rejects = true, rejects_table = '{_REJECTS}', rejects_scan = '{_SCANS}',"
            " rejects_limit = 1)"
        ).fetchall()
    found = connection.execute(
        f"SELECT line, any_value(csv_line), max(column_idx) FROM {_REJECTS} WHERE error_type IN"
        " ('MISSING COLUMNS', 'TOO MANY COLUMNS') GROUP BY line ORDER BY line LIMIT 1"
    ).fetchall()
    for name in (_REJECTS, _SCANS):
        connection.execute(f"DROP TABLE IF EXISTS {name}")
    if not found:
        return None
    ((line, text, _),) = found
    return int(line), _fields(str(text))


def _fields(text: str) -> int:
    quoted, count = False, 1
    for character in text:
        quoted ^= character == '"'
        count += character == "," and not quoted
    return count
