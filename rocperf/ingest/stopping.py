"""Ctrl-C while reading: asked once, obeyed where nothing is half done.

DuckDB and Arrow call back into Python while they work; an exception that comes up there at any
moment ends as another error, or worse. So the signal only leaves word and stops the query.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Generator
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb


class Stop:
    """Whether the user asked to stop."""

    def __init__(self) -> None:
        self.asked = False

    def check(self) -> None:
        """Stop here when asked to.

        Raises
        ------
        KeyboardInterrupt
            If the user asked.
        """
        if self.asked:
            raise KeyboardInterrupt


@contextlib.contextmanager
def stoppable(connection: duckdb.DuckDBPyConnection, stop: Stop) -> Generator[None]:
    """Take Ctrl-C as a request while the body runs; whatever it then fails of is that.

    Parameters
    ----------
    connection
        Its query is interrupted.
    stop
        Knows of the request; the body asks it where it can stop.

    Raises
    ------
    KeyboardInterrupt
        If the user asked to stop.
    """

    def ask(number: int, frame: FrameType | None) -> None:
        del number, frame
        stop.asked = True
        connection.interrupt()

    own = threading.current_thread() is threading.main_thread()
    # Whoever handles the signal otherwise knows better.
    own = own and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if own:
        signal.signal(signal.SIGINT, ask)
    try:
        yield
    except Exception as error:
        if stop.asked:
            raise KeyboardInterrupt from error
        raise
    finally:
        if own:
            signal.signal(signal.SIGINT, signal.default_int_handler)
    stop.check()
