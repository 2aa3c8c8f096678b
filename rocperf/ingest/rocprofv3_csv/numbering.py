"""Ids of dispatches in kernel traces of 6.2, which state none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocperf.ingest.sink import INCOMING

if TYPE_CHECKING:
    from rocperf.ingest.source import Sink


def number_by_correlation(sink: Sink, run_id: int, file_id: int) -> None:
    """Give traced dispatches the ids under which a counter file of the run knows them.

    Both state the call that launched them. Those that were not counted keep numbers of their
    own, above all others.

    Parameters
    ----------
    sink
        Holds the dispatches of both.
    run_id, file_id
        The run, and the file that was traced.
    """
    run = sink.connection.execute
    counted = f"(SELECT * FROM {INCOMING} WHERE run_id = {run_id} AND file_id <> {file_id})"
    ((highest,),) = run(f"SELECT max(dispatch_id) FROM {counted}").fetchall()
    if highest is None:
        return
    # One call may launch several: the n-th of them is the n-th that was counted.
    nth = "row_number() OVER (PARTITION BY correlation_id, kernel ORDER BY {})"
    run(
        f"UPDATE {INCOMING} SET dispatch_id = m.id FROM ("
        f"SELECT t.row, coalesce(c.dispatch_id, {int(highest)} + t.row) AS id FROM"
        f" (SELECT row, correlation_id, kernel, {nth.format('row')} AS n FROM {INCOMING}"
        f" WHERE run_id = {run_id} AND file_id = {file_id}) t LEFT JOIN"
        f" (SELECT dispatch_id, correlation_id, kernel, {nth.format('dispatch_id')} AS n"
        f" FROM {counted}) c USING (correlation_id, kernel, n)) m"
        f" WHERE {INCOMING}.run_id = {run_id} AND {INCOMING}.file_id = {file_id}"
        f" AND {INCOMING}.row = m.row"
    ).fetchall()
