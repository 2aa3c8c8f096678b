"""A profile in memory, of a few counters typed in by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import duckdb
import polars as pl
import pytest

from rocperf.profile import Profile
from rocperf.schema import TABLES, VIEWS

MI300X = {"target": "gfx942", "cu_count": 304, "num_xcc": 8, "clock_mhz": 2100}


class Bench:
    """Dispatches with counters; runs are counter runs of process 1 unless said otherwise."""

    def __init__(self, agent: Mapping[str, Any]) -> None:
        self.connection = duckdb.connect(":memory:")
        for table in (*TABLES, *VIEWS):
            self.connection.execute(table.ddl)
        self.agent = dict(agent)
        self.runs: set[int] = set()
        self.numbers: dict[int, int] = {}

    def insert(self, table: str, row: Mapping[str, Any]) -> None:
        names, marks = ", ".join(row), ", ".join("?" for _ in row)
        self.connection.execute(
            f"INSERT INTO {table} ({names}) VALUES ({marks})", list(row.values())
        )

    def add(
        self,
        counters: Mapping[str, float | None],
        *,
        run: int = 1,
        process: int | None = 1,
        kernel: int = 1,
        launch: int | None = None,
        ns: int | None = 1_000_000,
        reason: str | None = None,
    ) -> Bench:
        """Add one dispatch; `ns` is its duration, `reason` that of its NULL counters."""
        if run not in self.runs:
            self.runs.add(run)
            row = {"run_id": run, "process_id": process, "role": "counters", "status": "complete"}
            self.insert("runs", row)
            self.insert("agents", {"run_id": run, "agent_id": 4, "kind": "GPU"} | self.agent)
        number = self.numbers[run] = self.numbers.get(run, 0) + 1
        key = {"run_id": run, "dispatch_id": number}
        times = {} if ns is None else {"start_ns": number * 10**9, "end_ns": number * 10**9 + ns}
        row = key | {"kernel_id": kernel, "launch_id": launch, "agent_id": 4} | times
        self.insert("all_dispatches", row)
        for name, value in counters.items():
            why = reason if value is None else None
            self.insert("counter_values", key | {"counter": name, "value": value, "reason": why})
        return self

    def profile(self) -> Profile:
        return Profile(self.connection)

    def all(self, *ids: str, per: Literal["kernel", "dispatch"] = "kernel") -> pl.DataFrame:
        return self.profile().metrics(ids, per=per)

    def one(self, metric: str) -> dict[str, Any]:
        """Return the only row that a metric has."""
        [row] = self.all(metric).to_dicts()
        return row


class Benches:
    """Makes benches and closes them."""

    def __init__(self) -> None:
        self.made: list[Bench] = []

    def __call__(self, **agent: Any) -> Bench:
        facts = agent if "target" in agent else MI300X | agent
        self.made.append(Bench(facts))
        return self.made[-1]


@pytest.fixture
def bench() -> Iterator[Benches]:
    """Return a maker of benches: an MI300X, or the agent whose columns are given."""
    benches = Benches()
    yield benches
    for each in benches.made:
        each.connection.close()
