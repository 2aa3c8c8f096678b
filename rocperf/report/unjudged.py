"""What could not be judged, and the commands that would let it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rocperf.model import Failed, Outcome, Skipped
from rocperf.report.command_lines import wrap_command
from rocperf.report.lines import wrap

#: Analyses that a command names; for more it collects what all of them need. A choice of ours.
MOST_FOR = 4
_LACKING = re.compile(r"\(not available on (gfx\w+(?:, gfx\w+)*)\)")


def unjudged_lines(outcomes: Sequence[Outcome], width: int, *, verbose: bool) -> list[str]:
    """Return a paragraph on what could not be judged; empty when everything could.

    Parameters
    ----------
    outcomes
        Of every analysis.
    width
        Cells of a line.
    verbose
        Whether to say what others than rocperf have to collect, and how.
    """
    lines: list[str] = []
    collecting: dict[str, list[str]] = {}
    elsewhere: list[str] = []
    never: dict[str, list[str]] = {}
    for skipped in alike(outcomes):
        names, command = skipped.analysis.replace(" ", ""), skipped.command or ""
        ours = command.startswith("rocperf collect ")
        if command and not ours and not verbose:
            elsewhere.append(skipped.analysis)
            continue
        if not verbose and (target := lacking_target(skipped)) is not None:
            never.setdefault(target, []).append(skipped.analysis)
            continue
        text = f"{skipped.analysis}: needs {'; '.join(skipped.missing)}"
        lines += wrap(text, width, "  ", "    ")
        if ours:
            # One command for all, unless it names what it is for in some other way.
            key = command.replace(f"--for {names} ", "--for \0 ", 1)
            collecting.setdefault(key, []).append(names)
        elif command:
            lines += wrap_command(command, width, "    $ ", "      ")
    if elsewhere:
        text = f"{', '.join(elsewhere)}: needs what rocperf collect does not record (-v says how)"
        lines += wrap(text, width, "  ", "    ")
    for target, those in never.items():
        text = f"{', '.join(those)}: needs counters that {target} does not have (-v names them)"
        lines += wrap(text, width, "  ", "    ")
    for outcome in outcomes:
        if isinstance(outcome, Failed):
            text = f"{outcome.analysis}: failed: {outcome.error}"
            lines += wrap(text, width, "  ", "    ")
    if collecting:
        lines += ["", "To collect what is needed:"]
    for command, those in collecting.items():
        some = sum(name.count(",") + 1 for name in those) <= MOST_FOR
        command = command.replace("--for \0 ", f"--for {','.join(those)} " if some else "", 1)
        lines += wrap_command(command, width, "  $ ", "    ")
    return ["", "Could not be judged:", *lines] if lines else []


def lacking_target(skipped: Skipped) -> str | None:
    """Name the GPU that lacks counters of an analysis, so that no collecting lets it judge."""
    for text in skipped.missing:
        found = _LACKING.search(text)
        if found and " or " not in text:  # else the other way may still be open
            return found.group(1)
    return None


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
