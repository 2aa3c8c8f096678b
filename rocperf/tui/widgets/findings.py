"""The table of findings, the one that could save most first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.widgets import DataTable

from rocperf.engine.accepted import Acceptance, covering
from rocperf.model import Completed, Outcome, RankedFinding, Severity
from rocperf.report.amounts import duration, share
from rocperf.report.terminal import shorten
from rocperf.tui.severity import STYLES, label
from rocperf.tui.widgets.detail import clip
from rocperf.tui.widgets.keys import READ, TABLE_KEYS

#: Characters of a subject and of a title. A choice of ours: severity, saving, subject and the
#: start of the rule fit in 80 cells; the detail has all of them in full.
MOST_SUBJECT, MOST_TITLE = 22, 200


def ranked_findings(outcomes: Sequence[Outcome]) -> list[RankedFinding]:
    """Return every finding, the severest and costliest first."""
    found = [f for o in outcomes if isinstance(o, Completed) for f in o.findings]
    return sorted(
        found,
        key=lambda r: (
            -r.severity,
            -(r.finding.saves_ns or 0),
            r.finding.rule,
            r.finding.subject.name,
        ),
    )


class FindingsTable(DataTable[Text]):
    """One row a finding; its key is the finding's number in `findings`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        READ,
        *TABLE_KEYS,
        Binding("g", "scroll_top", show=False),
        Binding("G", "scroll_bottom", show=False),
    ]

    def __init__(self) -> None:
        super().__init__(id="findings", cursor_type="row")
        self._kept: dict[int, Acceptance] = {}

    def acceptance(self, number: int) -> Acceptance | None:
        """Return why a finding is accepted; None when it is not."""
        return self._kept.get(number)

    def on_mount(self) -> None:
        """Name the columns."""
        self.add_columns("severity", "saves", "subject", "rule", "title")

    def show(
        self,
        findings: Sequence[RankedFinding],
        short_names: Mapping[str, str],
        needle: str,
        acceptances: Sequence[Acceptance] = (),
        least: Severity = Severity.INFO,
    ) -> None:
        """Show the findings whose rule, subject or title holds the needle.

        Parameters
        ----------
        findings
            All of them, ranked.
        short_names
            Full kernel names to those shown.
        needle
            Text searched for, in any case; empty for all.
        acceptances
            Findings that somebody left as they are: they come last.
        least
            Severity from which findings are shown.
        """
        self._kept = {
            number: kept
            for number, ranked in enumerate(findings)
            if (kept := covering(acceptances, ranked.finding))
        }
        at = self.cursor_row
        self.clear()
        order = sorted(range(len(findings)), key=lambda number: number in self._kept)
        for number, ranked in ((each, findings[each]) for each in order):
            finding = ranked.finding
            if ranked.severity < least:
                continue
            title = shorten(finding.title, finding, dict(short_names))
            subject = short_names.get(finding.subject.name, finding.subject.name)
            searched = f"{finding.rule}\n{finding.subject.name}\n{subject}\n{title}"
            if needle.lower() not in searched.lower():
                continue
            saves = "–" if finding.saves_ns is None else duration(finding.saves_ns)
            if ranked.share is not None:
                saves += f" {share(ranked.share)}"
            self.add_row(
                Text("accepted", "dim")
                if number in self._kept
                else Text(label(ranked.severity), STYLES[ranked.severity]),
                Text(saves),
                Text(clip(subject, MOST_SUBJECT)),
                Text(clip(finding.rule, MOST_TITLE)),
                Text(clip(title, MOST_TITLE)),
                key=str(number),
            )
        self.move_cursor(row=min(at, max(self.row_count - 1, 0)))
