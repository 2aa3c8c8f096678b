"""Progress and notes on standard error: one changing line on a terminal, nothing in a pipe."""

from __future__ import annotations

import sys
import time

from rocperf.report.visible import visible

#: Seconds between two paints of the progress line. A choice of ours: four a second is calm.
PAINT_EVERY_S = 0.25


class Progress:
    """A line that changes in place, and lines that stay.

    Parameters
    ----------
    quiet
        Say nothing at all.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._live = sys.stderr.isatty() and not quiet
        self._painted = 0.0
        self._width = 0

    def show(self, text: str) -> None:
        """Paint the changing line, at most four times a second."""
        now = time.monotonic()
        if not self._live or now - self._painted < PAINT_EVERY_S:
            return
        self._painted = now
        line = visible(text)[:100]
        sys.stderr.write("\r" + line.ljust(self._width))
        sys.stderr.flush()
        self._width = len(line)

    def clear(self) -> None:
        """Remove the changing line."""
        if self._live and self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()
            self._width = 0

    def say(self, text: str) -> None:
        """Print a line that stays."""
        if not self._quiet:
            self.clear()
            print(visible(text, newlines=True), file=sys.stderr)
