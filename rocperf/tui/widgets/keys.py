"""Keys of vi and of pagers, which every list and every text takes."""

from __future__ import annotations

from textual.binding import Binding

#: Of a table. Where its ends are is for each kind of table to say: ``g`` and ``G`` go there.
TABLE_KEYS = (
    Binding("j", "cursor_down", show=False),
    Binding("k", "cursor_up", show=False),
    Binding("h", "scroll_left", show=False),
    Binding("l", "scroll_right", show=False),
    Binding("ctrl+d", "page_down", show=False),
    Binding("ctrl+u", "page_up", show=False),
)
READ = Binding("enter", "select_cursor", "Read")
