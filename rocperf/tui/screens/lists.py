"""Lists to choose from beside the rows of the one that is chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, cast

import polars as pl
from rich.text import Text
from textual import on, work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Footer, Static, Tab, Tabs

from rocperf.engine import Stop
from rocperf.errors import RocperfError
from rocperf.report.visible import visible
from rocperf.tui import messages, rows
from rocperf.tui.lists import Question
from rocperf.tui.screens.query import QueryScreen
from rocperf.tui.widgets.grid import Grid


class ListsScreen(Screen[None]):
    """Rows of one question of several; tab goes to the next.

    Parameters
    ----------
    place
        The profile, or a part of it.
    title
        What they are about.
    questions
        Which there are.
    params
        Values of their parameters.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "step(1)", "Next list", priority=True),
        Binding("shift+tab", "step(-1)", show=False, priority=True),
        Binding("s", "query", "As SQL"),
        Binding("q,escape", "back", "Back"),
        Binding("question_mark", "app.help", "Help"),
    ]

    def __init__(
        self,
        place: rows.Place,
        title: str,
        questions: Sequence[Question],
        params: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__()
        self._place, self._title, self._questions = place, title, questions
        self._params = dict(params or {})
        self._stop = Stop()
        self._at = 0

    def compose(self) -> ComposeResult:
        """Put the titles above the rows."""
        yield Static(Text(visible(self._title)), id="lists-title", markup=False)
        yield Tabs(*(Tab(each.title, id=f"list-{n}") for n, each in enumerate(self._questions)))
        yield Static("", id="lists-note", markup=False)
        yield Grid(id="lists-rows")
        yield Footer()

    def on_unmount(self) -> None:
        """End a question that still runs."""
        self._stop.now()

    @on(Tabs.TabActivated)
    def _chosen(self, event: Tabs.TabActivated) -> None:
        self._at = int((event.tab.id or "list-0").removeprefix("list-"))
        self._say("Reading…")
        self._ask(self._at, self._questions[self._at].sql)

    @work(thread=True, group="lists")
    def _ask(self, number: int, sql: str) -> None:
        try:
            found: rows.Rows | str = rows.ask(self._place, sql, self._params, self._stop)
        except RocperfError as error:
            found = error.message
        self.post_message(messages.RowsReady(found, number))

    @on(messages.RowsReady)
    async def _show(self, message: messages.RowsReady) -> None:
        if message.asked != self._at:
            return  # another list was chosen meanwhile
        found = message.found
        if isinstance(found, rows.Rows) and found.cells.height:
            self._say(found.note)
            await self.query_one(Grid).fill(found.cells, focus=True)
            return
        self._say(found if isinstance(found, str) else self._questions[self._at].empty)
        await self.query_one(Grid).fill(pl.DataFrame())

    def _say(self, text: str) -> None:
        self.query_one("#lists-note", Static).update(Text(visible(text)))

    def action_step(self, step: int) -> None:
        """Go to the next list, or the one before."""
        number = (self._at + step) % len(self._questions)
        self.query_one(Tabs).active = f"list-{number}"

    def action_query(self) -> None:
        """Open the list's query, to change it or to write its rows to a file."""
        app = cast("App[None]", self.app)  # pyright: ignore[reportUnknownMemberType]
        app.push_screen(
            QueryScreen(self._place, self._questions[self._at].sql.strip(), self._params)
        )

    def action_back(self) -> None:
        """Leave the screen."""
        self.dismiss()
