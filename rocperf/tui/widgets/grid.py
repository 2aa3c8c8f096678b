"""A table of rows that cost nothing until they are on the screen."""

from __future__ import annotations

from typing import ClassVar

import polars as pl
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual_fastdatatable import DataTable as FastDataTable
from textual_fastdatatable.backend import PolarsBackend


class GridRows(FastDataTable):
    """Arrow-backed rows with the keys of vi. Nothing in them is markup."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", show=False),
        Binding("k", "cursor_up", show=False),
        Binding("h", "scroll_left", show=False),
        Binding("l", "scroll_right", show=False),
        Binding("ctrl+d", "page_down", show=False),
        Binding("ctrl+u", "page_up", show=False),
        Binding("g", "cursor_table_start", show=False),
        Binding("G", "cursor_table_end", show=False),
    ]


class Grid(Container):
    """Holds one table, which takes its rows when it is made: new rows make a new table."""

    async def fill(self, cells: pl.DataFrame, *, focus: bool = False) -> None:
        """Show other rows.

        Parameters
        ----------
        cells
            All text, as `rocperf.tui.rows.cells_of` writes it.
        focus
            Whether the table takes the keys, as it does when the one before had them.
        """
        had = isinstance(self.screen.focused, GridRows)
        if not self.is_attached:
            return
        async with self.batch():
            await self.remove_children()
            table = GridRows(
                backend=PolarsBackend(cells),
                cursor_type="row",
                render_markup=False,
                show_row_labels=False,
            )
            if not self.is_attached:
                return  # the screen was left meanwhile
            await self.mount(table)
        if had or focus:
            table.focus()
