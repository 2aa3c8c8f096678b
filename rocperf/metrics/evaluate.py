"""Metrics of kernels or launches, each with its state.

DuckDB adds counters up over dispatches in one scan; formulas are then applied to the sums, so
that a ratio over several dispatches is the ratio of sums. Of each process one run answers, where
one has every counter, and several passes stitched together otherwise; processes are added up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb
import polars as pl

from rocperf.hardware import Gpu
from rocperf.metrics.answer import answer_sql, lacking_sql
from rocperf.metrics.catalogue import Formula, Metric, metric
from rocperf.metrics.sums import GPUS, SUBJECT, SUMS, WHOLE, GpuOf, Per, add_up, tell_gpus
from rocperf.metrics.trust import ANCHORS

#: Columns of the answer.
SCHEMA = pl.Schema(
    [
        ("kernel_id", pl.UInt32()),
        ("launch_id", pl.UInt64()),
        ("run_id", pl.UInt32()),
        ("dispatch_id", pl.UInt64()),
        ("target", pl.String()),
        ("metric", pl.String()),
        ("value", pl.Float64()),
        ("raw", pl.Float64()),
        ("state", pl.String()),
        ("reason", pl.String()),
        ("confidence", pl.String()),
        ("runs", pl.List(pl.UInt32)),
        ("n", pl.UInt64()),
    ]
)
_SUBJECT = ["kernel_id", "launch_id", "run_id", "dispatch_id"]


def evaluate(
    connection: duckdb.DuckDBPyConnection,
    gpu_of: GpuOf,
    ids: Sequence[str],
    *,
    per: Per = "kernel",
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
        ``kernel``, or ``dispatch``: one row a launch, whatever runs saw it, and one a dispatch
        that was not matched to a launch (``run_id`` and ``dispatch_id`` say which).

    Returns
    -------
    polars.DataFrame
        Columns as in `SCHEMA`, in order of subject and of `ids`. ``value`` is null unless
        ``state`` is ``value``; ``raw`` keeps what came out all the same. ``n`` is how many
        dispatches ``value`` covers, ``runs`` which runs gave its counters.

    Raises
    ------
    MetricError
        If an id is unknown.
    """
    wanted = [metric(name) for name in dict.fromkeys(ids)]
    formulas = [formula for each in wanted for formula in each.formulas]
    names = sorted({c for f in formulas for c in f.expression.counters} | set(ANCHORS))
    facts = sorted({h for f in formulas for h in f.expression.facts} | {"clock_hz", "xccs"})
    try:
        gpus = tell_gpus(connection, gpu_of, facts)
        add_up(connection, names, per)
        groups = _groups(connection, names)
        frames = [
            _Question(connection, each, gpus[group.gpu], group, names, per).answer()
            for group in groups
            for each in wanted
        ]
    finally:
        for table in (SUMS, WHOLE, GPUS):
            connection.execute(f"DROP TABLE IF EXISTS temp.{table}")
    if not frames:
        return pl.DataFrame(schema=SCHEMA)
    order = pl.DataFrame({"metric": [each.id for each in wanted]}).with_row_index("at")
    return (
        pl.concat(frames)
        .join(order, on="metric", how="left")
        .sort([*_SUBJECT, "target", "at"])
        .drop("at")
    )


@dataclass(frozen=True)
class _Group:
    """What there is of one GPU: its number, how many subjects, which counters."""

    gpu: int
    subjects: int
    counters: frozenset[str]


def _groups(connection: duckdb.DuckDBPyConnection, names: Sequence[str]) -> list[_Group]:
    counted = ", ".join(f'count("{name}")' for name in names)
    found = connection.execute(
        f"SELECT gpu, count(DISTINCT ({SUBJECT})), {counted} FROM {SUMS} GROUP BY gpu ORDER BY gpu"
    ).fetchall()
    return [
        _Group(gpu, subjects, frozenset(n for n, c in zip(names, counts, strict=True) if c))
        for gpu, subjects, *counts in found
    ]


