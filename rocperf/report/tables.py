"""Rows of a query as text: a table for people, CSV, JSON; and the schema."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, set_cell_size

from rocperf.report.amounts import count
from rocperf.report.visible import visible
from rocperf.schema import BY_NAME

if TYPE_CHECKING:
    import polars as pl

#: Cells that one column of a table may take. A choice of ours: two names fit 160 columns.
WIDEST_CELL = 60


def table_text(frame: pl.DataFrame, most: int, width: int | None = None) -> str:
    """Return an aligned table of the first rows, and how many there are.

    Parameters
    ----------
    frame
        The rows.
    most
        Rows to show.
    width
        Cells that a line may take: columns that do not fit are left out, and it says so. None
        for no bound.
    """
    fitting = _fitting(frame.head(most), width)
    hidden = frame.width - len(fitting)
    frame = frame.select(fitting)
    shown = frame.head(most)
    columns = [
        [visible(name), *(_cell(value) for value in shown[name].to_list())]
        for name in shown.columns
    ]
    widths = [max(map(cell_len, column)) for column in columns]
    right = [frame[name].dtype.is_numeric() for name in frame.columns]
    lines = ["  ".join(_pad(c[0], w, r) for c, w, r in zip(columns, widths, right, strict=True))]
    lines.append("  ".join("─" * width for width in widths))
    for n in range(1, shown.height + 1):
        cells = (_pad(c[n], w, r) for c, w, r in zip(columns, widths, right, strict=True))
        lines.append("  ".join(cells).rstrip())
    rest = frame.height - shown.height
    lines.append(
        f"{frame.height:,} row{'s' if frame.height != 1 else ''}"
        + (f", {rest:,} not shown: --format csv prints all" if rest > 0 else "")
    )
    if hidden:
        lines.append(f"{count(hidden, 'column')} not shown for want of room: select fewer, or")
        lines.append("print all with --format csv")
    return "\n".join(lines) + "\n"


def _fitting(frame: pl.DataFrame, width: int | None) -> list[str]:
    """Name the columns that fit side by side, at least the first."""
    names: list[str] = []
    used = 0
    for name in frame.columns:
        cells = (visible(name), *map(_cell, frame[name].to_list()))
        used += max(map(cell_len, cells)) + (2 if names else 0)
        if width is not None and names and used > width:
            break
        names.append(name)
    return names


def csv_text(frame: pl.DataFrame) -> str:
    """Return one header line, then rows; lists and structs as JSON."""
    import polars as pl

    nested = [name for name in frame.columns if frame[name].dtype.is_nested()]
    plain = frame.with_columns(
        pl.Series(name, [json.dumps(_plain(v)) for v in frame[name].to_list()]) for name in nested
    )
    return plain.write_csv()


def json_text(frame: pl.DataFrame) -> str:
    """Return a JSON list of objects; infinities and NaN become null."""
    rows = [{key: _plain(value) for key, value in row.items()} for row in frame.to_dicts()]
    return json.dumps(rows, indent=1, allow_nan=False) + "\n"


def schema_text() -> str:
    """Return tables with their columns, types, units and meaning."""
    lines: list[str] = []
    for table in BY_NAME.values():
        lines += [f"{table.name}: {table.doc}"]
        for column in table.columns:
            unit = f" [{column.unit}]" if column.unit else ""
            lines.append(f"    {column.name:<20} {column.type:<10} {column.doc}{unit}")
        lines.append("")
    return "\n".join(lines)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [_plain(each) for each in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return str(value)


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.6g}"
    text = visible(str(value))
    return text if cell_len(text) <= WIDEST_CELL else set_cell_size(text, WIDEST_CELL - 1) + "…"


def _pad(text: str, width: int, right: bool) -> str:
    fill = " " * (width - cell_len(text))
    return fill + text if right else text + fill
