"""A pane of plain text to read, with the keys of a pager."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static


class Pager(VerticalScroll):
    """What scrolls by the keys of a pager."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", show=False),
        Binding("k", "scroll_up", show=False),
        Binding("ctrl+d", "page_down", show=False),
        Binding("ctrl+u", "page_up", show=False),
        Binding("g", "scroll_home", show=False),
        Binding("G", "scroll_end", show=False),
    ]


class Reading(Pager):
    """Text that scrolls. It is shown letter by letter: never as markup.

    Parameters
    ----------
    text
        What it shows at first.
    id
        Of the pane; the text within is ``<id>-text``.
    """

    def __init__(self, text: str, *, id: str) -> None:  # noqa: A002  # Textual's word
        super().__init__(id=id)
        self._first = text

    def compose(self) -> ComposeResult:
        """Hold one text."""
        yield Static(Text(self._first), id=f"{self.id}-text", markup=False)

    def show(self, text: Text) -> None:
        """Show another text, from its top."""
        self.query_one(Static).update(text)
        self.scroll_home(animate=False)
