"""Rows about agents and links, as frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

Row = dict[str, str | int | None]


def frames_of(agents: Sequence[Row], links: Sequence[Row]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Put rows into frames of ``agents`` and ``links``, with every column of the tables.

    A number that its column cannot hold is no fact of a machine, and left out.
    """
    import polars as pl

    from rocperf.schema import AGENTS, LINKS

    frames: list[pl.DataFrame] = []
    for table, rows in ((AGENTS, agents), (LINKS, links)):
        columns = [c for c in table.columns if c.name not in ("run_id", "file_id")]
        schema = {c.name: pl.String if c.type == "VARCHAR" else pl.UInt64 for c in columns}
        limits = {c.name: _LIMITS[c.type] for c in columns if c.type in _LIMITS}
        fitting = [
            {name: _fits(value, limits.get(name)) for name, value in r.items()} for r in rows
        ]
        frames.append(pl.DataFrame(fitting, schema=schema, orient="row"))
    return frames[0], frames[1]


_LIMITS = {"UBIGINT": 2**64 - 1, "UINTEGER": 2**32 - 1}


def _fits(value: str | int | None, limit: int | None) -> str | int | None:
    return None if isinstance(value, int) and not 0 <= value <= (limit or 0) else value
