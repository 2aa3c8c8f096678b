"""Tabs that only keys and clicks on a tab choose."""

from __future__ import annotations

from textual import on
from textual.widgets import TabbedContent, TabPane


class KeyedTabs(TabbedContent):
    """Tabs that stay where they were sent.

    Textual goes to a tab when something within it gets the focus. That message arrives late:
    with a key pressed fast it would call the screen back to the tab just left.
    """

    @on(TabPane.Focused)
    def _stay(self, event: TabPane.Focused) -> None:
        event.prevent_default()
        event.stop()
