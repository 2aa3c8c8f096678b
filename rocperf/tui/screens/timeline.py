"""The timeline of one process: what ran when, on which queue, copy engine and thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Footer

from rocperf.engine import Stop
from rocperf.errors import RocperfError
from rocperf.model import Subject
from rocperf.profile import Profile, open_profile
from rocperf.report.amounts import count, duration
from rocperf.tui import messages, timeline
from rocperf.tui.widgets.detail import clip
from rocperf.tui.widgets.picture import Picture
from rocperf.tui.widgets.reading import Reading

#: Characters of a name below the picture. A choice of ours: five events stay within reach.
MOST_NAME = 160


@dataclass(frozen=True)
class Begun:
    """The process to show, and where to begin."""

    extent: timeline.Extent | None
    place: tuple[str, int, int] | None


class TimelineScreen(Screen[None]):
    """What ran when.

    Parameters
    ----------
    path, region
        The profile, and the roctx range to look inside of; None for everything.
    subject
        What to begin at; None to begin with everything.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,escape", "back", "Back"),
        Binding("question_mark", "app.help", "Help"),
    ]

    def __init__(self, path: Path, region: str | None, subject: Subject | None = None) -> None:
        super().__init__()
        self._path, self._region, self._subject = path, region, subject
        self._stop = Stop()
        self._asked = {"begin": 0, "cells": 0, "events": 0}

    def compose(self) -> ComposeResult:
        """Put the picture above what is under the cursor."""
        yield Picture()
        yield Reading("Reading…", id="under")
        yield Footer()

    def on_mount(self) -> None:
        """Find out what there is."""
        self.query_one(Picture).focus()

        def begin(profile: Profile) -> Begun:
            extent = timeline.extent_of(profile)
            if extent is None or self._subject is None:
                return Begun(extent, None)
            return Begun(extent, timeline.place_of(profile, extent.run, self._subject))

        self._put("begin", begin)

    def on_unmount(self) -> None:
        """End a question that still runs."""
        self._stop.now()

    def _put(self, what: str, question: Callable[[Profile], object]) -> None:
        """Ask behind the screen; what was asked before of the same kind is outdated."""
        self._asked[what] += 1
        self._ask(what, self._asked[what], question)

    @work(thread=True, group="timeline")
    def _ask(self, what: str, number: int, question: Callable[[Profile], object]) -> None:
        if number != self._asked[what]:
            return
        try:
            with (
                open_profile(self._path, region=self._region) as profile,
                self._stop.watching(profile.interrupt),
            ):
                found: object = question(profile)
        except RocperfError as error:
            found = error
        self.post_message(messages.Answered(what, number, found))

    @on(messages.Answered)
    def _show(self, message: messages.Answered) -> None:
        if message.number != self._asked[message.what]:
            return
        found, picture = message.found, self.query_one(Picture)
        if isinstance(found, RocperfError):
            self._say(messages.explained(found))
        elif isinstance(found, Begun):
            self._begin(found)
        elif message.what == "cells":
            picture.paint(found)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        else:
            self._say(str(found))

    def _begin(self, begun: Begun) -> None:
        if begun.extent is None:
            self._say(
                "Nothing here has a time: the profile holds no timed dispatch, copy or call. "
                "Key 3 of the first screen says what was odd while reading."
            )
            return
        picture = self.query_one(Picture)
        picture.begin(begun.extent)
        if begun.place is not None:
            picture.show_event(*begun.place)

    @on(Picture.Moved)
    def _moved(self, event: Picture.Moved) -> None:
        picture = self.query_one(Picture)
        if picture.extent is None or picture.lane_name is None:
            return
        run, window, lane, (start, end) = (
            picture.extent.run,
            picture.view,
            picture.lane_name,
            picture.span,
        )
        if event.window:
            self._put("cells", lambda profile: timeline.busy(profile, run, window))
        first = picture.extent.first_ns

        def told(profile: Profile) -> str:
            return _told(timeline.events_at(profile, run, lane, start, end).rows(), start, first)

        self._put("events", told)

    def _say(self, text: str) -> None:
        self.query_one(Reading).show(Text(text))

    def action_back(self) -> None:
        """Leave the screen: the one before is as it was."""
        self.dismiss()


def _told(rows: list[tuple[str, str, int, int, int]], at: int, first: int) -> str:
    """Say what a lane did at a time: the longest events there."""
    if not rows:
        return f"At {duration(at - first)}: nothing on this lane."
    lines = [f"At {duration(at - first)}: {count(rows[0][4], 'event')}, the longest:"]
    for what, _, start, end, _ in rows:
        when = f"{duration(end - start):>9} from {duration(start - first):>9}"
        lines.append(f"  {when}  {clip(what or '–', MOST_NAME)}")
    return "\n".join(lines)
