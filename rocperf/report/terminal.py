"""Findings as text for a terminal: one screen, then what could not be judged."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from rocperf.model import (
    SEVERITY_BOUNDS,
    Failed,
    Finding,
    Measure,
    RankedFinding,
    Severity,
    Skipped,
)
from rocperf.report.accepted import accepted_lines
from rocperf.report.amounts import NANOSECONDS, amount, count, duration, share
from rocperf.report.command_lines import wrap_command
from rocperf.report.lines import wrap as _wrap
from rocperf.report.unjudged import unjudged_lines

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
    header = [*_header(result.summary, look), *_spent(result, look)]
    lines = [*header, "", *_findings(result, look)]
    lines += accepted_lines(result, look)
    lines += unjudged_lines(result.outcomes, look.width, verbose=look.verbose)
    lines += _notes(result.summary, look)
    return "\n".join(lines) + "\n"


def _header(summary: Summary, look: Look) -> list[str]:
    gpus = ", ".join(summary.gpus) or "GPU unknown"
    runs = count(summary.runs, "run")
    if summary.counter_runs:
        runs += f" ({summary.counter_runs} with counters)"
    first = f"{summary.source or summary.path} · {gpus} · {runs}"
    facts: list[str] = []
    if summary.region:
        facts.append(f"inside {summary.region}")
    if summary.wall_ns is not None and not summary.serialised:
        facts.append(f"wall {duration(summary.wall_ns)}")
    if summary.kernel_ns is not None:
        facts.append(f"kernels {duration(summary.kernel_ns)}")
    of = f" of {count(summary.kernels, 'kernel')}" if summary.kernels else ""
    facts.append(count(summary.dispatches, "dispatch") + of)
    if summary.copies:
        facts.append(count(summary.copies, "copy"))
    lines = [look.paint(line, "1") for line in _wrap(first, look.width)]
    lines += _wrap(" · ".join(facts), look.width)
    if summary.serialised:
        text = "No timing run: times are of a counter run, which runs one kernel at a time."
        lines += _wrap(text, look.width)
    return lines


def _spent(result: Result, look: Look) -> list[str]:
    """Say where the wall time went, and how much of it the findings are about."""
    where, wall = result.summary.spent, result.summary.wall_ns
    if where is None or not wall:
        return []
    parts = {
        "computing": where.compute_ns,
        "communicating": where.communication_ns,
        "copying": where.copies_ns,
        "idle": where.idle_ns,
    }
    text = "of wall: " + " · ".join(
        f"{name} {share(ns / wall)}" for name, ns in parts.items() if ns
    )
    if result.covered_ns:
        text += f" · findings could save {share(result.covered_ns / wall)} at most"
    return _wrap(text, look.width)


def _findings(result: Result, look: Look) -> list[str]:
    findings = result.findings
    judged = [o for o in result.outcomes if not isinstance(o, Skipped | Failed)]
    if not findings:
        if not judged:
            return ["No analysis could judge this profile."]
        names = ", ".join(result.titles.get(o.analysis, o.analysis) for o in judged)
        those = "1 analysis" if len(judged) == 1 else f"{len(judged)} analyses"
        return _wrap(f"Nothing to report from {those}: {names}.", look.width)
    lines: list[str] = []
    timed = result.summary.wall_ns and not result.summary.serialised
    if timed and all(each.severity is Severity.INFO for each in findings):
        text = f"Nothing costs more than {SEVERITY_BOUNDS[0] * 100:.0f} % of the wall time"
        # A list of kernels claims nothing; idle time or copies without a bound may cost more.
        open_ended = any(
            each.finding.saves_ns is None
            and each.finding.subject.kind in ("gpu", "copy", "process")
            for each in findings
        )
        text += ", as far as it can be bounded." if open_ended else "."
        lines += [*_wrap(text, look.width), ""]
    groups = [(each,) for each in findings] if look.everything else one_cause(findings)
    shown = groups if look.everything else groups[:FIRST_SCREEN]
    for number, (first, *others) in enumerate(shown, 1):
        lines += _finding(number, first, result, look)
        for other in others:
            title = shorten(other.finding.title, other.finding, result.short_names)
            text = f"also {other.finding.rule}: {title}"
            lines += _wrap(text, look.width, "    ", "      ")
        lines.append("")
    rest = len(findings) - sum(map(len, shown))
    if rest:
        lines += [f"… and {rest} more: add --all", ""]
    return lines[:-1]


def one_cause(findings: Sequence[RankedFinding]) -> list[tuple[RankedFinding, ...]]:
    """Group findings that have one root cause, so that a screen says it once.

    Findings about the same copies, or about the idle time of the same GPU, are about the same
    time: the largest stands for them. Those about a kernel are apart, since each asks for an
    edit of its own; but a symptom goes with the costliest cause that was found.

    Parameters
    ----------
    findings
        Ranked, the first one first.

    Returns
    -------
    list of tuple
        Groups, ranked by their first.
    """
    causes: dict[tuple[str, str], RankedFinding] = {}
    for ranked in findings:
        if not ranked.finding.symptom and ranked.finding.saves_ns is not None:
            causes.setdefault(_subject(ranked), ranked)
    groups: dict[tuple[str, str], list[RankedFinding]] = {}
    for ranked in findings:
        cause = causes.get(_subject(ranked), ranked) if ranked.finding.symptom else ranked
        subject = ranked.finding.subject
        merged = subject.kind == "copy"
        key = _subject(ranked) if merged else (cause.finding.rule, subject.name)
        groups.setdefault(key, []).append(ranked)
    return [tuple(sorted(group, key=lambda r: r.finding.symptom)) for group in groups.values()]


def _subject(ranked: RankedFinding) -> tuple[str, str]:
    return ranked.finding.subject.kind, ranked.finding.subject.name


def _finding(number: int, ranked: RankedFinding, result: Result, look: Look) -> list[str]:
    finding = ranked.finding
    word = ranked.severity.word.upper()
    head = f"{number:2}. {word} · {saving(ranked, result.summary)} · {finding.rule}"
    first, *more = _wrap(head, look.width, rest="    ")
    lines = [first.replace(word, look.paint(word, _COLOURS[ranked.severity]), 1), *more]
    lines += _wrap(shorten(finding.title, finding, result.short_names), look.width, "    ")
    if ranked.severity is not Severity.INFO or look.everything or look.verbose:
        lines += _wrap(f"→ {finding.advice}", look.width, "    ", "      ")
    if finding.confidence != "high":
        doubts = finding.doubts if look.verbose else finding.doubts[:1]
        why = f": {'; '.join(doubts)}" if doubts else ""
        lines += _wrap(f"{finding.confidence} confidence{why}", look.width, "    ", "      ")
    if look.verbose:
        lines += _evidence(finding, look)
    return lines


def _evidence(finding: Finding, look: Look) -> list[str]:
    bound = "why no bound" if finding.saves_ns is None else "why this bound"
    lines = _wrap(f"{bound}: {finding.reasoning}", look.width, "      ")
    for item in finding.evidence:
        if isinstance(item, Measure):
            lines += _wrap(f"{item.name}: {measured(item)}", look.width, "      ")
        else:
            lines += _wrap(f"ask again: {item.label} (SQL in --format json)", look.width, "      ")
    if finding.command:
        lines += wrap_command(finding.command, look.width, "      next: $ ", "        ")
    return lines


def _notes(summary: Summary, look: Look) -> list[str]:
    # What is only told, such as a file that sums up others, is for those who ask for more.
    notes = [note for note in summary.notes if look.verbose or note[0] != "info"]
    if not notes:
        return []
    lines = ["", f"Data quality: {count(len(notes), 'note')}"]
    shown = notes if look.everything or look.verbose else notes[:3]
    for severity, message, _ in shown:
        lines += _wrap(f"{severity}: {message}", look.width, "  ", "    ")
    if len(shown) < len(notes):
        lines.append("  … add -v for all")
    return lines


def saving(ranked: RankedFinding, summary: Summary | None = None) -> str:
    """Say what fixing it could save, and of what that is a share; or that it has no bound."""
    saves = ranked.finding.saves_ns
    if saves is None:
        return "saving not bounded"
    part = ""
    if ranked.share is not None:
        serialised = summary is not None and (summary.serialised or not summary.wall_ns)
        of = "" if summary is None else " of kernel time" if serialised else " of wall"
        part = f", {share(ranked.share)}{of}"
    return f"saves at most {duration(saves)}{part}"


def measured(measure: Measure) -> str:
    """Write a measure's value with its unit, and what it is held against."""
    limit = ""
    if measure.limit is not None:
        unit = measure.unit if measure.unit in ("B", *NANOSECONDS) else ""
        limit = f" (limit {amount(measure.limit, unit)})"
    return f"{amount(measure.value, measure.unit)}{limit}"


def shorten(text: str, finding: Finding, short_names: dict[str, str]) -> str:
    """Put a kernel's short name where a title has its full one."""
    name = finding.subject.name
    if finding.subject.kind == "kernel" and name in short_names:
        return text.replace(name, short_names[name])
    return text
