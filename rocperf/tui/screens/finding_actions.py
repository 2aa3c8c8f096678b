"""What can be done with the finding under the cursor."""

from __future__ import annotations

import datetime
from abc import abstractmethod
from typing import ClassVar, cast

from textual import work
from textual.app import App
from textual.binding import Binding, BindingType
from textual.screen import Screen

from rocperf.engine import accepted
from rocperf.errors import RocperfError
from rocperf.model import Query, RankedFinding, Severity
from rocperf.report.pages import page_of
from rocperf.report.visible import visible
from rocperf.tui.messages import explained
from rocperf.tui.screens.asking import AskingScreen
from rocperf.tui.screens.page import PageScreen


class FindingActions(Screen[None]):
    """A screen with findings: `chosen` is the one under the cursor."""

    FINDING_BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "rows", "Rows"),
        Binding("t", "place", "Place on the timeline", show=False),
        Binding("e", "explain", "Explain"),
        Binding("c", "copy", "Copy command"),
        Binding("a", "accept", "Accept"),
        Binding("f", "severer", "Filter", show=False),
    ]
    least: Severity = Severity.INFO

    @property
    def owner(self) -> App[None]:
        """The application, with its type."""
        return cast("App[None]", self.app)  # pyright: ignore[reportUnknownMemberType]

    @property
    @abstractmethod
    def chosen(self) -> RankedFinding | None:
        """The finding under the cursor; None where there is none."""

    @abstractmethod
    def repaint(self) -> None:
        """Show the findings again, since a filter or an acceptance changed."""

    @abstractmethod
    def ask_rows(self, query: Query) -> None:
        """Open the screen of queries on one."""

    def say(self, text: str, *, wrong: bool = False) -> None:
        """Say something for a few seconds."""
        self.notify(visible(text), markup=False, severity="warning" if wrong else "information")

    def action_rows(self) -> None:
        """Show the rows that the finding rests on."""
        if self.chosen is None:
            return
        queries = [each for each in self.chosen.finding.evidence if isinstance(each, Query)]
        if queries:
            self.ask_rows(queries[0])
        else:
            self.say("this finding names no query: key 4 asks one of your own", wrong=True)

    def action_explain(self) -> None:
        """Show the page of the finding's analysis."""
        if self.chosen is None:
            return
        analysis = self.chosen.finding.rule.partition("/")[0]
        page = page_of(analysis)
        if page is None:
            self.say(f"{analysis} comes without a page; its plugin explains it", wrong=True)
        else:
            self.owner.push_screen(PageScreen(page))

    def action_copy(self) -> None:
        """Copy the finding's next command for a paste elsewhere."""
        if self.chosen is None:
            return
        command = self.chosen.finding.command
        if command:
            self.owner.copy_to_clipboard(visible(command))
            self.say(f"copied: {command}")
        else:
            self.say("there is no next command: what to do is an edit", wrong=True)

    def action_severer(self) -> None:
        """Show severer findings only; after the severest, all again."""
        grades = list(Severity)
        self.least = grades[(grades.index(self.least) + 1) % len(grades)]
        only = "all findings" if not self.least else f"{self.least.word} and worse"
        self.say(f"shown: {only}")
        self.repaint()

    @work
    async def action_accept(self) -> None:
        """Accept the finding for a reason, or take that back."""
        if self.chosen is None:
            return
        finding = self.chosen.finding
        path = accepted.place()
        try:
            if accepted.covering(accepted.read(path), finding):
                accepted.remove(path, finding)
                self.say(f"taken back in {path}")
            else:
                reason = await self.owner.push_screen_wait(
                    AskingScreen(f"Why may {visible(finding.rule)} stay? ({visible(str(path))})")
                )
                if not reason or not reason.strip():
                    return
                today = datetime.datetime.now().astimezone().date().isoformat()
                subject = finding.subject
                accepted.add(
                    path,
                    accepted.Acceptance(finding.rule, subject.kind, subject.name, reason, today),
                )
                self.say(f"accepted in {path}")
        except RocperfError as error:
            self.say(explained(error), wrong=True)
        self.repaint()
