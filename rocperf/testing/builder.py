"""Build a small profile by hand, one event a call."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Self

import polars as pl

from rocperf.profile import Profile, open_profile
from rocperf.store import Store


def us(value: float) -> int:
    """Return microseconds as nanoseconds."""
    return round(value * 1_000)


def ms(value: float) -> int:
    """Return milliseconds as nanoseconds."""
    return round(value * 1_000_000)


class TraceBuilder:
    """A trace being put together: one process on one GPU, one timing run with counters.

    Parameters
    ----------
    target
        gfx target of the GPU.
    agent
        Further columns of its row in ``agents``.
    """

    def __init__(self, target: str = "gfx942", **agent: Any) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="rocperf-trace-")
        mi300x = {"cu_count": 304, "num_xcc": 8, "clock_mhz": 2100, "max_waves_per_cu": 32}
        facts = (mi300x if target == "gfx942" else {}) | agent
        self._agent = {"run_id": 1, "agent_id": 1, "kind": "GPU", "target": target} | facts
        self._kernels: dict[str, int] = {}
        self._rows: dict[str, list[dict[str, Any]]] = {
            "all_dispatches": [],
            "counter_values": [],
            "copies": [],
        }

    def dispatch(
        self,
        kernel: str,
        *,
        start: int,
        duration: int,
        counters: dict[str, float] | None = None,
        **columns: Any,
    ) -> Self:
        """Add one kernel dispatch; times in nanoseconds, `columns` as in ``all_dispatches``."""
        rows = self._rows["all_dispatches"]
        number = len(rows) + 1
        key = {"run_id": 1, "dispatch_id": number}
        kernel_id = self._kernels.setdefault(kernel, len(self._kernels) + 1)
        times = {"start_ns": start, "end_ns": start + duration, "agent_id": 1}
        rows.append(key | {"kernel_id": kernel_id, "launch_id": number} | times | columns)
        for name, value in (counters or {}).items():
            self._rows["counter_values"].append(key | {"counter": name, "value": float(value)})
        return self

    def copy(self, direction: str, *, start: int, duration: int, size: int | None) -> Self:
        """Add one copy between the host (agent 0) and the GPU (agent 1); `size` in bytes."""
        to_gpu = direction == "host_to_device"
        row = {"run_id": 1, "direction": direction, "bytes": size}
        ends = {"src_agent_id": 0 if to_gpu else 1, "dst_agent_id": 1 if to_gpu else 0}
        self._rows["copies"].append(row | ends | {"start_ns": start, "end_ns": start + duration})
        return self

    def profile(self) -> Profile:
        """Return the trace as an open profile."""
        path = Path(self._folder.name) / "trace.rocperf"
        names = list(self._kernels)
        events = [r for t in ("all_dispatches", "copies") for r in self._rows[t]]
        run = {
            "run_id": 1,
            "process_id": 1,
            "role": "timing",
            "status": "complete",
            "start_ns": min((r["start_ns"] for r in events), default=None),
            "end_ns": max((r["end_ns"] for r in events), default=None),
        }
        kernels = [
            {"kernel_id": n, "name": k, "group_name": k, "short_name": k, "role": "compute"}
            for n, k in enumerate(names, 1)
        ]
        with Store.create(path, replace=True) as store:
            tables = {"runs": [run], "agents": [self._agent], "kernels": kernels} | self._rows
            for table, rows in tables.items():
                if rows:
                    store.append(table, pl.DataFrame(rows, infer_schema_length=None))
            store.commit()
        return open_profile(path)
