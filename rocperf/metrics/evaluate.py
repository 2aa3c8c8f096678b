"""Metrics of kernels or launches, each with its state.

DuckDB adds counters up over dispatches in one scan; formulas are then applied to the sums, so
that a ratio over several dispatches is the ratio of sums. Of each process one run answers, where
one has every counter, and several passes stitched together otherwise; processes are added up.
All metrics are answered together: planning a query a metric would take longer than the work.
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import polars as pl

from rocperf.metrics.answer import VALUED, judged_sql, lacking_sql, write_absent
from rocperf.metrics.asked import ABSENT, FORMULAS, INPUTS, Asking
from rocperf.metrics.catalogue import metric
from rocperf.metrics.homes import USES, complete_uses_sql, sums_sql
from rocperf.metrics.invariants import CODE, concerned
from rocperf.metrics.sums import (
    AGENTS,
    ANCHORS,
    CELLS,
    GPUS,
    RUNS,
    SUBJECTS,
    GpuOf,
    Per,
    add_up,
    dispatches_sql,
    tell_gpus,
)
from rocperf.metrics.trust import RAISED

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
        ("stitched", pl.Boolean()),
        ("formula", pl.String()),
    ]
)
#: What `spread` adds.
SPREAD = ("min", "mean", "max", "stdev", "dispatches")
_SUBJECT = ["kernel_id", "launch_id", "run_id", "dispatch_id", "gpu"]
_TABLES = (AGENTS, GPUS, CELLS, RUNS, SUBJECTS, FORMULAS, INPUTS, ABSENT, VALUED)


def evaluate(
    connection: duckdb.DuckDBPyConnection,
    gpu_of: GpuOf,
    ids: Sequence[str],
    *,
    per: Per = "kernel",
    kernels: Sequence[int] | None = None,
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
    kernels
        Ids of the kernels to look at; None for all.

    Returns
    -------
    polars.DataFrame
        Columns as in `SCHEMA`, in order of subject and of `ids`. ``value`` is null unless
        ``state`` is ``value``; ``raw`` keeps what came out all the same. ``n`` is how many
        dispatches ``value`` covers, ``runs`` which runs gave its counters, ``stitched`` whether
        several of one process did, ``formula`` the formula that was used.

    Raises
    ------
    MetricError
        If an id is unknown.
    """
    wanted = [metric(name) for name in dict.fromkeys(ids)]
    formulas = [formula for each in wanted for formula in each.formulas]
    names = sorted({c for f in formulas for c in f.expression.inputs} | set(ANCHORS) | RAISED)
    facts = sorted({h for f in formulas for h in f.expression.facts} | {"clock_hz", "xccs"})
    try:
        gpus = tell_gpus(connection, gpu_of, facts)
        dispatches = dispatches_sql(per, kernels)
        add_up(connection, names, per, dispatches)
        _doubt(connection, names)
        present, seen = _counters(connection, names)
        asking = Asking(wanted, gpus, present)
        asking.write(connection, names)
        return _Answer(connection, asking, names, dispatches).frame(seen)
    finally:
        for each in _TABLES:
            connection.execute(f"DROP TABLE IF EXISTS temp.{each}")


def _doubt(connection: duckdb.DuckDBPyConnection, names: list[str]) -> None:
    """Attach to counters what their run's notes say of contradictions among them."""
    rows: list[tuple[int, str]] = connection.execute(
        "SELECT DISTINCT run_id, code FROM notes WHERE starts_with(code, ?) AND run_id IS NOT NULL",
        [CODE],
    ).fetchall()
    for run_id, code in rows:
        numbers = [c for c, n in enumerate(names) if n in concerned(code.removeprefix(CODE))]
        if numbers:
            connection.execute(
                f"UPDATE {CELLS} SET reason = concat_ws('; ', reason, $said) "
                "WHERE run = $run AND list_contains($numbers, c)",
                {
                    "said": f"counters of run {run_id} contradict each other, see its notes",
                    "run": run_id,
                    "numbers": numbers,
                },
            )


def _counters(
    connection: duckdb.DuckDBPyConnection, names: list[str]
) -> tuple[dict[int, frozenset[str]], dict[int, frozenset[str]]]:
    """Return of each GPU the counters that have values, and those that have rows."""
    rows: list[tuple[int, int, int]] = connection.execute(
        f"SELECT gpu, c, count(total) FROM {CELLS} GROUP BY gpu, c ORDER BY gpu"
    ).fetchall()
    present: dict[int, set[str]] = {}
    seen: dict[int, set[str]] = {}
    for gpu, c, values in rows:
        seen.setdefault(gpu, set()).add(names[c])
        present.setdefault(gpu, set()).update([names[c]] if values else [])
    return (
        {gpu: frozenset(each) for gpu, each in present.items()},
        {gpu: frozenset(each) for gpu, each in seen.items()},
    )


