"""Notes of counters that contradict each other, their launch or its time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rocperf.hardware import Gpu
from rocperf.metrics.consistency import broken
from rocperf.metrics.invariants import CLOCK, CODE
from rocperf.metrics.trust import FIX_CLOCKS, RAISED, UNGATED

if TYPE_CHECKING:
    from rocperf.ingest.sink import StoreSink


def check_counters(sink: StoreSink) -> None:
    """Note each rule that dispatches of a run break: what rests on it is believed less.

    Cycles beyond the clock are usual on short kernels of some GPUs, so that this is only told.
    """
    sink.connection.execute(
        "DELETE FROM notes WHERE starts_with(code, ?) OR code = 'counters-gated'", [CODE]
    )  # of a base
    _note_gated(sink)
    rows = pl.DataFrame(sink.connection.sql("SELECT * FROM agents WHERE kind = 'GPU'")).to_dicts()
    gpus = {(row["run_id"], row["agent_id"]): Gpu.from_agent(row) for row in rows}

    def gpu_of(run_id: int, agent_id: int | None) -> Gpu | None:
        return None if agent_id is None else gpus.get((run_id, agent_id))

    for found in broken(sink.connection, gpu_of):
        severity = "info" if found.invariant == CLOCK else "warning"
        sink.note(
            severity,
            CODE + found.invariant,
            str(found),
            rows=found.dispatches,
            run_id=found.run_id,
        )


def _note_gated(sink: StoreSink) -> None:
    """Note runs in which waves ran and nothing else was counted."""
    rows = sink.connection.execute(
        "WITH seen AS (SELECT run_id, counter, max(abs(value)) AS most, count(*) AS n"
        " FROM counter_values GROUP BY run_id, counter)"
        " SELECT run_id, max(n) FROM seen GROUP BY run_id"
        " HAVING max(most) FILTER (counter = 'SQ_WAVES') > 0"
        " AND coalesce(max(most) FILTER (NOT list_contains($ungated, counter)), 0) = 0"
        " AND count(*) FILTER (list_contains($raised, counter) AND most = 0) > 0 ORDER BY run_id",
        {"raised": sorted(RAISED), "ungated": list(UNGATED)},
    ).fetchall()
    for run_id, dispatches in rows:
        sink.note(
            "warning",
            "counters-gated",
            f"run {run_id}: waves ran but every other counter is 0: their clock is gated. Fix the"
            f" clocks with `{FIX_CLOCKS}` and collect again",
            rows=int(dispatches),
            run_id=int(run_id),
        )
