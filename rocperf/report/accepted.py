"""What a report says of findings that somebody accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocperf.report.amounts import count
from rocperf.report.lines import wrap

if TYPE_CHECKING:
    from rocperf.pipeline import Result
    from rocperf.report.terminal import Look


def accepted_lines(result: Result, look: Look) -> list[str]:
    """Count accepted findings, or list them with their reasons where everything is wanted."""
    found = result.accepted
    if not found:
        return []
    number = count(len(found), "finding")
    if not look.everything:
        are = "is" if len(found) == 1 else "are"
        return [
            "",
            *wrap(f"{number} {are} accepted in .rocperf.toml: --all lists them", look.width),
        ]
    lines = ["", "Accepted in .rocperf.toml:"]
    for ranked, why in found:
        subject = result.short_names.get(ranked.finding.subject.name, ranked.finding.subject.name)
        when = f" ({why.date})" if why.date else ""
        text = f"{ranked.finding.rule}: {subject}: {why.reason}{when}"
        lines += wrap(text, look.width, "  ", "    ")
    return lines
