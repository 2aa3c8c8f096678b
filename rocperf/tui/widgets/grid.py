"""A table of rows that cost nothing until they are on the screen."""

from __future__ import annotations

from typing import ClassVar

import polars as pl
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual_fastdatatable import DataTable as FastDataTable
from textual_fastdatatable.backend import PolarsBackend

from rocperf.tui.widgets.keys import TABLE_KEYS

#: Of an Arrow-backed table.
GRID_KEYS = (
    *TABLE_KEYS,
    Binding("g", "cursor_table_start", show=False),
    Binding("G", "cursor_table_end", show=False),
)


class GridRows(FastDataTable):
    """Arrow-backed rows with the keys of vi. Nothing in them is markup."""

    BINDINGS: ClassVar[list[BindingType]] = [*GRID_KEYS]


class Grid(Container):
    """Holds one table, which takes its rows when it is made: new rows make a new table.

    Parameters
    ----------
    id
        Of what holds it.
    table_type, table_id
        Of the table.
    """

    def __init__(
        self,
        *,
        id: str,  # noqa: A002  # Textual's word
        table_type: type[FastDataTable] = GridRows,
        table_id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self._type, self._table_id = table_type, table_id

    async def fill(self, cells: pl.DataFrame, *, focus: bool = False) -> None:
        """Show other rows.

        Parameters
        ----------
        cells
            All text, as `rocperf.tui.rows.cells_of` writes it.
        focus
            Whether the table takes the keys, as it does when the one before had them.
        """
        had = isinstance(self.screen.focused, self._type)
        if not self.is_attached:
            return
        async with self.batch():
            await self.remove_children()
            table = self._type(
                backend=PolarsBackend(cells),
                id=self._table_id,
                cursor_type="row",
                render_markup=False,
                show_row_labels=False,
            )
            if not self.is_attached:
                return  # the screen was left meanwhile
            await self.mount(table)
        if had or focus:
            table.focus()
