"""Run one command in a session of its own, and see it through to its end."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Literal, Self

from rocperf.collect import family
from rocperf.collect.relay import Relay, to_standard_error

#: Seconds between two looks at a process, and between two heartbeats.
LOOK_S, BEAT_S = 0.05, 0.5
#: Seconds that processes which a program left behind get to write and end. A choice of ours:
#: workers write their files when they end.
LEFTOVER_S = 10.0

_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """Counts requests to stop while it is entered, instead of dying of them.

    Outside the main thread, where Python allows no handlers, it counts nothing.
    """

    def __init__(self) -> None:
        self.count = 0
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in _STOPS:
                # Under nohup a closed terminal is no reason to stop.
                if number is signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN:
                    continue
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.count += 1


@dataclass(frozen=True)
class Ended:
    """How a command ended.

    Parameters
    ----------
    how
        ``exited`` by itself, ``interrupted`` by the user or ``timeout``.
    code
        Exit code; negative for a signal.
    seconds
        How long it took.
    left
        Processes that it left behind and that had to be ended, with their names.
    """

    how: Literal["exited", "interrupted", "timeout"]
    code: int
    seconds: float
    left: Mapping[int, str]


Tell = Callable[[str], None]
Beat = Callable[[float, str], None]


def supervise(
    argv: Sequence[str],
    *,
    environment: Mapping[str, str],
    stdin: int,
    log: Path,
    limit_s: float | None,
    interrupts: Interrupts,
    tell: Tell,
    beat: Beat,
) -> Ended:
    """Run a command until it ends, is interrupted or exceeds its time.

    Parameters
    ----------
    argv, environment, stdin
        What to run, with which variables and which standard input.
    log
        Takes its standard error; what the program itself writes is shown, too.
    limit_s
        Seconds after which it is ended; None for no limit.
    interrupts
        The first request to stop is passed on once, and the profiler may write what it has for
        as long as it takes; the second asks harder (SIGTERM), the third ends it (SIGKILL).
    tell, beat
        Told what is waited for, and twice a second the time since the start.

    Returns
    -------
    Ended
        Nothing of the command runs any more.

    Raises
    ------
    OSError
        If it cannot be started.
    """
    started = time.monotonic()
    before = interrupts.count
    read_end, write_end = os.pipe()
    try:
        process = subprocess.Popen(
            list(argv),
            env=dict(environment),
            stdin=stdin,
            stderr=write_end,
            start_new_session=True,
        )
    except OSError:
        os.close(read_end)
        raise
    finally:
        os.close(write_end)
    relay = Relay(read_end, log, to_standard_error)
    watch = _Watch(process, limit_s, interrupts, before, started, tell, beat)
    try:
        how = watch.until_end()
        left = _leftovers(process, how, tell)
    except BaseException:
        family.tell(process.pid, signal.SIGKILL)
        process.wait()
        raise
    finally:
        relay.finish()
    return Ended(how, process.returncode, time.monotonic() - started, left)


@dataclass
class _Watch:
    process: subprocess.Popen[bytes]
    limit_s: float | None
    interrupts: Interrupts
    before: int
    started: float
    tell: Tell
    beat: Beat
    passed_on: int = 0
    waiting: str = ""

    def until_end(self) -> Literal["exited", "interrupted", "timeout"]:
        """Wait, passing requests to stop on."""
        next_beat = self.started + BEAT_S
        while True:
            try:
                self.process.wait(LOOK_S)
                return "interrupted" if self._asked else "exited"
            except subprocess.TimeoutExpired:
                pass
            now = time.monotonic()
            self._pass_on()
            if self._over(now):
                family.end(self.process.pid)
                self.process.wait()
                return "timeout"
            if now >= next_beat:
                next_beat = now + BEAT_S
                self.beat(now - self.started, self.waiting)

    @property
    def _asked(self) -> int:
        return self.interrupts.count - self.before

    def _over(self, now: float) -> bool:
        # After an interrupt the user decides how long to wait.
        return self.limit_s is not None and not self._asked and now - self.started > self.limit_s

    def _pass_on(self) -> None:
        while self.passed_on < min(self._asked, len(_ANSWERS)):
            number, text = _ANSWERS[self.passed_on]
            self.passed_on += 1
            self.waiting = "waiting for rocprofv3 to flush"
            family.tell(self.process.pid, number)
            self.tell(text)


_ANSWERS = (
    (
        signal.SIGINT,
        "interrupted run: waiting for rocprofv3 to flush, which can take minutes"
        " (Ctrl-C again asks it to end, a third time ends it)",
    ),
    (signal.SIGTERM, "asked to end (SIGTERM); Ctrl-C once more ends it and loses what it has"),
    (signal.SIGKILL, "ended (SIGKILL)"),
)


def _leftovers(process: subprocess.Popen[bytes], how: str, tell: Tell) -> dict[int, str]:
    """End what a command left behind; workers of one that ended well get time to write."""
    session = process.pid
    left = family.members(session)
    if left and how == "exited" and process.returncode >= 0:
        if family.wait(session, 0.5):
            tell(f"waiting for {_named(family.members(session))}, left behind by the program")
        left = family.wait(session, LEFTOVER_S)
    family.end(session)
    return left


def _named(left: Mapping[int, str]) -> str:
    """Name processes for people, a few of them."""
    shown = [f"{name} (process {pid})" for pid, name in list(left.items())[:5]]
    return ", ".join(shown) + (f" and {len(left) - 5} more" if len(left) > 5 else "")
