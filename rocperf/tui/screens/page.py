"""The page of an analysis, rendered in place."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Markdown


class PageScreen(ModalScreen[None]):
    """Markdown to read; links in it lead nowhere, for a terminal has no other pages.

    Parameters
    ----------
    text
        The page.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,escape,e", "dismiss", "Back"),
        Binding("j", "scroll('down')", show=False),
        Binding("k", "scroll('up')", show=False),
        Binding("ctrl+d", "scroll('page_down')", show=False),
        Binding("ctrl+u", "scroll('page_up')", show=False),
        Binding("g", "scroll('home')", show=False),
        Binding("G", "scroll('end')", show=False),
    ]

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        """Show the page."""
        with VerticalScroll(id="page"):
            yield Markdown(self._text, open_links=False)

    def on_mount(self) -> None:
        """Let keys scroll it."""
        self.query_one("#page").focus()

    def action_scroll(self, where: str) -> None:
        """Scroll as a pager does."""
        page = self.query_one("#page", VerticalScroll)
        getattr(page, f"scroll_{where}")(animate=False)
