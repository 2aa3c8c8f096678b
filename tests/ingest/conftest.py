"""A sink by hand: what readers give, without a reader."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rocperf.ingest.events import Note
from rocperf.ingest.identify import describe_runs, number_kernels
from rocperf.ingest.match import match_launches
from rocperf.ingest.sink import StoreSink
from rocperf.ingest.source import RunInfo
from rocperf.store import Store


class Hand:
    """Gives runs and dispatches to a sink, and asks what became of them."""

    def __init__(self, store: Store) -> None:
        self.notes: list[Note] = []
        self.sink = StoreSink(
            store, 0, lambda e: self.notes.append(e) if isinstance(e, Note) else None
        )

    def run(self, *key: str, **facts: Any) -> int:
        """Add a run."""
        return self.sink.run(RunInfo(key=key, **facts))

    def dispatches(self, run_id: int, *kernels: str, **columns: Any) -> None:
        """Add one dispatch of each kernel, numbered from 1; columns are the same for all."""
        n = len(kernels)
        frame = pl.DataFrame(
            {
                "dispatch_id": range(1, n + 1),
                "kernel": list(kernels),
                "agent_id": [4] * n,
                "start_ns": [1000 * i for i in range(1, n + 1)],
                "end_ns": [1000 * i + 500 for i in range(1, n + 1)],
                "grid_size": [1024] * n,
                "workgroup_size": [64] * n,
            }
        ).with_columns(**{name: pl.lit(value) for name, value in columns.items()})
        self.sink.append("all_dispatches", frame, run_id=run_id, file_id=None)

    def counters(self, run_id: int, *names: str) -> None:
        """Add a value of each counter for dispatch 1."""
        frame = pl.DataFrame({"counter": list(names)}).with_columns(
            dispatch_id=pl.lit(1), value=pl.lit(1.0)
        )
        self.sink.append("counter_values", frame, run_id=run_id, file_id=None)

    def finish(self) -> None:
        """Do what comes after all files are read."""
        number_kernels(self.sink)
        describe_runs(self.sink)
        match_launches(self.sink)

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        """Query what is stored."""
        return self.sink.connection.execute(query).fetchall()


@pytest.fixture
def hand(tmp_path: Path) -> Iterator[Hand]:
    with Store.create(tmp_path / "hand.rocperf") as store:
        yield Hand(store)
