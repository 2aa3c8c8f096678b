"""The picture of a timeline: a row a lane, a column a stretch of time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from rocperf.report.amounts import duration
from rocperf.tui.timeline import Extent, Window, whole
from rocperf.tui.widgets.detail import clip

#: Cells for the name of a lane. A choice of ours: the longest that rocperf makes itself fit.
NAMES = 24
#: How full a cell is, in eighths; what is not empty has a mark, however short.
LEVELS = " ▁▂▃▄▅▆▇█"
#: Rows before the first lane.
HEAD = 1


class Picture(Widget, can_focus=True):
    """Lanes over time, with a cursor of one cell."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("h,left", "step(-1)", show=False),
        Binding("l,right", "step(1)", show=False),
        Binding("H,shift+left", "pan(-0.5)", show=False),
        Binding("L,shift+right", "pan(0.5)", show=False),
        Binding("j,down", "lane(1)", show=False),
        Binding("k,up", "lane(-1)", show=False),
        Binding("plus,equals_sign,enter", "zoom(0.5)", "Closer"),
        Binding("minus", "zoom(2.0)", "Wider"),
        Binding("0", "everything", "Everything"),
    ]

    class Moved(Message):
        """The window or the cursor is elsewhere; `window` says whether the window is."""

        def __init__(self, *, window: bool) -> None:
            super().__init__()
            self.window = window

    def __init__(self) -> None:
        super().__init__(id="picture")
        self.extent: Extent | None = None
        self.view = Window(0, 1, 1)
        self.lane, self.cell = 0, 0
        self._full: Mapping[str, Mapping[int, float]] = {}
        self._top = 0

    @property
    def cells(self) -> int:
        """How many stretches of time fit beside the names."""
        return max(self.size.width - NAMES, 1)

    @property
    def lane_name(self) -> str | None:
        """The lane under the cursor."""
        return self.extent.lanes[self.lane].name if self.extent else None

    @property
    def span(self) -> tuple[int, int]:
        """First nanosecond of the cell under the cursor, and of the one after it."""
        start = self.view.from_ns + self.cell * self.view.step_ns
        return start, start + self.view.step_ns

    def begin(self, extent: Extent) -> None:
        """Show everything that a process did."""
        self.extent = extent
        self.action_everything()

    def paint(self, full: Mapping[str, Mapping[int, float]]) -> None:
        """Take how full each cell of each lane is."""
        self._full = full
        self.refresh()

    def show_event(self, lane: str, start_ns: int, end_ns: int) -> None:
        """Put one event in the middle, a quarter of the picture long."""
        if self.extent is None:
            return
        names = [each.name for each in self.extent.lanes]
        self.lane = names.index(lane) if lane in names else 0
        step = max(1, -(-(end_ns - start_ns) * 4 // self.cells))
        self.cell = self.cells // 2
        middle = (start_ns + end_ns) // 2
        self._go(Window(middle - step * self.cell, step, self.cells))

    def on_resize(self) -> None:
        """Keep what is seen when the size changes."""
        if self.extent is not None and self.view.cells != self.cells:
            step = max(1, -(-(self.view.to_ns - self.view.from_ns) // self.cells))
            self.cell = min(self.cell, self.cells - 1)
            self._go(Window(self.view.from_ns, step, self.cells))

    def action_step(self, cells: int) -> None:
        """Move the cursor; at an edge the window goes with it."""
        wanted = self.cell + cells
        self.cell = min(max(wanted, 0), self.cells - 1)
        if wanted != self.cell:
            self._go(self.view.moved(wanted - self.cell))
        else:
            self._stay()

    def action_pan(self, part: float) -> None:
        """Move the window by a part of itself."""
        self._go(self.view.moved(round(self.cells * part)))

    def action_lane(self, lanes: int) -> None:
        """Go to another lane."""
        if self.extent is not None:
            self.lane = min(max(self.lane + lanes, 0), len(self.extent.lanes) - 1)
            self._stay()

    def action_zoom(self, by: float) -> None:
        """Look closer or wider; what is under the cursor stays there."""
        self._go(self.view.zoomed(by, self.cell))

    def action_everything(self) -> None:
        """Show everything."""
        if self.extent is not None:
            self._go(whole(self.extent, self.cells))

    def on_click(self, event: events.Click) -> None:
        """Put the cursor where it was clicked."""
        if self.extent is not None:
            self.lane = min(max(event.y - HEAD + self._top, 0), len(self.extent.lanes) - 1)
            self.cell = min(max(event.x - NAMES, 0), self.cells - 1)
            self._stay()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Look closer at what is under the pointer."""
        self.cell = min(max(event.x - NAMES, 0), self.cells - 1)
        self.action_zoom(0.5)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Look wider around what is under the pointer."""
        self.cell = min(max(event.x - NAMES, 0), self.cells - 1)
        self.action_zoom(2.0)

    def _go(self, window: Window) -> None:
        self.view = window
        self.refresh()
        self.post_message(self.Moved(window=True))

    def _stay(self) -> None:
        self.refresh()
        self.post_message(self.Moved(window=False))

    def render_line(self, y: int) -> Strip:
        """Draw the ruler, or one lane."""
        # Without colour Textual goes over every style, so that a strip without one ends the screen.
        if self.extent is None:
            return Strip.blank(self.size.width, self.rich_style)
        room = max(self.size.height - HEAD, 1)
        self._top = min(max(self._top, self.lane - room + 1), self.lane)
        style = self.rich_style
        if y < HEAD:
            return Strip([Segment(self._ruler(self.extent), style)]).adjust_cell_length(
                self.size.width, style
            )
        number = y - HEAD + self._top
        if number >= len(self.extent.lanes):
            return Strip.blank(self.size.width, style)
        lane = self.extent.lanes[number]
        here = number == self.lane
        name = clip(lane.label, NAMES - 2)
        parts = [Segment(("> " if here else "  "), style)]
        parts += Strip([Segment(name, style + Style(bold=here))]).adjust_cell_length(
            NAMES - 2, style
        )
        full = self._full.get(lane.name, {})
        drawn = "".join(_mark(full.get(cell)) for cell in range(self.cells))
        if here:
            at = style + Style(reverse=True)
            parts += [
                Segment(drawn[: self.cell], style),
                Segment(drawn[self.cell], at),
                Segment(drawn[self.cell + 1 :], style),
            ]
        else:
            parts.append(Segment(drawn, style))
        return Strip(parts).adjust_cell_length(self.size.width, style)

    def _ruler(self, extent: Extent) -> str:
        since = self.view.from_ns - extent.first_ns
        text = f"from {duration(since)}, {duration(self.view.step_ns)} a cell"
        return f"{text:<{self.size.width}}"


def _mark(part: float | None) -> str:
    """Return the mark of a part of 0 to 1; what is there at all shows."""
    return LEVELS[0] if part is None else LEVELS[max(1, min(round(part * 8), 8))]
