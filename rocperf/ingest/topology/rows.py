"""Rows about agents and links, as frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

Row = dict[str, str | int | None]


def frames_of(agents: Sequence[Row], links: Sequence[Row]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Put rows into frames of ``agents`` and ``links``, with every column of the tables."""
    import polars as pl

    from rocperf.schema import AGENTS, LINKS

    frames: list[pl.DataFrame] = []
    for table, rows in ((AGENTS, agents), (LINKS, links)):
        columns = [c for c in table.columns if c.name not in ("run_id", "file_id")]
        schema = {c.name: pl.String if c.type == "VARCHAR" else pl.UInt64 for c in columns}
        frames.append(pl.DataFrame(list(rows), schema=schema, orient="row"))
    return frames[0], frames[1]
