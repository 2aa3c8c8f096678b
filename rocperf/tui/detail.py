"""The texts of the detail and of what could not be judged; plain, never markup."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from rocperf.model import Failed, Measure, RankedFinding, Skipped
from rocperf.report.visible import visible

#: Characters of a title that the detail shows; evidence has the whole. A choice of ours.
MOST_TITLE = 600


def detail_text(ranked: RankedFinding) -> Text:
    """Return what, why, evidence and advice of a finding."""
    finding = ranked.finding
    lines = [
        finding.title[:MOST_TITLE],
        "",
        f"→ {finding.advice}",
        "",
        f"Why this bound: {finding.reasoning}",
        f"Confidence: {finding.confidence}",
        *(f"  doubt: {doubt}" for doubt in finding.doubts),
        "",
    ]
    for item in finding.evidence:
        if isinstance(item, Measure):
            value = f"{item.value:,.6g}" if isinstance(item.value, int | float) else item.value
            limit = "" if item.limit is None else f"   (limit {item.limit:,.6g})"
            lines.append(f"{item.name:<42} {value} {item.unit}{limit}")
        else:
            lines.append(f"ask again, {item.label}: {' '.join(item.sql.split())}")
    if finding.command:
        lines += ["", f"Next: {finding.command}"]
    return Text("\n".join(visible(line) for line in lines))


def unjudged_text(outcomes: Sequence[Skipped | Failed]) -> Text:
    """Return one paragraph for each analysis that could not judge, with what to do."""
    if not outcomes:
        return Text("Every analysis could judge this profile.")
    lines: list[str] = []
    for outcome in outcomes:
        if isinstance(outcome, Skipped):
            lines.append(f"{outcome.analysis}: needs {'; '.join(outcome.missing)}")
            if outcome.command:
                lines.append(f"    $ {outcome.command}")
        else:
            lines.append(f"{outcome.analysis}: failed: {outcome.error}")
    return Text("\n".join(visible(line) for line in lines))
