"""The keys, and what the words of severity mean."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from rocperf.model import SEVERITY_BOUNDS, Severity
from rocperf.tui.severity import label
from rocperf.tui.widgets.reading import Reading

KEYS = (
    ("j k ↓ ↑", "move, or scroll the detail"),
    ("g G", "first, last"),
    ("ctrl+p", "every command by name, and themes"),
    ("ctrl+d ctrl+u", "a page down, up"),
    ("h l ← →", "scroll a table sideways"),
    ("tab shift+tab", "next, previous tab; 1 2 3 go to one"),
    ("enter", "read the detail of a finding"),
    ("/", "search findings and kernels; enter keeps it, escape clears it"),
    ("f", "severer findings only"),
    ("e", "explain: the page of the finding's analysis"),
    ("r", "the rows that a finding rests on, as a query"),
    ("c", "copy the finding's next command"),
    ("a", "accept the finding for a reason, or take that back"),
    ("4", "ask in SQL: ctrl+r runs it, ctrl+s writes a file"),
    ("5", "timeline: + - zoom, h l j k move, H L pan, 0 all"),
    ("t", "the finding's place on the timeline; q comes back"),
    ("6 7", "copies and links; runs and the quality of the data"),
    ("d", "on a kernel: its dispatches, durations and counters"),
    ("q escape", "back; q on a table quits"),
)


def help_text() -> str:
    """Return what the screen can do."""
    lines = ["Keys", *(f"  {key:<14} {what}" for key, what in KEYS), ""]
    lines.append("Severity: what fixing a finding could save at most, of the wall time")
    lines += [
        f"  {label(severity):<13}  from {bound * 100:g} %"
        for bound, severity in reversed(list(zip(SEVERITY_BOUNDS, list(Severity)[1:], strict=True)))
    ]
    lines.append(f"  {label(Severity.INFO):<13}  less, or the saving has no bound")
    return "\n".join(lines)


class HelpScreen(ModalScreen[None]):
    """Help over what is on the screen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,escape,question_mark", "dismiss", "Back"),
    ]

    def compose(self) -> ComposeResult:
        """Show one text."""
        yield Reading(help_text(), id="help")

    def on_mount(self) -> None:
        """Let keys scroll it."""
        self.query_one(Reading).focus()
