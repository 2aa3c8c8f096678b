"""Metrics of kernels or launches, each with its state.

DuckDB adds counters up over dispatches in one scan; formulas are then applied to the sums, so
that a ratio over several dispatches is the ratio of sums. Only the sums, one a kernel, run and
counter, come into Python.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import duckdb
import polars as pl

from rocperf.hardware import Gpu
from rocperf.metrics.catalogue import Formula, Metric, metric
from rocperf.metrics.expression import NegativeDifferenceError, ZeroDivisorError
from rocperf.metrics.trust import Doubt, cycles_doubt, gated_doubt, stitched_doubt

#: Counters that are read along to judge the others.
ANCHORS = ("SQ_WAVES", "GRBM_GUI_ACTIVE", "SQ_INSTS_VALU", "SQ_WAVE_CYCLES")

SCHEMA: dict[str, Any] = {
    "kernel_id": pl.UInt32,
    "launch_id": pl.UInt64,
    "target": pl.String,
    "metric": pl.String,
    "value": pl.Float64,
    "raw": pl.Float64,
    "state": pl.String,
    "reason": pl.String,
    "confidence": pl.String,
    "runs": pl.List(pl.UInt32),
    "n": pl.UInt64,
}

State = Literal["value", "not applicable", "not collected", "not trustworthy"]
GpuOf = Callable[[int, int | None], Gpu | None]


@dataclass
class RunSums:
    """Counters of one kernel (or launch) in one run.

    Parameters
    ----------
    totals
        Counter -> sum over dispatches.
    counts
        Counter -> dispatches with a usable value.
    busy_ns, dispatches
        Sum and number of durations, nanoseconds; 0 when unknown.
    """

    gpu: Gpu | None
    totals: dict[str, float] = field(default_factory=dict[str, float])
    counts: dict[str, int] = field(default_factory=dict[str, int])
    busy_ns: int = 0
    dispatches: int = 0


def evaluate(
    connection: duckdb.DuckDBPyConnection,
    gpu_of: GpuOf,
    ids: Sequence[str],
    *,
    per: Literal["kernel", "dispatch"] = "kernel",
) -> pl.DataFrame:
    """Evaluate metrics wherever counters were taken.

    Parameters
    ----------
    connection
        An open profile.
    gpu_of
        Finds the GPU of a run's agent.
    ids
        Metric ids.
    per
        ``kernel`` or ``dispatch`` (one row a launch, whatever runs saw it).

    Returns
    -------
    polars.DataFrame
        Columns as in `SCHEMA`; ``value`` is null unless ``state`` is ``value``, ``raw`` keeps
        what came out all the same.

    Raises
    ------
    MetricError
        If an id is unknown.
    """
    wanted = [metric(name) for name in ids]
    names = {c for m in wanted for f in m.formulas for c in f.expression.counters}
    groups = _sums(connection, gpu_of, sorted(names | set(ANCHORS)), per)
    rows: list[dict[str, Any]] = []
    for (kernel_id, launch_id, target), runs in groups.items():
        for each in wanted:
            answer = _answer(each, target, runs)
            key = {"kernel_id": kernel_id, "launch_id": launch_id, "target": target}
            rows.append(key | {"metric": each.id} | answer)
    return pl.DataFrame(rows, schema=SCHEMA)


def _sums(
    connection: duckdb.DuckDBPyConnection, gpu_of: GpuOf, names: list[str], per: str
) -> dict[tuple[int, int | None, str], dict[int, RunSums]]:
    launch = "d.launch_id" if per == "dispatch" else "NULL::UBIGINT"
    cursor = connection.execute(
        f"""
        SELECT d.kernel_id, {launch} AS launch_id, c.run_id, d.agent_id, c.counter,
               sum(c.value) AS total, count(c.value) AS n,
               sum(CASE WHEN d.end_ns > d.start_ns THEN d.end_ns - d.start_ns END)::BIGINT,
               count(CASE WHEN d.end_ns > d.start_ns THEN 1 END)
        FROM counter_values c JOIN all_dispatches d USING (run_id, dispatch_id)
        WHERE list_contains($names, c.counter)
        GROUP BY ALL ORDER BY ALL
        """,
        {"names": names},
    )
    groups: dict[tuple[int, int | None, str], dict[int, RunSums]] = defaultdict(dict)
    for kernel_id, launch_id, run_id, agent_id, counter, total, n, busy, timed in cursor.fetchall():
        gpu = gpu_of(run_id, agent_id)
        target = (gpu.target if gpu else None) or "unknown"
        sums = groups[(kernel_id, launch_id, target)].setdefault(run_id, RunSums(gpu))
        if n:
            sums.totals[counter] = sums.totals.get(counter, 0.0) + total
            sums.counts[counter] = sums.counts.get(counter, 0) + n
        if timed and timed >= sums.dispatches:
            sums.busy_ns, sums.dispatches = busy, timed
    return groups


def _answer(each: Metric, target: str, runs: dict[int, RunSums]) -> dict[str, Any]:
    formulas = each.on(target)
    if not formulas:
        return _no("not collected", f"not available on {target}")
    for formula in formulas:
        counters = set(formula.expression.counters)
        whole = [run for run, sums in runs.items() if counters <= sums.totals.keys()]
        if whole:
            return _from_whole(each, formula, {run: runs[run] for run in whole})
    for formula in formulas:
        needed = formula.expression.counters
        home = {c: next((r for r, s in runs.items() if c in s.totals), None) for c in needed}
        if all(run is not None for run in home.values()):
            return _stitched(each, formula, runs, {c: r for c, r in home.items() if r is not None})
    have = {counter for sums in runs.values() for counter in sums.totals}
    lacking = [c for c in formulas[0].expression.counters if c not in have]
    return _no("not collected", f"counters {', '.join(lacking)} were not collected")


def _from_whole(each: Metric, formula: Formula, runs: dict[int, RunSums]) -> dict[str, Any]:
    names = formula.expression.counters
    totals = {c: sum(sums.totals[c] for sums in runs.values()) for c in names}
    doubts = [gated_doubt(sums, each.id) for sums in runs.values()]
    for sums in runs.values():
        if len({sums.counts[c] for c in names}) > 1:
            doubts.append(Doubt("some dispatches lack one of the counters"))
        if formula.needs == "cycles":
            doubts.append(cycles_doubt(sums))
    gpu = next(iter(runs.values())).gpu
    n = sum(sums.counts[names[0]] for sums in runs.values())
    return _value(each, formula, totals, gpu, doubts) | {"runs": list(runs), "n": n}


def _stitched(
    each: Metric, formula: Formula, runs: dict[int, RunSums], home: dict[str, int]
) -> dict[str, Any]:
    totals = {counter: runs[run].totals[counter] for counter, run in home.items()}
    parts = {run: runs[run] for run in home.values()}
    counts = {runs[run].counts[counter] for counter, run in home.items()}
    doubts = [gated_doubt(sums, each.id) for sums in parts.values()]
    doubts.append(stitched_doubt(list(parts.values()), formula.needs))
    if len(counts) > 1:
        doubts.append(Doubt("the passes saw different numbers of dispatches"))
    gpu = next(iter(parts.values())).gpu
    return _value(each, formula, totals, gpu, doubts) | {"runs": list(parts), "n": min(counts)}


def _value(
    each: Metric,
    formula: Formula,
    totals: dict[str, float],
    gpu: Gpu | None,
    doubts: list[Doubt | None],
) -> dict[str, Any]:
    facts: dict[str, float] = {}
    for name in formula.expression.facts:
        fact = gpu.hw(name) if gpu else None
        if fact is None:
            return _no("not collected", f"hw.{name} of this GPU is not known")
        facts[name] = fact
    try:
        raw = formula.expression.value(totals, facts)
    except ZeroDivisorError as error:
        fatal = [d.text for d in doubts if d and d.fatal]
        return _no("not trustworthy" if fatal else "not applicable", "; ".join(fatal) or str(error))
    except NegativeDifferenceError as error:
        return _no("not trustworthy", f"negative difference ({error})")
    found = [doubt for doubt in doubts if doubt is not None]
    if (each.low is not None and raw < each.low * (1 - 1e-9)) or (
        each.high is not None and raw > each.high * (1 + 1e-9)
    ):
        found.append(Doubt(f"{raw:.6g} is outside {each.low:g}..{_bound(each.high)}"))
    texts = "; ".join(dict.fromkeys(doubt.text for doubt in found)) or None
    fatal_found = any(doubt.fatal for doubt in found)
    return {
        "value": None if fatal_found else raw,
        "raw": raw,
        "state": "not trustworthy" if fatal_found else "value",
        "reason": texts,
        "confidence": "low" if fatal_found else "medium" if found else "high",
    }


def _bound(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _no(state: State, reason: str) -> dict[str, Any]:
    empty: dict[str, Any] = {"value": None, "raw": None, "confidence": "low", "runs": [], "n": 0}
    return empty | {"state": state, "reason": reason}
