"""Findings as text for a terminal: one screen, then what could not be judged."""

from __future__ import annotations

import os
import shutil
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from rich.cells import cell_len, set_cell_size

from rocperf.model import Failed, Finding, Measure, Outcome, RankedFinding, Severity, Skipped
from rocperf.report.amounts import duration, share
from rocperf.report.visible import visible

if TYPE_CHECKING:
    from rocperf.pipeline import Result, Summary

#: Findings of the first screen. A choice of ours: with the header they fill 24 to 40 lines.
FIRST_SCREEN = 6
#: Bounds of the width that text is wrapped to, in cells. A choice of ours.
NARROWEST, WIDEST = 60, 120

_COLOURS = {
    Severity.CRITICAL: "1;31",
    Severity.MAJOR: "33",
    Severity.MINOR: "36",
    Severity.INFO: "2",
}


@dataclass(frozen=True)
class Look:
    """How text is laid out: width in cells, colour, how much."""

    width: int = 80
    colour: bool = False
    everything: bool = False
    verbose: bool = False

    @classmethod
    def of(cls, stream: TextIO, *, everything: bool = False, verbose: bool = False) -> Look:
        """Fit a stream: its width when it is a terminal, colour unless ``NO_COLOR`` is set."""
        live = stream.isatty()
        columns = shutil.get_terminal_size((80, 24)).columns if live else 80
        return cls(
            width=min(max(columns, NARROWEST), WIDEST),
            colour=live and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb",
            everything=everything,
            verbose=verbose,
        )

    def paint(self, text: str, code: str) -> str:
        """Colour a text where colour is wanted; it never carries meaning alone."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text


def render_text(result: Result, look: Look | None = None) -> str:
    """Return the report.

    Parameters
    ----------
    result
        What `rocperf.pipeline.analyze` returned.
    look
        Width, colour and amount.
    """
    look = look or Look()
    lines = [*_header(result.summary, look), "", *_findings(result, look)]
    lines += _unjudged(result.outcomes, look)
    lines += _notes(result.summary, look)
    return "\n".join(lines) + "\n"


def _header(summary: Summary, look: Look) -> list[str]:
    gpus = ", ".join(summary.gpus) or "GPU unknown"
    runs = f"{summary.runs} run{'s' if summary.runs != 1 else ''}"
    if summary.counter_runs:
        runs += f" ({summary.counter_runs} with counters)"
    first = f"{summary.path} · {gpus} · {runs}"
    facts: list[str] = []
    if summary.region:
        facts.append(f"inside {summary.region}")
    if summary.wall_ns is not None and not summary.serialised:
        facts.append(f"wall {duration(summary.wall_ns)}")
    if summary.kernel_ns is not None:
        facts.append(f"kernels {duration(summary.kernel_ns)}")
    facts.append(f"{summary.dispatches:,} dispatches of {summary.kernels:,} kernels")
    if summary.copies:
        facts.append(f"{summary.copies:,} copies")
    lines = [look.paint(line, "1") for line in _wrap(first, look.width)]
    lines += _wrap(" · ".join(facts), look.width)
    if summary.serialised:
        text = "No timing run: times are of a counter run, which runs one kernel at a time."
        lines += _wrap(text, look.width)
    return lines


def _findings(result: Result, look: Look) -> list[str]:
    findings = result.findings
    if not findings:
        judged = [o for o in result.outcomes if not isinstance(o, Skipped | Failed)]
        if not judged:
            return ["No analysis could judge this profile."]
        names = ", ".join(result.titles.get(o.analysis, o.analysis) for o in judged)
        return _wrap(f"Nothing to report from {len(judged)} analyses: {names}.", look.width)
    shown = findings if look.everything else findings[:FIRST_SCREEN]
    lines: list[str] = []
    for number, ranked in enumerate(shown, 1):
        lines += [*_finding(number, ranked, result, look), ""]
    if len(shown) < len(findings):
        lines += [f"… and {len(findings) - len(shown)} more: add --all", ""]
    return lines[:-1]


def _finding(number: int, ranked: RankedFinding, result: Result, look: Look) -> list[str]:
    finding = ranked.finding
    saving = "saving not bounded"
    if finding.saves_ns is not None:
        part = f", {share(ranked.share)}" if ranked.share is not None else ""
        saving = f"saves at most {duration(finding.saves_ns)}{part}"
    word = ranked.severity.word.upper()
    head = f"{number:2}. {look.paint(word, _COLOURS[ranked.severity])} · {saving} · {finding.rule}"
    if finding.confidence != "high":
        head += f" · {finding.confidence} confidence"
    lines = [head]
    lines += _wrap(shorten(finding.title, finding, result.short_names), look.width, "    ")
    lines += _wrap(f"→ {finding.advice}", look.width, "    ", "      ")
    if look.verbose:
        lines += _evidence(finding, look)
    return lines


def _evidence(finding: Finding, look: Look) -> list[str]:
    lines = _wrap(f"why this bound: {finding.reasoning}", look.width, "      ")
    for doubt in finding.doubts:
        lines += _wrap(f"doubt: {doubt}", look.width, "      ")
    for item in finding.evidence:
        if isinstance(item, Measure):
            value = f"{item.value:,.6g}" if isinstance(item.value, int | float) else item.value
            limit = f" (limit {item.limit:,.6g})" if item.limit is not None else ""
            lines += _wrap(f"{item.name}: {value} {item.unit}{limit}", look.width, "      ")
        else:
            lines += _wrap(f"ask again: {item.label} (SQL in --format json)", look.width, "      ")
    if finding.command:
        lines += _wrap(f"next: {finding.command}", look.width, "      ")
    return lines


def _unjudged(outcomes: tuple[Outcome, ...], look: Look) -> list[str]:
    lines: list[str] = []
    for outcome in outcomes:
        if isinstance(outcome, Skipped):
            text = f"{outcome.analysis}: needs {'; '.join(outcome.missing)}"
            lines += _wrap(text, look.width, "  ", "    ")
            if outcome.command:
                lines += _wrap(outcome.command, look.width, "    $ ", "      ")
        elif isinstance(outcome, Failed):
            text = f"{outcome.analysis}: failed: {outcome.error}"
            lines += _wrap(text, look.width, "  ", "    ")
    return ["", "Could not be judged:", *lines] if lines else []


def _notes(summary: Summary, look: Look) -> list[str]:
    if not summary.notes:
        return []
    lines = ["", f"Data quality: {len(summary.notes)} note{'s' if len(summary.notes) > 1 else ''}"]
    shown = summary.notes if look.everything or look.verbose else summary.notes[:3]
    for severity, message, _ in shown:
        lines += _wrap(f"{severity}: {message}", look.width, "  ", "    ")
    if len(shown) < len(summary.notes):
        lines.append("  … add -v for all")
    return lines


def shorten(text: str, finding: Finding, short_names: dict[str, str]) -> str:
    """Put a kernel's short name where a title has its full one."""
    name = finding.subject.name
    if finding.subject.kind == "kernel" and name in short_names:
        return text.replace(name, short_names[name])
    return text


def _wrap(text: str, width: int, first: str = "", rest: str | None = None) -> list[str]:
    """Break a text into lines of at most `width` cells, showing control characters."""
    safe = visible(text)
    rest = first if rest is None else rest
    lines = textwrap.wrap(
        safe, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    )
    fitted: list[str] = []
    for line in lines or [first]:
        remaining = line
        while cell_len(remaining) > width:  # wide characters count two cells
            head = set_cell_size(remaining, width).rstrip()
            fitted.append(head)
            remaining = rest + remaining[len(head) :]
        fitted.append(remaining)
    return fitted
