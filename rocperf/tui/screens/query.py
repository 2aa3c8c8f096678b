"""SQL over the profile: the schema beside it, a history, rows, and files of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, cast

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import Footer, Static, TextArea, Tree

from rocperf.engine import Stop
from rocperf.errors import RocperfError
from rocperf.report.visible import visible
from rocperf.tui import messages, rows
from rocperf.tui.screens.asking import AskingScreen
from rocperf.tui.widgets.grid import Grid

#: What a new query begins with: something to run and to change.
FIRST = """SELECT short_name, count(*) AS dispatches
FROM dispatches JOIN kernels USING (kernel_id)
GROUP BY ALL ORDER BY dispatches DESC"""


class QueryScreen(Screen[None]):
    """Ask the profile in SQL.

    Parameters
    ----------
    place
        The profile, or a part of it.
    sql, params
        A query to begin with, which is asked at once; None to begin with an example.
    history
        Queries that were asked before, the latest last; what is asked here is added.
    """

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]  # noqa: RUF012  # Textual's own
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+r,f5", "ask", "Run", priority=True),
        Binding("ctrl+s", "export", "Export", priority=True),
        Binding("f7", "recall(-1)", "Earlier", priority=True),
        Binding("f8", "recall(1)", "Later", show=False, priority=True),
        Binding("f6", "other", "Query/rows/schema", priority=True),
        Binding("escape", "back", "Back", priority=True),
        Binding("q", "back", show=False),
        Binding("question_mark", "app.help", show=False),
    ]

    def __init__(
        self,
        place: rows.Place,
        sql: str | None = None,
        params: Mapping[str, object] | None = None,
        history: list[str] | None = None,
    ) -> None:
        super().__init__()
        self._place = place
        self._sql = None if sql is None else visible(sql, newlines=True)
        self._params = dict(params or {})
        self._history = history if history is not None else []
        self._at = len(self._history)
        self._stop = Stop()
        self._asked = 0

    def compose(self) -> ComposeResult:
        """Lay the screen out."""
        with Horizontal(id="query-panes"):
            tree: Tree[str] = Tree("tables", id="schema")
            tree.show_root = False
            yield tree
            with Vertical():
                yield TextArea(self._sql or FIRST, id="sql", language=None, compact=True)
                yield Static("", id="query-note", markup=False)
                yield Grid(id="query-rows")
        yield Footer()

    def on_mount(self) -> None:
        """List the schema; ask what was brought."""
        tree = cast("Tree[str]", self.query_one("#schema"))
        for table, columns in rows.schema().items():
            node = tree.root.add(Text(table), data=table)
            for name, kind in columns:
                node.add_leaf(Text(f"{name} {kind}"), data=name)
        self.query_one("#sql", TextArea).focus()
        if self._sql is not None:
            self.action_ask()
        else:
            self._say(f"ctrl+r asks, ctrl+s writes a file, f7 recalls. {self._given()}")

    def on_unmount(self) -> None:
        """End a question that still runs."""
        self._stop.now()

    def _given(self) -> str:
        return " · ".join(f"${key} = {value!r}" for key, value in self._params.items())[:300]

    def on_tree_node_selected(self, event: Tree.NodeSelected[str]) -> None:
        """Put the name that was chosen into the query."""
        if event.node.data and not event.node.children:
            self.query_one("#sql", TextArea).insert(event.node.data)

    def action_ask(self) -> None:
        """Ask what stands there; a question that still runs is ended."""
        sql = self.query_one("#sql", TextArea).text.strip()
        if not sql:
            self._say("There is no query: type one, or choose columns from the schema.")
            return
        if self._history[-1:] != [sql]:
            self._history.append(sql)
        self._at = len(self._history) - 1  # the one before it is a step away
        self._stop.now()
        self._stop = Stop()
        self._say("Asking…")
        self._asked += 1
        self._ask(sql, self._stop, self._asked)

    @work(thread=True, group="query")
    def _ask(self, sql: str, stop: Stop, asked: int) -> None:
        try:
            found: rows.Rows | str = rows.ask(self._place, sql, self._params, stop)
        except RocperfError as error:
            found = "\n".join((error.message, *error.details))
        except Exception as error:  # noqa: BLE001  # whatever it is, the screen says it
            found = f"{type(error).__name__}: {error}"
        self.post_message(messages.RowsReady(found, asked))

    @on(messages.RowsReady)
    async def _show(self, message: messages.RowsReady) -> None:
        if message.asked != self._asked:
            return  # another question was asked meanwhile
        if isinstance(message.found, str):
            self._say(message.found)
            return
        self._say(" · ".join(filter(None, (message.found.note, self._given()))))
        await self.query_one(Grid).fill(message.found.cells)

    @on(messages.Said)
    def _said(self, message: messages.Said) -> None:
        self._say(message.text)

    def _say(self, text: str) -> None:
        self.query_one("#query-note", Static).update(Text(visible(text, newlines=True)))

    @work
    async def action_export(self) -> None:
        """Write all rows to a file."""
        name = await self.app.push_screen_wait(  # pyright: ignore[reportUnknownMemberType]
            AskingScreen("Write all rows to", "rows.csv")
        )
        if name:
            self._say("Writing…")
            self._write(self.query_one("#sql", TextArea).text, Path(name).expanduser())

    @work(thread=True, group="export")
    def _write(self, sql: str, target: Path) -> None:
        try:
            said = rows.export(self._place, sql, self._params, target, self._stop)
        except RocperfError as error:
            said = messages.explained(error)
        self.post_message(messages.Said(said))

    def action_recall(self, step: int) -> None:
        """Put an earlier, or a later, query back."""
        if not self._history:
            return
        self._at = min(max(self._at + step, 0), len(self._history) - 1)
        self.query_one("#sql", TextArea).text = self._history[self._at]

    def action_other(self) -> None:
        """Go from the query to its rows, to the schema, and round."""
        places = [self.query_one("#sql"), *self.query("GridRows"), self.query_one("#schema")]
        now = next((n for n, each in enumerate(places) if each.has_focus), -1)
        places[(now + 1) % len(places)].focus()

    def action_back(self) -> None:
        """Leave the screen."""
        self.dismiss()