class _Question:
    """One metric on one kind of GPU."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        each: Metric,
        gpu: Gpu | None,
        group: _Group,
        names: Sequence[str],
        per: Per,
    ) -> None:
        self.connection = connection
        self.metric = each
        self.gpu = gpu
        self.group = group
        self.names = names
        self.per: Per = per
        self.target = (gpu.target if gpu else None) or "unknown"
        self.formulas = each.on(self.target)

    def answer(self) -> pl.DataFrame:
        """Return one row a subject.

        It is of the first formula that one run answers whole, else of the first that passes
        answer together, else it says why there is no value.
        """
        whole: list[pl.DataFrame] = []
        stitched: list[pl.DataFrame] = []
        for formula in self.formulas:
            if not self.group.counters.issuperset(formula.expression.counters):
                continue
            frame = self._apply(formula, SUMS)
            if frame["mixed"].any():
                whole.append(self._whole_dispatches(formula, frame))
            whole.append(frame.filter(whole=True))
            stitched.append(frame.filter(whole=False))
        frames = [frame.drop("whole", "most", "mixed") for frame in (*whole, *stitched)]
        rows = _first(frames) if frames else None
        if rows is None or rows.height < self.group.subjects:
            rows = _first([*frames, self._lacking()])
        once = pl.col("reason").str.split("; ").list.unique(maintain_order=True).list.join("; ")
        labels = [pl.lit(self.target).alias("target"), pl.lit(self.metric.id).alias("metric")]
        return rows.with_columns(once, *labels).select(list(SCHEMA)).cast(SCHEMA)

    def _whole_dispatches(self, formula: Formula, all_of_them: pl.DataFrame) -> pl.DataFrame:
        """Apply a formula to those dispatches alone that have all of its counters."""
        counters = formula.expression.counters
        add_up(self.connection, self.names, self.per, together=counters)
        frame = self._apply(formula, WHOLE).filter(whole=True)
        known = all_of_them.select(*_SUBJECT, pl.col("most").alias("before"))
        frame = frame.join(known, on=_SUBJECT, how="left", nulls_equal=True)
        left_out = pl.col("before") > pl.col("n")
        text = pl.format(
            "{} of {} dispatches lack a counter and are left out",
            pl.col("before") - pl.col("n"),
            pl.col("before"),
        )
        high = pl.col("confidence") == "high"
        return frame.with_columns(
            pl.when(left_out)
            .then(pl.concat_str("reason", text, separator="; ", ignore_nulls=True))
            .otherwise("reason")
            .alias("reason"),
            pl.when(left_out & high)
            .then(pl.lit("medium"))
            .otherwise("confidence")
            .alias("confidence"),
        ).drop("before")

    def _apply(self, formula: Formula, table: str) -> pl.DataFrame:
        facts: dict[str, float] = {}
        for name in formula.expression.facts:
            fact = self.gpu.hw(name) if self.gpu else None
            if fact is None:
                sql = answer_sql(self.metric, formula, table, self.names, unknown_fact=name)
                return self._fetch(sql, {})
            facts[f"hw_{name}"] = fact
        clock = self.gpu.hw("clock_hz") if self.gpu else None
        xccs = self.gpu.hw("xccs") if self.gpu else None
        timed = formula.needs == "cycles" and clock is not None and xccs is not None
        if timed and clock is not None and xccs is not None:
            facts |= {"clock_hz": clock, "xccs": xccs}
        sql = answer_sql(self.metric, formula, table, self.names, clock_known=timed)
        return self._fetch(sql, facts)

    def _lacking(self) -> pl.DataFrame:
        params = {} if self.formulas else {"target": self.target}
        return self._fetch(lacking_sql(SUMS, self.formulas), params)

    def _fetch(self, sql: str, params: Mapping[str, object]) -> pl.DataFrame:
        return pl.DataFrame(self.connection.sql(sql, params={"gpu": self.group.gpu, **params}))


def _first(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Keep the first row of each subject."""
    return pl.concat(frames).unique(_SUBJECT, keep="first", maintain_order=True)
