"""How fast the screen is, measured inside the application.

``python tests/benchmarks/screen.py PROFILE`` opens a profile whose outcomes are cached, without a
terminal, presses keys, and prints one line of JSON: milliseconds from the start of the application
(libraries imported) to its first paint and to the paint after its findings came, and from a key to
the next paint, as median, 95th percentile and longest.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from textual import events

from rocperf import pipeline, tui
from rocperf.tui import ViewApp, messages

KEYS = ("j", "j", "k", "G", "g", "2", "j", "G", "g", "1", "f", "f", "f", "f")
ROUNDS = 10


class Timed(ViewApp):
    """The application with a clock at its two ends."""

    CSS_PATH = Path(tui.__file__).with_name("app.tcss")  # beside its parent, not here

    def __init__(self, path: Path) -> None:
        super().__init__(path, None, lambda stop: pipeline.analyze(path, stop=stop).outcomes)
        self.began = time.perf_counter()
        self.paints: list[float] = []
        self.waits: list[float] = []
        self._key_at: float | None = None

    async def on_event(self, event: events.Event) -> None:
        """Note when a key comes."""
        if isinstance(event, events.Key) and self._key_at is None:
            self._key_at = time.perf_counter()
        await super().on_event(event)

    def _display(self, *arguments: Any) -> None:
        super()._display(*arguments)
        now = time.perf_counter()
        self.paints.append(now)
        if self._key_at is not None:
            self.waits.append(now - self._key_at)
            self._key_at = None


async def measure(path: Path) -> dict[str, float]:
    """Open the screen on a profile and press keys."""
    app = Timed(path)
    found: list[float] = []
    async with app.run_test(size=(160, 48), message_hook=_noting(found)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        shown = next((at for at in app.paints if found and at > found[0]), float("nan"))
        for key in KEYS * ROUNDS:
            await pilot.press(key)
            await pilot.pause(0.02)
    waits = sorted(1e3 * each for each in app.waits)
    return {
        "first_paint_ms": 1e3 * (app.paints[0] - app.began),
        "findings_ms": 1e3 * (shown - app.began),
        "keys": len(waits),
        "key_median_ms": statistics.median(waits),
        "key_p95_ms": waits[int(0.95 * (len(waits) - 1))],
        "key_longest_ms": waits[-1],
    }


def _noting(found: list[float]) -> Any:
    def note(message: object) -> None:
        if isinstance(message, messages.OutcomesReady):
            found.append(time.perf_counter())

    return note


def main(arguments: list[str]) -> int:
    """Measure and print."""
    path = Path(arguments[0])
    pipeline.analyze(path)  # what it finds is cached beside the profile
    facts = asyncio.run(measure(path))
    print(json.dumps({name: round(value, 1) for name, value in facts.items()}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
