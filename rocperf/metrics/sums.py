"""Counters added up: one row per subject, run and counter, and one per subject and run.

A subject is a kernel or a launch on one kind of GPU. The rows are long, not wide: planning a
column a counter takes DuckDB longer than adding up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import duckdb

from rocperf.hardware import Gpu
from rocperf.metrics.expression import TIME
from rocperf.metrics.trust import RAISED, UNGATED

GpuOf = Callable[[int, int | None], Gpu | None]
Per = Literal["kernel", "dispatch"]

#: Names of the temporary tables.
GPUS, AGENTS, CELLS, RUNS, SUBJECTS = (
    f"rocperf_metric_{name}" for name in ("gpus", "agents", "cells", "runs", "subjects")
)

#: Counters that are read along to judge the others.
ANCHORS = ("SQ_WAVES", "GRBM_GUI_ACTIVE", "SQ_INSTS_VALU", "SQ_WAVE_CYCLES")

#: Number of a subject: its kernel, or its launch. What was not matched to a launch stands for
#: itself, under numbers below 0, in which there is room for 2^40 dispatches of a run.
_NUMBERS = {
    "kernel": "kernel_id::BIGINT",
    "dispatch": "coalesce(launch_id::BIGINT, "
    "-1 - (run_id::BIGINT * 1099511627776 + dispatch_id::BIGINT))",
}

#: Inputs added up. Of a launch there is nothing to add: it has one row a run and counter.
_ADDED = {
    "kernel": """
        SELECT s, gpu, d.run_id AS run, c, sum(value) AS total, count(value) AS n,
               CASE WHEN count(value) < count(*) THEN coalesce(
                   min(reason) FILTER (value IS NULL), any_value(counter) || ' has no value') END
                   AS reason,
               sum(ns) AS busy_ns, count(ns) AS timed
        FROM counter_values JOIN names USING (counter) JOIN d USING (run_id, dispatch_id)
        GROUP BY s, gpu, d.run_id, c
    """,
    "dispatch": """
        SELECT s, gpu, d.run_id AS run, c, value AS total, (value IS NOT NULL)::BIGINT AS n,
               CASE WHEN value IS NULL THEN coalesce(reason, counter || ' has no value') END
                   AS reason,
               ns AS busy_ns, (ns IS NOT NULL)::BIGINT AS timed
        FROM counter_values JOIN names USING (counter) JOIN d USING (run_id, dispatch_id)
    """,
}


_SUBJECTS = {
    "kernel": f"""
        SELECT DISTINCT s, gpu, s::UINTEGER AS kernel_id, NULL::UBIGINT AS launch_id,
               NULL::UINTEGER AS run_id, NULL::UBIGINT AS dispatch_id
        FROM {RUNS}
    """,
    "dispatch": f"""
        SELECT s, gpu, any_value(kernel_id) AS kernel_id, any_value(launch_id) AS launch_id,
               any_value(run_id) FILTER (launch_id IS NULL) AS run_id,
               any_value(dispatch_id) FILTER (launch_id IS NULL) AS dispatch_id
        FROM (DISPATCHES) SEMI JOIN {RUNS} USING (s, gpu) GROUP BY s, gpu
    """,
}


#: A run that counted without taking times borrows them from the timing run of its process or,
#: where there is none, from the first that took times and saw as many dispatches.
_TIMES = f"""
    UPDATE {RUNS} AS r SET kernel_ns = t.ns, kernel_n = t.n, own_time = false
    FROM (
        SELECT s, gpu, process, n, arg_min(ns, place) AS ns
        FROM (
            SELECT s, gpu, coalesce(process_id::BIGINT, -run_id::BIGINT) AS process,
                   sum(ns) AS ns, count(ns) AS n, [(role <> 'timing')::UINTEGER, run_id] AS place
            FROM (DISPATCHES) JOIN (SELECT run_id, process_id, role FROM runs) USING (run_id)
            GROUP BY s, gpu, process, place HAVING count(ns) > 0
        )
        GROUP BY s, gpu, process, n
    ) t
    WHERE coalesce(r.busy_ns, 0) = 0 AND t.s = r.s AND t.gpu = r.gpu AND t.process = r.process
        AND t.n = r.counted
