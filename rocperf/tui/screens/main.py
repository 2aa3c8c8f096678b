"""The first screen: findings with their detail, kernels by time, what could not be judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.widgets import Footer, Header, Input, Static, TabbedContent, TabPane
from textual_fastdatatable import DataTable as FastDataTable

from rocperf.engine import Stop, accepted
from rocperf.errors import RocperfError
from rocperf.model import Completed, Outcome, Query, RankedFinding
from rocperf.report.visible import visible
from rocperf.tui import lists, messages, queries, rows
from rocperf.tui.screens.finding_actions import FindingActions
from rocperf.tui.screens.lists import ListsScreen
from rocperf.tui.screens.query import QueryScreen
from rocperf.tui.screens.timeline import TimelineScreen
from rocperf.tui.widgets.detail import clip, detail_text
from rocperf.tui.widgets.findings import FindingsTable, ranked_findings
from rocperf.tui.widgets.kernels import KernelsPane, kernel_cells
from rocperf.tui.widgets.reading import Reading
from rocperf.tui.widgets.summary import summary_text
from rocperf.tui.widgets.tabs import KeyedTabs
from rocperf.tui.widgets.unjudged import unjudged_text

TABS = ("findings-tab", "kernels-tab", "unjudged-tab")


class MainScreen(FindingActions):
    """The screen over one profile.

    Parameters
    ----------
    path, outcomes, load, region
        As for `rocperf.tui.run_view`; `load` has its stop already.
    stop
        Asked for when the screen is left.
    """

    #: Cells from which the detail stands beside the findings. A choice of ours: 60 for each.
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]  # noqa: RUF012  # Textual's own
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "back(True)", "Back/Quit"),
        Binding("escape", "back(False)", "Back", show=False),
        Binding("slash", "search", "Search"),
        Binding("tab", "step(1)", "Next tab", priority=True),
        Binding("shift+tab", "step(-1)", "Previous tab", show=False, priority=True),
        Binding("1", "show('findings-tab')", "Findings", show=False),
        Binding("2", "show('kernels-tab')", "Kernels", show=False),
        Binding("3", "show('unjudged-tab')", "Not judged", show=False),
        Binding("4", "query", "Query"),
        Binding("5", "timeline", "Timeline"),
        Binding("6", "lists('copies')", "Copies", show=False),
        Binding("7", "lists('runs')", "Runs", show=False),
        Binding("d", "dispatches", "Dispatches"),
        Binding("question_mark", "app.help", "Help"),
        *FindingActions.FINDING_BINDINGS,
    ]

    def __init__(
        self,
        path: Path,
        outcomes: Sequence[Outcome] | None,
        load: Callable[[], Sequence[Outcome]],
        region: str | None = None,
        stop: Stop | None = None,
    ) -> None:
        super().__init__()
        self._path = path
        self._given = outcomes
        self._load = load
        self._region = region
        self._stop = stop
        # What is known so far; until then, or in its stead, a sentence.
        self._outcomes: Sequence[Outcome] | str = "Analysing…"
        self._notes: Sequence[tuple[str, str, int]] | str = "Reading…"
        self._ranked: list[RankedFinding] = []
        self._at = 0
        self._overview: queries.Overview | None = None
        self._needle = ""
        self._history: list[str] = []

    def compose(self) -> ComposeResult:
        """Lay the screen out."""
        yield Header()
        yield Static("Reading…", id="summary", markup=False)
        yield Input(
            placeholder="search: enter keeps it, escape clears it", id="search", compact=True
        )
        with KeyedTabs(id="tabs"):
            with TabPane("1 Findings", id=TABS[0]), Container(id="findings-panes"):
                yield FindingsTable()
                yield Reading("Analysing…", id="detail")
            with TabPane("2 Kernels", id=TABS[1]):
                yield KernelsPane()
            with TabPane("3 Not judged, data notes", id=TABS[2]):
                yield Reading("Analysing…", id="unjudged")
        yield Footer()

    def on_mount(self) -> None:
        """Start what takes time behind the screen."""
        self.query_one(FindingsTable).focus()
        self._read_profile()
        self._analyse()

    # The two threads: each has a connection of its own, and posts what came of it.

    @work(thread=True)
    def _read_profile(self) -> None:
        try:
            overview = queries.overview(self._path, self._region, self._stop)
            self.post_message(messages.OverviewReady(overview, kernel_cells(overview.kernels)))
        except Exception as error:  # noqa: BLE001  # whatever it is, the screen says it
            self.post_message(messages.ReadingFailed(messages.explained(error)))

    @work(thread=True)
    def _analyse(self) -> None:
        try:
            outcomes = self._load() if self._given is None else self._given
            self.post_message(messages.OutcomesReady(outcomes))
        except Exception as error:  # noqa: BLE001  # whatever it is, the screen says it
            self.post_message(messages.AnalysingFailed(messages.explained(error)))

    @on(messages.OverviewReady)
    async def _show_overview(self, message: messages.OverviewReady) -> None:
        self._overview = message.overview
        self._notes = message.overview.summary.notes
        self.query_one("#summary", Static).update(summary_text(message.overview.summary))
        await self.query_one(KernelsPane).load(
            message.overview.kernels, message.cells, self._needle
        )
        self._paint_findings()
        self._paint_unjudged()

    @on(messages.OutcomesReady)
    def _show_outcomes(self, message: messages.OutcomesReady) -> None:
        self._outcomes = message.outcomes
        self._ranked = ranked_findings(message.outcomes)
        self._paint_findings()
        self._paint_unjudged()

    @on(messages.ReadingFailed)
    def _reading_failed(self, message: messages.ReadingFailed) -> None:
        self.query_one("#summary", Static).update(Text(visible(message.text)))
        self.query_one(KernelsPane).say(message.text)
        self._notes = message.text
        self._paint_unjudged()

    @on(messages.AnalysingFailed)
    def _analysing_failed(self, message: messages.AnalysingFailed) -> None:
        self._outcomes = message.text
        self.query_one("#detail", Reading).show(Text(visible(message.text)))
        self._paint_unjudged()

    def _paint_findings(self) -> None:
        if isinstance(self._outcomes, str):
            return
        names = self._overview.short_names if self._overview else {}
        table = self.query_one(FindingsTable)
        try:
            kept = accepted.read(accepted.place())
        except RocperfError as error:
            kept = ()
            self.say(messages.explained(error), wrong=True)
        table.show(self._ranked, names, self._needle, kept, self.least)
        if not table.row_count:
            self.query_one("#detail", Reading).show(Text(self._why_none(self._outcomes)))

    def _why_none(self, outcomes: Sequence[Outcome]) -> str:
        if self._ranked:
            return f"Nothing matches {'the filter (f)' if self.least else 'the search'}."
        judged = any(isinstance(outcome, Completed) for outcome in outcomes)
        why = "Nothing to report." if judged else "No analysis could judge this profile."
        return f"{why} Key 3 shows what could not be judged."

    def _paint_unjudged(self) -> None:
        self.query_one("#unjudged", Reading).show(unjudged_text(self._outcomes, self._notes))

    @on(FindingsTable.RowHighlighted, "#findings")
    def _show_detail(self, event: FindingsTable.RowHighlighted) -> None:
        if event.row_key.value is not None:
            names = self._overview.short_names if self._overview else {}
            summary = self._overview.summary if self._overview else None
            self._at = int(event.row_key.value)
            why = self.query_one(FindingsTable).acceptance(self._at)
            text = detail_text(self._ranked[self._at], names, summary, why)
            self.query_one("#detail", Reading).show(text)

    @property
    def chosen(self) -> RankedFinding | None:
        """The finding under the cursor."""
        known = self.query_one(FindingsTable).row_count and self._at < len(self._ranked)
        return self._ranked[self._at] if known else None

    def repaint(self) -> None:
        """Show the findings again."""
        self._paint_findings()

    def ask_rows(self, query: Query) -> None:
        """Open the screen of queries on one."""
        sql = query.sql.strip()
        self.owner.push_screen(QueryScreen(self._place, sql, query.params, self._history))

    def action_timeline(self) -> None:
        """Open the timeline on everything."""
        self.owner.push_screen(TimelineScreen(self._path, self._region))

    def action_place(self) -> None:
        """Open the timeline where the finding is."""
        if self.chosen is not None:
            subject = self.chosen.finding.subject
            self.owner.push_screen(TimelineScreen(self._path, self._region, subject))

    def action_lists(self, what: str) -> None:
        """Open the lists about copies and links, or about runs and the quality of the data."""
        title, questions = {
            "copies": ("Copies and communication", lists.COPIES),
            "runs": ("Runs and data quality", lists.RUNS),
        }[what]
        self.owner.push_screen(ListsScreen(self._place, title, questions))

    def action_dispatches(self) -> None:
        """Open the lists about the kernel under the cursor."""
        kernel = self.query_one(KernelsPane).chosen
        if kernel is not None:
            number, name = kernel
            screen = ListsScreen(self._place, clip(name, 120), lists.KERNEL, {"kernel": number})
            self.owner.push_screen(screen)

    @property
    def _place(self) -> rows.Place:
        return rows.Place(self._path, self._region)

    def action_query(self) -> None:
        """Open the screen of queries."""
        self.owner.push_screen(QueryScreen(self._place, history=self._history))

    @on(Input.Changed, "#search")
    async def _search(self, event: Input.Changed) -> None:
        self._needle = event.value
        self._paint_findings()
        await self.query_one(KernelsPane).search(event.value)

    @on(Input.Submitted, "#search")
    def _keep(self) -> None:
        self._focus_table()

    @on(TabbedContent.TabActivated)
    def _tab_changed(self) -> None:
        self.refresh_bindings()

    @on(FindingsTable.RowSelected, "#findings")
    def action_read(self) -> None:
        """Let the keys scroll the text under, or beside, the table."""
        pane = {TABS[0]: "#detail", TABS[1]: "#kernel-name"}.get(self._tab)
        if pane is not None:
            self.query_one(pane, Reading).focus()

    @on(FastDataTable.RowSelected)
    def _read_name(self) -> None:
        self.action_read()

    def action_search(self) -> None:
        """Open the search."""
        search = self.query_one("#search", Input)
        search.add_class("open")
        search.focus()

    async def action_back(self, leave: bool) -> None:
        """Go one step back: from a text to its table, out of a search, off the screen."""
        search = self.query_one("#search", Input)
        if isinstance(self.focused, Reading) and self._tab != TABS[2]:
            self._focus_table()
        elif search.has_class("open"):
            search.value = ""
            search.remove_class("open")
            self._focus_table()
        elif leave:
            await self.run_action("app.quit")

    def action_step(self, step: int) -> None:
        """Go to the next or previous tab."""
        self.action_show(TABS[(TABS.index(self._tab) + step) % len(TABS)])

    def action_show(self, tab: str) -> None:
        """Go to a tab."""
        self.query_one("#tabs", TabbedContent).active = tab
        self.call_after_refresh(self._focus_table)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer a search where there is something to search, and finding's keys by findings."""
        del parameters
        if action in ("rows", "place", "explain", "copy", "accept", "severer"):
            return self._tab == TABS[0]
        if action == "dispatches":
            return self._tab == TABS[1]
        return action != "search" or self._tab != TABS[2]

    @property
    def _tab(self) -> str:
        return self.query_one("#tabs", TabbedContent).active or TABS[0]

    def _focus_table(self) -> None:
        place = {TABS[0]: "#findings", TABS[1]: "#kernels", TABS[2]: "#unjudged"}[self._tab]
        for found in self.query(place):
            found.focus()
