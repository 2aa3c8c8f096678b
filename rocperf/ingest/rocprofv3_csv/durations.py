"""Columns of durations, which some releases and converters add: they must be end minus start."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocperf.ingest.rocprofv3_csv.table import Table
    from rocperf.ingest.source import Sink

_NAME = re.compile(r"duration(?:_?ns|_?\(ns\))?", re.IGNORECASE)
_TIMES = {"Start_Timestamp", "End_Timestamp"}


def duration_column(header: Sequence[str]) -> str | None:
    """Name the column of durations, if there is one."""
    return next((each for each in header if _NAME.fullmatch(each)), None)


def disagreeing(table: Table, sink: Sink) -> tuple[int, int]:
    """Count the rows of a staged file whose duration is another than its times tell.

    Parameters
    ----------
    table
        The file, staged.
    sink
        Holds the stage.

    Returns
    -------
    tuple of int
        How many, and the first; 0 and 0 when all agree or the file has no such column.
    """
    name = duration_column(table.header)
    if name is None or table.rounded or not set(table.header) >= _TIMES:
        return 0, 0
    stated = f'TRY_CAST("{name}" AS HUGEINT)'
    told = '"End_Timestamp"::HUGEINT - "Start_Timestamp"'
    ((rows, first),) = sink.connection.execute(
        f"SELECT count(*), min(row) FROM {table.relation} WHERE {stated} <> {told}"
        ' AND "End_Timestamp" >= "Start_Timestamp"'
    ).fetchall()
    return int(rows), int(first or 0)
