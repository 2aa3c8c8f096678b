"""The table of kernels by time, and the full name of the one under the cursor."""

from __future__ import annotations

from typing import ClassVar

import polars as pl
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual_fastdatatable import DataTable as FastDataTable

from rocperf.report.amounts import duration, share
from rocperf.report.visible import visible
from rocperf.tui.widgets.detail import clip
from rocperf.tui.widgets.grid import GRID_KEYS, Grid
from rocperf.tui.widgets.keys import READ
from rocperf.tui.widgets.reading import Reading

#: Characters of a short name in the table; the pane below it has the full one.
MOST_NAME = 120


def kernel_cells(kernels: pl.DataFrame) -> pl.DataFrame:
    """Write kernels as the table shows them.

    Parameters
    ----------
    kernels
        From `rocperf.tui.queries.kernels_by_time`.

    Returns
    -------
    polars.DataFrame
        Shape (kernels, 7), all text: numbers aligned to the right, unknown ones a dash,
        names with what acts escaped.
    """
    # One step for each distinct kernel, of which programs have thousands at most; dispatches
    # were added up by DuckDB.
    times = [
        [("–" if ns is None else duration(round(ns))).rjust(9) for ns in kernels[column]]
        for column in ("total_ns", "mean_ns", "median_ns", "p95_ns")
    ]
    shares = [("–" if part is None else share(part)).rjust(7) for part in kernels["share"]]
    counts = [f"{count:,}".rjust(10) for count in kernels["dispatches"]]
    names = [clip(name, MOST_NAME) for name in kernels["short_name"]]
    columns = {
        "    total": times[0],
        "  share": shares,
        "dispatches": counts,
        "     mean": times[1],
        "kernel": names,
        "   median": times[2],
        "      p95": times[3],
    }
    return pl.DataFrame(columns, schema_overrides=dict.fromkeys(columns, pl.String))


class KernelRows(FastDataTable):
    """Kernels, of which the one under the cursor can be read in full.

    It does not inherit from `GridRows`: Textual ranks default styles by depth, and one step more
    lets those of its own table of the same name win over those of the Arrow-backed one.
    """

    BINDINGS: ClassVar[list[BindingType]] = [READ, *GRID_KEYS]


class KernelsPane(Vertical):
    """Kernels by time; one search narrows them."""

    def __init__(self) -> None:
        super().__init__(id="kernels-pane")
        self._kernels: pl.DataFrame | None = None
        self._cells = pl.DataFrame()
        self._shown = pl.DataFrame()
        self._at = 0

    @property
    def chosen(self) -> tuple[int, str] | None:
        """Number and short name of the kernel under the cursor; None where there is none."""
        if self._at >= self._shown.height:
            return None
        return int(self._shown["kernel_id"][self._at]), str(self._shown["short_name"][self._at])

    def compose(self) -> ComposeResult:
        """Hold rows above the full name of one of them."""
        yield Grid(id="kernel-rows", table_type=KernelRows, table_id="kernels")
        yield Reading("Reading…", id="kernel-name")

    async def load(self, kernels: pl.DataFrame, cells: pl.DataFrame, needle: str) -> None:
        """Take the kernels of a profile and what `kernel_cells` wrote of them."""
        self._kernels, self._cells = kernels, cells
        await self.search(needle)

    async def search(self, needle: str) -> None:
        """Show the kernels whose name holds the needle, in any case; all when it is empty."""
        if self._kernels is None:
            return
        names = pl.concat_str("name", pl.lit("\n"), "short_name").str.to_lowercase()
        found = names.str.contains(needle.lower(), literal=True)
        mask = self._kernels.select(found.alias("found"))["found"]
        self._shown = self._kernels.filter(mask)
        await self.query_one(Grid).fill(self._cells.filter(mask))
        if not self._shown.height:
            why = "Nothing matches the search." if self._kernels.height else "No kernel was run."
            self.say(why)

    def say(self, text: str) -> None:
        """Say something where the full name would be."""
        self.query_one(Reading).show(Text(visible(text)))

    @on(FastDataTable.RowHighlighted)
    def _show_name(self, event: FastDataTable.RowHighlighted) -> None:
        self._at = event.cursor_row
        if event.cursor_row < self._shown.height:
            self.say(str(self._shown["name"][event.cursor_row]))
