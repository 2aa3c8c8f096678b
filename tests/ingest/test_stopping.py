"""Ctrl-C leaves word, stops the query, and is obeyed where nothing is half done."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import duckdb
import pytest

from rocperf.ingest.stopping import Stop, stoppable


@pytest.fixture
def ours() -> None:
    """Have the signal handled as in a program that does nothing about it."""
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def run(body: Callable[[duckdb.DuckDBPyConnection, Stop], object]) -> Stop:
    """Run a body that may be stopped."""
    stop = Stop()
    with duckdb.connect() as connection, stoppable(connection, stop):
        body(connection, stop)
    return stop


@pytest.mark.usefixtures("ours")
def test_a_long_query_is_stopped() -> None:
    def ask(connection: duckdb.DuckDBPyConnection, _: Stop) -> None:
        threading.Timer(0.3, press).start()
        connection.execute("SELECT sum(sqrt(i)) FROM range(10000000000000) AS t(i)").fetchall()

    with pytest.raises(KeyboardInterrupt):
        run(ask)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("ours")
def test_a_callback_is_not_broken_by_the_signal() -> None:
    """What runs inside a query goes on; the request is seen at the next place to stop."""
    reached: list[str] = []

    def callback(_: duckdb.DuckDBPyConnection, stop: Stop) -> None:
        press()
        reached.append("after the signal")
        assert stop.asked
        stop.check()
        reached.append("after the check")

    with pytest.raises(KeyboardInterrupt):
        run(callback)
    assert reached == ["after the signal"]


@pytest.mark.usefixtures("ours")
def test_a_request_at_the_very_end_counts() -> None:
    with pytest.raises(KeyboardInterrupt):
        run(lambda *_: press())


@pytest.mark.usefixtures("ours")
def test_what_fails_after_a_request_is_that_request() -> None:
    def fail(*_: object) -> None:
        press()
        raise ValueError("half a record")

    with pytest.raises(KeyboardInterrupt) as raised:
        run(fail)
    assert isinstance(raised.value.__cause__, ValueError)


@pytest.mark.usefixtures("ours")
def test_without_a_request_nothing_changes() -> None:
    with duckdb.connect() as connection:
        with stoppable(connection, Stop()):
            assert connection.execute("SELECT 1").fetchall() == [(1,)]
        with pytest.raises(ValueError, match="as it was"), stoppable(connection, Stop()):
            raise ValueError("as it was")


def test_another_handler_is_left_in_place() -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: seen.append(number))
    try:
        stop = Stop()
        with duckdb.connect() as connection, stoppable(connection, stop):
            press()
        assert seen == [signal.SIGINT]
        assert not stop.asked
    finally:
        signal.signal(signal.SIGINT, before)


def test_another_thread_leaves_the_signal_alone() -> None:
    with ThreadPoolExecutor(1) as pool:
        assert not pool.submit(run, lambda *_: None).result().asked
