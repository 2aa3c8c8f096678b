"""Ways in which a run goes wrong, as rocprofv3's users meet them."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

#: Mode -> what happens.
MODES: dict[str, str] = {
    "abort": "the tool aborts inside the program: SIGABRT, no output",
    "no-output": "the program runs, nothing is recorded",
    "missing-counter": "the GPU lacks the counter named after the colon",
    "zero-counters": "all counters but SQ_WAVES read 0: their clock is gated",
    "hang": "the program ends, the profiler does not; SIGINT and SIGTERM end it",
    "hang-hard": "the same, and only SIGKILL ends it",
    "truncated": "output files break off in the middle",
    "too-many-counters": "the counters do not fit, whatever they are",
    "crash-app": "the program dies of SIGSEGV: no output",
    "permission": "no access to the GPU: no output, a message",
    "not-locked": "a warning that the GPU could not be locked; output as usual",
}
_CAPACITY = (
    "Could not construct profile cfg failed with error code 38: "
    "Request exceeds the capabilities of the hardware to collect"
)


@dataclass(frozen=True, slots=True)
class Fault:
    """One mode with its argument, such as a counter's name."""

    mode: str
    argument: str = ""


def faults(text: str, counters: tuple[str, ...]) -> list[Fault]:
    """Choose the faults of this run.

    Parameters
    ----------
    text
        Comma-separated: ``mode``, ``mode:argument`` or, for some runs only, ``timing:mode`` (those
        without counters), ``counters:mode`` or ``COUNTER:mode`` (those that ask for it).
    counters
        Counters this run asks for.

    Raises
    ------
    ValueError
        A mode that does not exist.
    """
    chosen: list[Fault] = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        mode, _, argument = part.partition(":")
        applies = True
        if mode not in MODES and argument:
            runs = {"timing": not counters, "counters": bool(counters)}
            applies = runs.get(mode, mode in counters)
            mode, _, argument = argument.partition(":")
        if mode not in MODES:
            message = f"Unknown failure {mode!r}; known are {', '.join(MODES)}."
            raise ValueError(message)
        if applies:
            chosen.append(Fault(mode, argument))
    return chosen


def log(level: str, text: str, place: str = "tool.cpp:1041") -> None:
    """Print a line to stderr in the log format of rocprofv3."""
    now = time.strftime("%Y%m%d %H:%M:%S")
    print(f"{level}{now}.000000 {os.getpid()} {place}] {text}", file=sys.stderr, flush=True)  # noqa: T201


def die(number: signal.Signals) -> NoReturn:
    """End this process by a signal, without a core file."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.stdout.flush()
    sys.stderr.flush()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    while True:
        time.sleep(1)


def abort(text: str) -> NoReturn:
    """Log a fatal line and die of SIGABRT, as the tool does."""
    log("F", text)
    die(signal.SIGABRT)


def abort_over_capacity() -> NoReturn:
    """Die as the tool does when the counters of one run are too many."""
    abort(_CAPACITY)


def hang(*, hard: bool) -> NoReturn:
    """Never return; with `hard`, ignore the signals that end an ordinary hang."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN if hard else signal.SIG_DFL)
    while True:
        time.sleep(1)


def truncate(files: list[Path]) -> None:
    """Cut each file in its middle."""
    for path in files:
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])
