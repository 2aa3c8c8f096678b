"""Build a small profile by hand, one event a call."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any, Self

import polars as pl

from rocperf.profile import Profile, open_profile
from rocperf.schema import BY_NAME
from rocperf.store import Store

#: Columns of an agent that a target alone does not tell: those of an MI300X in one partition.
_MI300X = {"cu_count": 304, "num_xcc": 8, "clock_mhz": 2100, "max_waves_per_cu": 32}
_GPU, _HOST = 1, 0


def us(value: float) -> int:
    """Return microseconds as nanoseconds."""
    return round(value * 1_000)


def ms(value: float) -> int:
    """Return milliseconds as nanoseconds."""
    return round(value * 1_000_000)


class TraceBuilder:
    """A trace being put together: one process on one GPU.

    Every dispatch is in run 1, the timing run. Those with counters are in run 2 as well, the
    counter run, as `rocperf collect` would have recorded them.

    Parameters
    ----------
    target
        gfx target of the GPU.
    timing
        False leaves the timing run out: times are then those of the serialised counter run.
    origin
        Added to every time, nanoseconds.
    agent
        Further columns of the GPU's row in ``agents``.

    Examples
    --------
    >>> trace = TraceBuilder().dispatch("gemm", start=0, duration=us(50), vgpr=128)
    >>> with trace.profile() as profile:
    ...     profile.kernel_ns
    50000
    """

    def __init__(
        self, target: str = "gfx942", *, timing: bool = True, origin: int = 0, **agent: Any
    ) -> None:
        facts = (_MI300X if target == "gfx942" else {}) | agent
        self._agent: dict[str, Any] = {"agent_id": _GPU, "kind": "GPU", "target": target} | facts
        self._timing = timing
        self._origin = origin
        self._kernels: dict[str, tuple[int, str]] = {}
        self._dispatches: list[dict[str, Any]] = []
        self._counters: list[dict[str, Any]] = []
        self._events: dict[str, list[dict[str, Any]]] = {"copies": [], "api_calls": []}
        self._events["markers"] = []
        self._rows: dict[str, list[dict[str, Any]]] = {}

    def dispatch(
        self,
        kernel: str,
        *,
        start: int,
        duration: int,
        counters: dict[str, float] | None = None,
        role: str = "compute",
        **columns: Any,
    ) -> Self:
        """Add one kernel dispatch.

        Parameters
        ----------
        kernel
            Its full name.
        start, duration
            Nanoseconds.
        counters
            Counter to value, summed over instances.
        role
            Of the kernel: ``compute``, ``copy``, ``fill`` or ``communication``.
        columns
            As in ``all_dispatches``, such as ``vgpr`` or ``workgroup_size``.
        """
        number = len(self._dispatches) + 1
        kernel_id, _ = self._kernels.setdefault(kernel, (len(self._kernels) + 1, role))
        row = {"dispatch_id": number, "launch_id": number, "kernel_id": kernel_id}
        row |= self._times(start, duration) | {"agent_id": _GPU}
        self._dispatches.append(row | columns | {"counted": bool(counters)})
        for name, value in (counters or {}).items():
            self._counters.append({"dispatch_id": number, "counter": name, "value": float(value)})
        return self

    def copy(
        self, direction: str, *, start: int, duration: int, size: int | None, **columns: Any
    ) -> Self:
        """Add one copy between the host (agent 0) and the GPU (agent 1); `size` in bytes."""
        source = _HOST if direction.startswith("host") else _GPU
        target = _HOST if direction.endswith("host") else _GPU
        row = {"direction": direction, "bytes": size, "src_agent_id": source}
        row |= {"dst_agent_id": target} | self._times(start, duration)
        self._events["copies"].append(row | columns)
        return self

    def call(self, name: str, *, start: int, duration: int, **columns: Any) -> Self:
        """Add one call of the HIP runtime, such as ``hipMemcpyAsync``."""
        row = {"domain": "hip", "name": name} | self._times(start, duration)
        self._events["api_calls"].append(row | columns)
        return self

    def marker(self, message: str, *, start: int, duration: int) -> Self:
        """Add one roctx range."""
        row = {"kind": "range", "message": message} | self._times(start, duration)
        self._events["markers"].append(row)
        return self

    def row(
        self, table: str, *, start: int | None = None, duration: int = 0, **columns: Any
    ) -> Self:
        """Add one row of any table, such as a second GPU, a link, or an event of the driver.

        Parameters
        ----------
        table
            Name of a stored table. A second process is a row of ``runs``; what it did are events
            with its ``run_id``.
        start, duration
            Nanoseconds, for a table whose rows have a time.
        columns
            As in the table; ``run_id`` is the timing run's unless given.
        """
        times: dict[str, int] = {}
        if start is not None:
            times = self._times(start, duration)
            if "timestamp_ns" in BY_NAME[table].column_names:
                times = {"timestamp_ns": times["start_ns"]}
        self._rows.setdefault(table, []).append(times | columns)
        return self

    def profile(self) -> Profile:
        """Return the trace as an open profile; its file goes when the profile does."""
        folder = tempfile.mkdtemp(prefix="rocperf-trace-")
        try:
            profile = open_profile(self.save(Path(folder) / "trace.rocperf"))
        except BaseException:
            shutil.rmtree(folder)
            raise
        weakref.finalize(profile, shutil.rmtree, folder, ignore_errors=True)
        return profile

    def save(self, path: Path) -> Path:
        """Write the trace to a file, replacing it, and return the path."""
        with Store.create(path, replace=True) as store:
            for table, rows in self._tables().items():
                if rows:
                    store.append(table, pl.DataFrame(rows, infer_schema_length=None))
            store.commit()
        return path

    def _times(self, start: int, duration: int) -> dict[str, int]:
        return {"start_ns": self._origin + start, "end_ns": self._origin + start + duration}

    def _tables(self) -> dict[str, list[dict[str, Any]]]:
        roles = {1: "timing"} if self._timing else {}
        if self._counters or not self._timing:
            roles[2] = "counters"
        kernels = [
            {"kernel_id": n, "name": k, "group_name": k, "short_name": k, "role": role}
            for k, (n, role) in self._kernels.items()
        ]
        tables = {
            "runs": [self._run(run, role) for run, role in roles.items()],
            "agents": [{"run_id": run} | self._agent for run in roles],
            "kernels": kernels,
            "all_dispatches": [
                {"run_id": run} | {key: row[key] for key in row if key != "counted"}
                for run in roles
                for row in self._dispatches
                if run == 1 or row["counted"] or not self._timing
            ],
            "counter_values": [{"run_id": 2} | row for row in self._counters],
        }
        events = {
            table: [{"run_id": min(roles)} | row for row in rows]
            for table, rows in self._events.items()
        }
        tables |= events
        for table, rows in self._rows.items():
            own = {"run_id": min(roles)} if "run_id" in BY_NAME[table].column_names else {}
            tables[table] = [*tables.get(table, ()), *(own | row for row in rows)]
        return tables

    def _run(self, run_id: int, role: str) -> dict[str, Any]:
        events = [*self._dispatches, *(row for rows in self._events.values() for row in rows)]
        events += [row for rows in self._rows.values() for row in rows if "end_ns" in row]
        # What another process did is in a run of its own.
        events = [row for row in events if row.get("run_id", run_id) == run_id]
        return {
            "run_id": run_id,
            "process_id": 1,
            "role": role,
            "status": "complete",
            "start_ns": min((row["start_ns"] for row in events), default=None),
            "end_ns": max((row["end_ns"] for row in events), default=None),
        }
