"""The text of one finding: what, why, evidence, what to do, what to run next."""

from __future__ import annotations

import math
from collections.abc import Mapping

from rich.text import Text

from rocperf.engine.accepted import Acceptance
from rocperf.model import Finding, Measure, Query, RankedFinding
from rocperf.pipeline import Summary
from rocperf.report.terminal import measured, saving, shorten
from rocperf.report.visible import visible
from rocperf.tui.severity import STYLES, label

#: Characters of a title, and of a subject's name, that the detail shows. A choice of ours: a
#: template instance can have a name of 10 kB, and evidence must stay within reach.
MOST_CHARACTERS = 600

#: Cells that the names of measures take at most before their values start. A choice of ours:
#: it leaves 40 of 80 for value, unit and limit.
WIDEST_NAME = 38
#: Cells of a bar. A choice of ours: it fits under the numbers on the narrowest screen.
BAR = 30


def clip(text: str, most: int) -> str:
    """Cut a text to `most` characters, and show that it was; escape what acts."""
    safe = visible(text[: most + 1])
    return safe if len(safe) <= most else safe[: most - 1] + "…"


def detail_text(
    ranked: RankedFinding,
    short_names: Mapping[str, str] | None = None,
    summary: Summary | None = None,
    acceptance: Acceptance | None = None,
) -> Text:
    """Return a finding in full.

    Parameters
    ----------
    ranked
        The finding.
    short_names
        Full kernel names to those that its title is to use.
    summary
        Of the profile, which says what a saving is a share of; None while it is being read.
    acceptance
        Why the finding is left as it is; None when it is not.
    """
    finding = ranked.finding
    text = Text()
    text.append(label(ranked.severity).upper(), STYLES[ranked.severity])
    text.append(f" · {saving(ranked, summary)} · {finding.confidence} confidence\n")
    if acceptance is not None:
        when = f" ({visible(acceptance.date)})" if acceptance.date else ""
        text.append(f"\naccepted{when}: {clip(acceptance.reason, MOST_CHARACTERS)}\n", "bold")
    title = shorten(finding.title, finding, dict(short_names or {}))
    _part(text, "What", clip(title, MOST_CHARACTERS))
    _part(text, "Do", visible(finding.advice))
    if finding.command:
        _part(text, "Next", f"$ {visible(finding.command)}")
    _part(text, "Why", visible(finding.reasoning))
    for doubt in finding.doubts:
        text.append(f"  doubt: {visible(doubt)}\n")
    _evidence(text, finding)
    subject = clip(finding.subject.name, MOST_CHARACTERS)
    _part(text, "About", f"{visible(finding.subject.kind)} {subject}")
    _part(text, "Rule", visible(finding.rule))
    return text


def bar(measure: Measure) -> str:
    """Draw a value against its limit: full cells up to the value, ``│`` where the limit is.

    Empty without a limit above zero, or for what is no number of at least zero.
    """
    value, limit = measure.value, measure.limit
    if isinstance(value, str) or limit is None or not (value >= 0 and limit > 0):
        return ""
    if not math.isfinite(value):
        return ""
    whole = max(value, limit)
    full, at = round(BAR * value / whole), round((BAR - 1) * limit / whole)
    cells = ["█" if n < full else "·" for n in range(BAR)]
    cells[at] = "│"
    return "".join(cells)


def _part(text: Text, heading: str, body: str) -> None:
    text.append(f"\n{heading}: ", "bold")
    text.append(f"{body}\n")


def _evidence(text: Text, finding: Finding) -> None:
    measures = [item for item in finding.evidence if isinstance(item, Measure)]
    queries = [item for item in finding.evidence if isinstance(item, Query)]
    if measures:
        text.append("\nEvidence\n", "bold")
    names = [visible(measure.name) for measure in measures]
    width = min(max(map(len, names), default=0), WIDEST_NAME)
    for name, measure in zip(names, measures, strict=True):
        text.append(f"  {name:<{width}}  {visible(measured(measure))}\n")
        if drawn := bar(measure):
            text.append(f"    {drawn}\n")
    for query in queries:
        text.append(f"\nAsk again, {visible(query.label)}: ", "bold")
        text.append(f"{visible(' '.join(query.sql.split()))}\n")
        for key, value in query.params.items():
            text.append(f"  ${visible(key)} = {clip(repr(value), MOST_CHARACTERS)}\n")
