"""The application: findings ranked, detail, kernels by time, what could not be judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, cast

import polars as pl
from rich.text import Text
from textual import on, work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import (
    DataTable,
    Footer,
    Header,
    Input,
    Static,
    TabbedContent,
    TabPane,
)

from rocperf.model import Completed, Failed, Outcome, RankedFinding, Skipped
from rocperf.report.amounts import duration, share
from rocperf.report.visible import visible
from rocperf.tui.detail import detail_text, unjudged_text
from rocperf.tui.queries import kernels_by_time

#: Kernels that the table shows; the search looks through all. A choice of ours.
MOST_ROWS = 1000


class ViewApp(App[None]):
    """The screen over one profile.

    Parameters
    ----------
    path, outcomes, load
        As for `rocperf.tui.run_view`.
    """

    CSS_PATH = "app.tcss"
    TITLE = "rocperf"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "Quit"),
        Binding("slash", "search", "Search"),
        Binding("1", "show('findings-tab')", "Findings"),
        Binding("2", "show('kernels-tab')", "Kernels"),
        Binding("3", "show('unjudged-tab')", "Not judged"),
        Binding("j", "move(1)", "Down", show=False),
        Binding("k", "move(-1)", "Up", show=False),
        Binding("escape", "close_search", "Close search", show=False),
    ]

    def __init__(
        self,
        path: Path,
        outcomes: Sequence[Outcome] | None,
        load: Callable[[], Sequence[Outcome]],
    ) -> None:
        super().__init__()
        self._path = path
        self._outcomes = outcomes
        self._load = load
        self._ranked: list[RankedFinding] = []
        self._kernels = pl.DataFrame()
        self._needle = ""

    def compose(self) -> ComposeResult:
        """Lay the screen out."""
        yield Header()
        yield Input(placeholder="search, Enter to keep, Escape to clear", id="search")
        with TabbedContent(id="tabs"):
            with TabPane("Findings", id="findings-tab"):
                yield DataTable[Text](id="findings", cursor_type="row")
                with VerticalScroll(id="detail"):
                    yield Static("Analysing…", id="detail-text", markup=False)
            with TabPane("Kernels", id="kernels-tab"):
                yield DataTable[Text](id="kernels", cursor_type="row")
            with TabPane("Not judged", id="unjudged-tab"), VerticalScroll():
                yield Static("Analysing…", id="unjudged", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Start what takes time behind the screen."""
        self.sub_title = visible(self._path.name)
        self.query_one("#findings", DataTable).add_columns("severity", "saves", "rule", "subject")
        self.query_one("#kernels", DataTable).add_columns("total", "share", "dispatches", "kernel")
        self.query_one("#findings", DataTable).focus()
        self._fill()

    @work(thread=True, exclusive=True)
    def _fill(self) -> None:
        try:
            kernels = kernels_by_time(self._path)
            self.call_from_thread(self._show_kernels, kernels)
            outcomes = self._outcomes if self._outcomes is not None else self._load()
            self.call_from_thread(self._show_outcomes, outcomes)
        except Exception as error:  # noqa: BLE001  # whatever it is, the screen says it
            self.call_from_thread(self._say, f"{type(error).__name__}: {error}")

    def _say(self, text: str) -> None:
        self.query_one("#detail-text", Static).update(visible(text))

    def _show_outcomes(self, outcomes: Sequence[Outcome]) -> None:
        found = [f for o in outcomes if isinstance(o, Completed) for f in o.findings]
        self._ranked = sorted(found, key=lambda r: (-r.severity, -(r.finding.saves_ns or 0)))
        rest = [o for o in outcomes if isinstance(o, Skipped | Failed)]
        self.query_one("#unjudged", Static).update(unjudged_text(rest))
        self._paint_findings()

    def _show_kernels(self, kernels: pl.DataFrame) -> None:
        self._kernels = kernels
        self._paint_kernels()

    def _paint_findings(self) -> None:
        table = self._table("findings")
        table.clear()
        for number, ranked in enumerate(self._ranked):
            finding = ranked.finding
            text = f"{finding.rule} {finding.subject.name}"
            if self._needle.lower() not in text.lower():
                continue
            saves = "–" if finding.saves_ns is None else duration(finding.saves_ns)
            if ranked.share is not None:
                saves += f" {share(ranked.share)}"
            cells = (ranked.severity.word, saves, finding.rule, finding.subject.name[:200])
            table.add_row(*(Text(visible(cell)) for cell in cells), key=str(number))
        if not table.row_count:
            why = "Nothing matches the search." if self._needle else "Nothing to report."
            self._say(f"{why} Key 3 shows what could not be judged.")

    def _paint_kernels(self) -> None:
        table = self._table("kernels")
        table.clear()
        shown = self._kernels
        if self._needle and shown.height:
            name = pl.col("name").str.to_lowercase()
            shown = shown.filter(name.str.contains(self._needle.lower(), literal=True))
        for short, _, dispatches, total, part in shown.head(MOST_ROWS).iter_rows():
            cells = (
                "–" if total is None else duration(total),
                "–" if part is None else share(part),
                f"{dispatches:,}",
                short,
            )
            table.add_row(*(Text(visible(cell)) for cell in cells))

    @on(DataTable.RowHighlighted, "#findings")
    def _show_detail(self, event: DataTable.RowHighlighted) -> None:
        if event.row_key.value is not None:
            ranked = self._ranked[int(event.row_key.value)]
            self.query_one("#detail-text", Static).update(detail_text(ranked))

    @on(Input.Changed, "#search")
    def _search(self, event: Input.Changed) -> None:
        self._needle = event.value
        self._paint_findings()
        self._paint_kernels()

    @on(Input.Submitted, "#search")
    def _keep(self) -> None:
        self._focus_table()

    def action_search(self) -> None:
        """Open the search."""
        search = self.query_one("#search", Input)
        search.add_class("open")
        search.focus()

    def action_close_search(self) -> None:
        """Clear the search and close it."""
        search = self.query_one("#search", Input)
        search.value = ""
        search.remove_class("open")
        self._focus_table()

    def action_show(self, tab: str) -> None:
        """Go to a tab."""
        self.query_one("#tabs", TabbedContent).active = tab
        self._focus_table()

    def action_move(self, step: int) -> None:
        """Move the cursor of the table that has the focus."""
        active = self.query_one("#tabs", TabbedContent).active
        if active not in ("findings-tab", "kernels-tab"):
            return
        table = self._table(active.removesuffix("-tab"))
        if step > 0:
            table.action_cursor_down()
        else:
            table.action_cursor_up()

    def _table(self, name: str) -> DataTable[Text]:
        return cast("DataTable[Text]", self.query_one(f"#{name}", DataTable))

    def _focus_table(self) -> None:
        active = self.query_one("#tabs", TabbedContent).active
        if active in ("findings-tab", "kernels-tab"):
            self.query_one(f"#{active.removesuffix('-tab')}", DataTable).focus()
