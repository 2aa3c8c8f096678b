"""The page of an analysis, rendered in place."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Markdown

from rocperf.tui.widgets.reading import Pager


class PageScreen(ModalScreen[None]):
    """Markdown to read; links in it lead nowhere, for a terminal has no other pages.

    Parameters
    ----------
    text
        The page.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,escape,e", "dismiss", "Back"),
    ]

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        """Show the page."""
        with Pager(id="page"):
            yield Markdown(self._text, open_links=False)

    def on_mount(self) -> None:
        """Let keys scroll it."""
        self.query_one("#page").focus()
