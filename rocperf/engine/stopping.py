"""Ending an analysis from another thread, as the screen does when it is left."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

from rocperf.errors import InterruptedRunError

#: Seconds between two attempts. A choice of ours: an attempt that falls between two queries is
#: lost, and a person who left waits for the next.
AGAIN_S = 0.05


class Stop:
    """Ends what is watched, from any thread, until nothing is watched any more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._enders: list[Callable[[], None]] = []
        self._asked = threading.Event()

    @property
    def asked(self) -> bool:
        """Whether the end was asked for."""
        return self._asked.is_set()

    def check(self) -> None:
        """Raise `InterruptedRunError` once the end was asked for."""
        if self.asked:
            raise InterruptedRunError("the analysis was stopped")

    @contextmanager
    def watching(self, end: Callable[[], None]) -> Generator[None]:
        """Have something ended when the end is asked for while the block runs.

        Parameters
        ----------
        end
            Ends it, from another thread. Called again and again, never after the block.
        """
        self.check()
        with self._lock:
            self._enders.append(end)
        try:
            yield
        finally:
            with self._lock:
                self._enders.remove(end)

    def now(self) -> None:
        """Ask for the end; returns at once."""
        if not self.asked:
            self._asked.set()
            threading.Thread(target=self._end, name="rocperf-stop", daemon=True).start()

    def _end(self) -> None:
        while True:
            with self._lock:
                if not self._enders:
                    return
                for end in self._enders:
                    end()
            threading.Event().wait(AGAIN_S)
