"""The processes of a pass: everything that it started, found by its session."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

#: Seconds between asking processes to end and ending them. A choice of ours.
ASK_S = 2.0
#: Seconds that the system gets to forget processes that ended, so that their ids mean nothing.
REAP_S = 1.0

_PROC = Path("/proc")


def members(session: int) -> dict[int, str]:
    """Return the processes of a session that still run, with their names.

    Parameters
    ----------
    session
        Its id, that of the process it began with.
    """
    found: dict[int, str] = {}
    for entry in _PROC.iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            text = (entry / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue  # it just ended
        # The name is in brackets and may hold anything, so the rest is counted from the last.
        name, _, rest = text.partition("(")[2].rpartition(")")
        fields = rest.split()
        if len(fields) > 3 and fields[0] not in ("Z", "X") and int(fields[3]) == session:
            found[int(entry.name)] = name
    return found


def tell(session: int, number: signal.Signals) -> None:
    """Send a signal to every process of a session, whatever group it is in."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(session, number)
    for pid in members(session):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.getpgid(pid) != session:
                os.kill(pid, number)


def end(session: int, ask_s: float = ASK_S) -> None:
    """Ask the processes of a session to end, then end them."""
    left = members(session)
    if not left:
        return
    tell(session, signal.SIGTERM)
    deadline = time.monotonic() + ask_s
    while members(session) and time.monotonic() < deadline:
        time.sleep(0.02)
    tell(session, signal.SIGKILL)
    deadline = time.monotonic() + REAP_S
    while any((_PROC / str(pid)).exists() for pid in left) and time.monotonic() < deadline:
        time.sleep(0.02)


def wait(session: int, seconds: float) -> dict[int, str]:
    """Wait for the processes of a session to end by themselves; return those that did not."""
    deadline = time.monotonic() + seconds
    while (left := members(session)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left
