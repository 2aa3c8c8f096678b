"""Rows of a query that Ctrl-C can end: a frame is filled without Python looking at signals."""

from __future__ import annotations

import threading

import duckdb
import polars as pl


def rows_of(
    connection: duckdb.DuckDBPyConnection, relation: duckdb.DuckDBPyRelation
) -> pl.DataFrame:
    """Run a query and return its rows.

    Parameters
    ----------
    connection
        Whose query it is.
    relation
        The query.

    Raises
    ------
    KeyboardInterrupt
        If the user presses Ctrl-C meanwhile; the query is then over.
    duckdb.Error
        If it fails.
    """
    if threading.current_thread() is not threading.main_thread():
        return pl.DataFrame(relation)
    found: list[pl.DataFrame] = []
    failed: list[BaseException] = []
    # Not the thread's own join: in Python 3.11 an interrupted join takes its thread for ended.
    done = threading.Event()

    def run() -> None:
        try:
            found.append(pl.DataFrame(relation))
        except BaseException as error:  # noqa: BLE001  # raised again below, by who asked
            failed.append(error)
        finally:
            done.set()

    # The main thread waits where signals are seen, another one works.
    thread = threading.Thread(target=run, name="rocperf-query", daemon=True)
    thread.start()
    try:
        while not done.wait(0.1):
            pass  # a wait without end would miss a signal that another thread was given
    except BaseException:
        while not done.wait(0.05):
            connection.interrupt()  # one that comes before the query has begun is lost
        failed.clear()  # what it holds keeps the connection busy
        raise
    if failed:
        raise failed[0]
    return found[0]
