"""Metrics of one open profile: those wanted together are answered from one look at counters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import duckdb
import polars as pl

from rocperf.metrics.catalogue import metrics as catalogue
from rocperf.metrics.evaluate import evaluate, spread
from rocperf.metrics.sums import GpuOf


class Answers:
    """Answers for one profile.

    Parameters
    ----------
    connection
        The open profile.
    gpu_of
        Finds the GPU of a run's agent.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, gpu_of: GpuOf) -> None:
        self._connection, self._gpu_of = connection, gpu_of
        self._together: frozenset[str] = frozenset()
        self._found: pl.DataFrame | None = None

    def together(self, ids: Iterable[str]) -> None:
        """Evaluate these at once, for every kernel, when the first of them is asked for."""
        self._together, self._found = frozenset(ids) & set(catalogue()), None

    def ask(
        self,
        ids: Sequence[str],
        *,
        per: Literal["kernel", "dispatch"],
        kernels: Sequence[int] | None,
        spread_too: bool,
    ) -> pl.DataFrame:
        """Evaluate metrics, see `rocperf.profile.Profile.metrics`."""
        if per == "kernel" and kernels is None and set(ids) <= self._together:
            frame = self._chosen(ids)
        else:
            frame = self._evaluate(ids, per, kernels)
        if spread_too:
            each = spread(self._evaluate(ids, "dispatch", kernels))
            on = ["kernel_id", "target", "metric"]
            frame = frame.join(each, on=on, how="left", maintain_order="left")
        return frame

    def _evaluate(
        self,
        ids: Sequence[str],
        per: Literal["kernel", "dispatch"],
        kernels: Sequence[int] | None,
    ) -> pl.DataFrame:
        return evaluate(self._connection, self._gpu_of, ids, per=per, kernels=kernels)

    def _chosen(self, ids: Sequence[str]) -> pl.DataFrame:
        """Pick answers out of all, in order of subject and of `ids`."""
        if self._found is None:
            self._found = self._evaluate(sorted(self._together), "kernel", None)
        wanted = list(dict.fromkeys(ids))
        order = pl.DataFrame({"metric": wanted}, schema={"metric": pl.String})
        found = self._found.with_row_index("place").join(order.with_row_index("asked"), on="metric")
        subject = pl.col("place").min().over("kernel_id", "target")
        return found.sort(subject, "asked").drop("place", "asked")
