"""Standard input of a program that runs several times."""

from __future__ import annotations

import os
import select
import stat
import sys
from pathlib import Path

from rocperf.errors import InputError

_OWN = Path("/proc/self/fd/0")


def piped() -> bool:
    """Tell whether standard input is something that only one run could read.

    A terminal, a file and a pipe that was closed without data are not.
    """
    try:
        descriptor = sys.stdin.fileno()
        mode = os.fstat(descriptor).st_mode
    except (OSError, ValueError, AttributeError):
        return False
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return False
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    state = dict(poll.poll(0)).get(descriptor, 0)
    return not (state & select.POLLHUP and not state & select.POLLIN)


def open_input(path: Path | None) -> int:
    """Open the standard input of one run.

    Parameters
    ----------
    path
        A file that every run reads from its beginning; None for the standard input of this
        process, which is read again from where it was if it is a file.

    Returns
    -------
    int
        A descriptor, to be closed.

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    if path is not None:
        try:
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}", hint="check --stdin") from error
    try:
        mode = os.fstat(0).st_mode
        if not stat.S_ISREG(mode):
            return os.dup(0)
        # A copy of the descriptor would share its place in the file with the other runs.
        place = os.lseek(0, 0, os.SEEK_CUR)
        descriptor = os.open(_OWN, os.O_RDONLY | os.O_CLOEXEC)
        os.lseek(descriptor, place, os.SEEK_SET)
        return descriptor
    except OSError:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
