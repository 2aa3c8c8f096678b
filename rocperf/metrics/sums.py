"""Counters added up: one row per kernel (or launch), process, run and GPU, one column a counter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import duckdb

from rocperf.hardware import Gpu

GpuOf = Callable[[int, int | None], Gpu | None]
Per = Literal["kernel", "dispatch"]

#: Columns that say what a row is about; all but the kernel are NULL for a whole kernel.
SUBJECT = "kernel_id, launch_id, key_run, key_dispatch"

#: Names of the temporary tables: sums, sums over whole dispatches only, GPUs by agent.
SUMS, WHOLE, GPUS = "rocperf_metric_sums", "rocperf_metric_whole", "rocperf_metric_gpus"

#: Keys of a row below its kernel: what was not matched to a launch stands for itself.
_KEYS = {
    "kernel": "",
    "dispatch": """
        d.launch_id, CASE WHEN d.launch_id IS NULL THEN d.run_id END AS key_run,
        CASE WHEN d.launch_id IS NULL THEN d.dispatch_id END AS key_dispatch,
    """,
}
_SUBJECTS = {
    "kernel": "kernel_id, NULL::UBIGINT AS launch_id, NULL::UINTEGER AS key_run, "
    "NULL::UBIGINT AS key_dispatch",
    "dispatch": SUBJECT,
}


def tell_gpus(
    connection: duckdb.DuckDBPyConnection, gpu_of: GpuOf, facts: Sequence[str]
) -> tuple[Gpu | None, ...]:
    """Give the GPUs that dispatches ran on numbers; equal ones share one, 0 is unknown.

    Parameters
    ----------
    facts
        Names of ``hw`` facts in which equal ones must agree.
    """
    agents = connection.execute(
        "SELECT DISTINCT run_id, agent_id FROM all_dispatches WHERE agent_id IS NOT NULL"
    ).fetchall()
    gpus: list[Gpu | None] = [None]
    numbers: dict[tuple[object, ...], int] = {}
    rows: list[tuple[int, int, int]] = []
    for run_id, agent_id in sorted(agents):
        gpu = gpu_of(run_id, agent_id)
        if gpu is None:
            continue
        key = (gpu.target, *(gpu.hw(name) for name in facts))
        if key not in numbers:
            numbers[key] = len(gpus)
            gpus.append(gpu)
        rows.append((run_id, agent_id, numbers[key]))
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE {GPUS} AS SELECT unnest($runs::UINTEGER[]) AS run_id, "
        "unnest($agents::UBIGINT[]) AS agent_id, unnest($gpus::UINTEGER[]) AS gpu",
        {
            "runs": [run for run, _, _ in rows],
            "agents": [agent for _, agent, _ in rows],
            "gpus": [gpu for _, _, gpu in rows],
        },
    )
    return tuple(gpus)


def add_up(
    connection: duckdb.DuckDBPyConnection,
    names: Sequence[str],
    per: Per,
    *,
    together: Sequence[str] = (),
) -> str:
    """Add counters up into a temporary table, in one scan.

    Parameters
    ----------
    names
        Counters, each a column; ``n:`` and its name is how many values it had, ``r:`` and its
        name why some could not be used.
    per
        What a row is about.
    together
        Count only dispatches that have a value of each of these.

    Returns
    -------
    str
        The table's name.
    """
    table, subject = WHOLE if together else SUMS, _SUBJECTS[per]
    params: dict[str, object] = {"names": list(names)}
    only = ""
    if together:
        params |= {"together": list(together), "number": len(together)}
        only = """
            SEMI JOIN (
                SELECT run_id, dispatch_id FROM counter_values
                WHERE value IS NOT NULL AND list_contains($together, counter)
                GROUP BY ALL HAVING count(DISTINCT counter) = $number
            ) w ON w.run_id = c.run_id AND w.dispatch_id = c.dispatch_id
        """
    # One aggregate a counter: planning takes longer than adding up.
    held = ", ".join(f"any_value(cell) FILTER (counter = '{c}') AS \"{c}\"" for c in names)
    columns = ", ".join(
        f'"{c}".total AS "{c}", "{c}".n AS "n:{c}", "{c}".reason AS "r:{c}"' for c in names
    )
    connection.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE {table} AS
        WITH d AS (
            SELECT kernel_id, {_KEYS[per]} d.run_id, d.dispatch_id, coalesce(g.gpu, 0) AS gpu,
                   CASE WHEN end_ns > start_ns THEN (end_ns - start_ns)::DOUBLE END AS ns
            FROM all_dispatches d LEFT JOIN {GPUS} g USING (run_id, agent_id)
        ), cells AS (
            SELECT d.* EXCLUDE (dispatch_id, ns), c.counter,
                   sum(c.value) AS total, count(c.value) AS n, count(*) AS rows,
                   min(c.reason) FILTER (c.value IS NULL) AS reason,
                   sum(ns) AS busy_ns, count(ns) AS timed
            FROM counter_values c JOIN d USING (run_id, dispatch_id)
            {only}
            WHERE list_contains($names, c.counter)
            GROUP BY ALL
        ), held AS (
            SELECT {SUBJECT}, gpu, run_id, {held}, max_by(busy_ns, timed) AS busy_ns,
                   max(timed) AS timed
            FROM (
                SELECT {subject}, gpu, run_id, counter, busy_ns, timed,
                       {{'total': total, 'n': n, 'reason': CASE WHEN n < rows
                         THEN coalesce(reason, counter || ' has no value') END}} AS cell
                FROM cells
            )
            GROUP BY {SUBJECT}, gpu, run_id
        )
        SELECT {SUBJECT}, gpu, held.run_id AS run,
               coalesce(r.process_id::BIGINT, -held.run_id::BIGINT) AS process,
               {columns}, busy_ns, timed
        FROM held LEFT JOIN runs r ON r.run_id = held.run_id
        """,
        params,
    )
    return table
