"""A pass's standard error: the program's own passes through, the profiler's goes to a log."""

from __future__ import annotations

import os
import re
import select
import threading
from collections.abc import Callable
from pathlib import Path

#: Bytes of one pass's standard error that its log keeps. A choice of ours.
MOST_LOGGED = 16 << 20

#: Seconds after which the beginning of a line that could still become the profiler's is shown.
PATIENCE_S = 0.2

# Lines of glog (dates have four digits or eight), and of rocprofv3 itself.
_PROFILER = re.compile(
    rb"[IWEF]\d{4}(?:\d{4})? |\[rocprofv3\] |Fatal error: |Warning: No tracing options"
)
# With so many bytes it is known whose a line is.
_DECISIVE = 28
_FIRST = frozenset(b"IWEF[")


class Relay:
    """Reads one end of a pipe until it closes or the relay is stopped.

    Parameters
    ----------
    source
        Descriptor to read; closed at the end.
    log
        File that takes everything, up to `MOST_LOGGED` bytes.
    show
        Called with what is the program's own.
    """

    def __init__(self, source: int, log: Path, show: Callable[[bytes], None]) -> None:
        self._source, self._show = source, show
        self._log = log.open("wb")
        self._logged = 0
        self._stopping = threading.Event()
        self._pending = b""
        self._whose = ""
        self._thread = threading.Thread(target=self._read, name="standard error", daemon=True)
        self._thread.start()

    def finish(self, seconds: float = 2.0) -> None:
        """Stop, after what is there was read; a process that holds the pipe is not waited for."""
        self._stopping.set()
        self._thread.join(seconds)

    def _read(self) -> None:
        try:
            while True:
                ready, _, _ = select.select([self._source], [], [], PATIENCE_S)
                if ready:
                    data = os.read(self._source, 1 << 16)
                    if not data:
                        break
                    self._keep(data)
                    self._take(data)
                elif self._stopping.is_set():
                    break
                else:
                    self._give_up_waiting()
            self._give_up_waiting()
        finally:
            self._log.close()
            os.close(self._source)

    def _keep(self, data: bytes) -> None:
        room = MOST_LOGGED - self._logged
        if room > 0:
            self._log.write(data[:room])
            self._log.flush()
            self._logged += len(data)

    def _take(self, data: bytes) -> None:
        """Show the parts of lines that are the program's."""
        shown: list[bytes] = []
        for part in data.splitlines(keepends=True):
            if not self._whose:
                part, self._pending = self._pending + part, b""
                ended = part.endswith((b"\n", b"\r"))
                if part[:1] and part[0] in _FIRST and not ended and len(part) < _DECISIVE:
                    self._pending = part
                    continue
                self._whose = "profiler" if _PROFILER.match(part) else "program"
            if self._whose == "program":
                shown.append(part)
            if part.endswith((b"\n", b"\r")):
                self._whose = ""
        if shown:
            self._show(b"".join(shown))

    def _give_up_waiting(self) -> None:
        if self._pending and not self._whose:
            self._whose = "program"
            self._show(self._pending)
            self._pending = b""


def to_standard_error(data: bytes) -> None:
    """Write bytes as the program itself would have done."""
    try:
        while data:
            data = data[os.write(2, data) :]
    except OSError:
        return  # nobody reads any more
