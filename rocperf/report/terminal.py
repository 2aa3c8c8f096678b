"""Findings as text for a terminal: one screen, then what could not be judged."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from rich.cells import cell_len, set_cell_size

from rocperf.model import (
    SEVERITY_BOUNDS,
    Failed,
    Finding,
    Measure,
    Outcome,
    RankedFinding,
    Severity,
    Skipped,
)
from rocperf.report.amounts import NANOSECONDS, amount, count, duration, share
from rocperf.report.command_lines import wrap_command
from rocperf.report.visible import visible

if TYPE_CHECKING:
    from rocperf.pipeline import Result, Summary

#: Findings of the first screen. A choice of ours: with the header they fill 24 to 40 lines.
FIRST_SCREEN = 6
#: Analyses that a command names; for more it collects what all of them need. A choice of ours.
MOST_FOR = 4
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
        lines += [f"Nothing costs more than {SEVERITY_BOUNDS[0] * 100:.0f} % of the wall time.", ""]
    groups = [(each,) for each in findings] if look.everything else one_cause(findings)
    shown = groups if look.everything else groups[:FIRST_SCREEN]
    for number, (first, *others) in enumerate(shown, 1):
        lines += _finding(number, first, result, look)
        for other in others:
            text = f"also {other.finding.rule}: {other.finding.title}"
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
    edit of its own.

    Parameters
    ----------
    findings
        Ranked, the first one first.

    Returns
    -------
    list of tuple
        Groups, ranked by their first.
    """
    groups: dict[tuple[str, str], list[RankedFinding]] = {}
    for ranked in findings:
        subject = ranked.finding.subject
        merged = subject.kind == "copy"
        key = (subject.kind, subject.name) if merged else (ranked.finding.rule, subject.name)
        groups.setdefault(key, []).append(ranked)
    return [tuple(group) for group in groups.values()]


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


def _unjudged(outcomes: tuple[Outcome, ...], look: Look) -> list[str]:
    lines: list[str] = []
    collecting: dict[str, list[str]] = {}
    for skipped in alike(outcomes):
        text = f"{skipped.analysis}: needs {'; '.join(skipped.missing)}"
        lines += _wrap(text, look.width, "  ", "    ")
        names, command = skipped.analysis.replace(" ", ""), skipped.command or ""
        if command.startswith("rocperf collect "):
            # One command for all, unless it names what it is for in some other way.
            key = command.replace(f"--for {names} ", "--for \0 ", 1)
            collecting.setdefault(key, []).append(names)
        elif command:
            lines += wrap_command(command, look.width, "    $ ", "      ")
    for outcome in outcomes:
        if isinstance(outcome, Failed):
            text = f"{outcome.analysis}: failed: {outcome.error}"
            lines += _wrap(text, look.width, "  ", "    ")
    if collecting:
        lines += ["", "To collect what is needed:"]
    for command, those in collecting.items():
        some = sum(name.count(",") + 1 for name in those) <= MOST_FOR
        command = command.replace("--for \0 ", f"--for {','.join(those)} " if some else "", 1)
        lines += wrap_command(command, look.width, "  $ ", "    ")
    return ["", "Could not be judged:", *lines] if lines else []


def alike(outcomes: Sequence[Outcome]) -> list[Skipped]:
    """Join analyses that lack the same, with one command for all of them.

    Returns
    -------
    list of Skipped
        Names are joined by commas, as ``rocperf collect --for`` takes them.
    """
    groups: dict[tuple[tuple[str, ...], str | None], list[str]] = {}
    for outcome in outcomes:
        if isinstance(outcome, Skipped):
            command = outcome.command
            if command is not None:
                command = command.replace(f"--for {outcome.analysis} ", "--for \0 ", 1)
            groups.setdefault((outcome.missing, command), []).append(outcome.analysis)
    return [
        Skipped(", ".join(names), missing, command and command.replace("\0", ",".join(names)))
        for (missing, command), names in groups.items()
    ]


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