"""


def dispatches_sql(per: Per, kernels: Sequence[int] | None = None) -> str:
    """Return SQL of dispatches: subject ``s``, ``gpu`` and duration ``ns``.

    Parameters
    ----------
    per
        What a subject is.
    kernels
        Ids of kernels, None for all.
    """
    chosen = "true"
    if kernels is not None:
        chosen = f"kernel_id IN ({', '.join(map(str, map(int, kernels))) or 'NULL'})"
    return f"""
        SELECT {_NUMBERS[per]} AS s, coalesce(g.gpu, 0) AS gpu, kernel_id, launch_id,
               d.run_id, d.dispatch_id,
               CASE WHEN end_ns > start_ns THEN (end_ns - start_ns)::DOUBLE END AS ns
        FROM all_dispatches d LEFT JOIN {AGENTS} g USING (run_id, agent_id) WHERE {chosen}
    """


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
    columns: dict[str, tuple[str, list[object]]] = {
        "run_id": ("UINTEGER", [run for run, _, _ in rows]),
        "agent_id": ("UBIGINT", [agent for _, agent, _ in rows]),
        "gpu": ("UINTEGER", [gpu for _, _, gpu in rows]),
    }
    table(connection, AGENTS, columns)
    clocks: dict[str, tuple[str, list[object]]] = {
        "gpu": ("UINTEGER", list(range(len(gpus)))),
        "clock_hz": ("DOUBLE", [gpu.hw("clock_hz") if gpu else None for gpu in gpus]),
        "xccs": ("DOUBLE", [gpu.hw("xccs") if gpu else None for gpu in gpus]),
    }
    table(connection, GPUS, clocks)
    return tuple(gpus)


def table(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    columns: Mapping[str, tuple[str, Sequence[object]]],
) -> None:
    """Make a temporary table of columns, name to type and values."""
    parts = ", ".join(f"unnest(${key}::{kind}[]) AS {key}" for key, (kind, _) in columns.items())
    values: dict[str, object] = {key: list(each) for key, (_, each) in columns.items()}
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT {parts}", values)


def add_up(
    connection: duckdb.DuckDBPyConnection, names: Sequence[str], per: Per, dispatches: str
) -> None:
    """Add counters up into temporary tables, in one scan.

    ``CELLS``: ``total`` of ``n`` values, and the ``reason`` why some could not be used.
    ``RUNS``: what tells whether the counters of a run can be believed. ``SUBJECTS``: what each
    subject is.

    Parameters
    ----------
    names
        Counters to read; a counter's place in it is its number ``c``. `TIME` may be among them:
        the time that those dispatches took, nanoseconds.
    per
        What a subject is.
    dispatches
        SQL of `dispatches_sql`.
    """
    connection.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE {CELLS} AS
        WITH d AS ({dispatches}),
        names AS (
            SELECT counter, c FROM (
                SELECT unnest($names) AS counter, generate_subscripts($names, 1) - 1 AS c
            ) WHERE counter <> '{TIME}'
        ), added AS ({_ADDED[per]})
        SELECT added.*, coalesce(r.process_id::BIGINT, -run::BIGINT) AS process
        FROM added LEFT JOIN runs r ON r.run_id = run
        """,
        {"names": list(names)},
    )
    waves, gui, valu, wave_cycles = (names.index(name) for name in ANCHORS)
    raised = ", ".join(str(c) for c, name in enumerate(names) if name in RAISED) or "NULL"
    ungated = ", ".join(str(c) for c, name in enumerate(names) if name in UNGATED) or "NULL"
    connection.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE {RUNS} AS
        SELECT s, gpu, process, run, max(total) FILTER (c = {waves}) AS waves,
               max(total) FILTER (c = {gui}) AS gui,
               max(busy_ns) FILTER (c = {gui}) AS gui_ns,
               max(total) FILTER (c = {valu}) AS valu,
               max(total) FILTER (c = {wave_cycles}) AS wave_cycles,
               coalesce(bool_and(coalesce(total, 0) = 0) FILTER (c NOT IN ({ungated})), true)
               AS silent,
               count(*) FILTER (c IN ({raised}) AND coalesce(total, 0) = 0) > 0 AS telling,
               max_by(busy_ns, timed) AS busy_ns, max(timed) AS timed,
               max_by(busy_ns, timed) AS kernel_ns, max(timed)::BIGINT AS kernel_n,
               max(n) AS counted, true AS own_time
        FROM {CELLS} GROUP BY s, gpu, process, run
        """
    )
    subjects = _SUBJECTS[per].replace("DISPATCHES", dispatches)
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {SUBJECTS} AS {subjects}")
    if TIME in names:
        connection.execute(_TIMES.replace("DISPATCHES", dispatches))
        connection.execute(
            f"INSERT INTO {CELLS} BY NAME SELECT s, gpu, process, run, {names.index(TIME)} AS c, "
            f"kernel_ns AS total, kernel_n AS n FROM {RUNS} WHERE kernel_ns > 0"
        )