class _Answer:
    """Puts the answer together from the tables of sums and formulas."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        asking: Asking,
        names: list[str],
        dispatches: str,
    ) -> None:
        self.connection = connection
        self.asking = asking
        self.names = names
        self.dispatches = dispatches

    def frame(self, seen: dict[int, frozenset[str]]) -> pl.DataFrame:
        """Return one row a subject and metric.

        It is of the first formula that one run answers whole, else of the first that passes
        answer together, else it says why there is no value.
        """
        rows = self._judge(USES, {})
        mixed = rows.filter("mixed")["f"].unique().sort().to_list()
        frames = [rows]
        if mixed:
            frames.insert(0, self._complete(rows, mixed))
            self._value(USES, {})  # once more all of them: lacking_sql looks there
        best = self._best(frames)
        count = self.connection.execute(f"SELECT count(*) FROM {SUBJECTS}").fetchone()
        if count and best.height == count[0] * len(self.asking.wanted):
            return self._told([best])
        write_absent(self.connection, self.asking, self.names, seen)
        return self._told([best, pl.DataFrame(self.connection.sql(lacking_sql()))])

    def _value(self, uses: str, params: dict[str, object]) -> None:
        alone = self.connection.execute(
            f"SELECT (SELECT count(*) FROM {RUNS}) = (SELECT count(*) FROM {SUBJECTS})"
        ).fetchone()
        sums = sums_sql(uses, self.asking.places, alone=bool(alone and alone[0]))
        self.connection.execute(
            f"CREATE OR REPLACE TEMP TABLE {VALUED} AS "
            f"SELECT *, {self.asking.value_sql()} AS raw FROM ({sums})",
            params,
        )

    def _judge(self, uses: str, params: dict[str, object]) -> pl.DataFrame:
        self._value(uses, params)
        empty = self.connection.execute(f"SELECT DISTINCT f FROM {VALUED} WHERE raw IS NULL")
        troubled = {f for (f,) in empty.fetchall()} | {
            each.number for each in self.asking.formulas if "-" in each.formula.expression.text
        }
        kind, text = self.asking.problem_sql(sorted(troubled))
        return pl.DataFrame(self.connection.sql(judged_sql(kind, text)))

    def _complete(self, rows: pl.DataFrame, formulas: list[int]) -> pl.DataFrame:
        """Judge formulas over those dispatches alone that have all of their counters."""
        uses = complete_uses_sql(self.dispatches, self.names, formulas)
        frame = self._judge(uses, {"names": self.names}).filter("whole")
        known = rows.select(*_SUBJECT, "f", pl.col("most").alias("before"))
        frame = frame.join(known, on=[*_SUBJECT, "f"], how="left", nulls_equal=True)
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

    def _best(self, frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
        rows = pl.concat(frames)
        if len(frames) == 1 and len(self.asking.formulas) <= len(self._metrics()):
            return rows
        at = [*_SUBJECT, "slot"]
        return (
            pl.concat([rows.filter("whole"), rows.filter(~pl.col("whole"))])
            .sort(pl.col("whole").not_(), "formula", maintain_order=True)
            .unique(at, keep="first", maintain_order=True)
        )

    def _metrics(self) -> set[tuple[int, int]]:
        return {(each.gpu, each.at) for each in self.asking.formulas}

    def _told(self, frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """Bring rows into the form and order of the answer."""
        asking = self.asking
        once = pl.col("reason").str.split("; ").list.unique(maintain_order=True).list.join("; ")
        known = sorted((asking.target(gpu), gpu) for gpu in asking.present)
        targets = pl.DataFrame(
            {"gpu": [g for _, g in known], "target": [t for t, _ in known]},
            schema={"gpu": pl.UInt32, "target": pl.String},
        ).with_row_index("place")
        metrics = pl.DataFrame(
            {"slot": range(len(asking.wanted)), "metric": [each.id for each in asking.wanted]},
            schema={"slot": pl.Int32, "metric": pl.String},
        )
        formulas = pl.DataFrame(
            {
                "f": [each.number for each in asking.formulas],
                "formula": [each.formula.expression.text for each in asking.formulas],
            },
            schema={"f": pl.Int32, "formula": pl.String},
        )
        rows = (
            pl.concat([frame.drop("formula", strict=False) for frame in frames], how="diagonal")
            .join(targets, on="gpu", how="left")
            .sort([*_SUBJECT[:4], "place", "slot"], maintain_order=True)
            .join(metrics, on="slot", how="left", maintain_order="left")
            .join(formulas, on="f", how="left", maintain_order="left")
            .with_columns(stitched=pl.col("whole").not_().fill_null(value=False))
        )
        if rows["reason"].str.contains("; ", literal=True).any():  # splitting millions takes long
            rows = rows.with_columns(once)
        return rows.select(list(SCHEMA)).cast(SCHEMA)


def spread(frame: pl.DataFrame) -> pl.DataFrame:
    """Say how far single dispatches lie apart.

    Parameters
    ----------
    frame
        What `evaluate` answers per dispatch.

    Returns
    -------
    polars.DataFrame
        A row a kernel, target and metric: ``min``, ``mean``, ``max`` and ``stdev`` of the values
        (null where there is none) and how many ``dispatches`` have one.
    """
    value = pl.col("value")
    return frame.group_by("kernel_id", "target", "metric").agg(
        value.min().alias("min"),
        value.mean().alias("mean"),
        value.max().alias("max"),
        value.std(ddof=0).alias("stdev"),
        value.count().cast(pl.UInt64).alias("dispatches"),
    )
