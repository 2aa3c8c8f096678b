"""Metrics of recorded workloads against what rocprof-compute 3.3.0 prints for them."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import rocperf
from rocperf.ingest.load import ingest

Values = Callable[[str], dict[str, Any]]
IDS = (
    "waves",
    "gui-cycles",
    "wave-occupancy",
    "valu-utilisation",
    "coalescing",
    "lds-utilisation",
    "lds-conflicts-per-access",
    "fabric-read-bytes",
    "fabric-write-bytes",
)
#: Trace -> run of the golden file; ``.dN`` is its N-th dispatch.
RUNS = {
    "compute_vcopy/MI200": "vcopy.MI200.d",
    "compute_vcopy/MI300X_A1_rocpd": "vcopy.MI300X_A1_rocpd.d",
    "mi300x_ubench/bank_conflict/conflict": "ubench.bank_conflict.conflict",
    "mi300x_ubench/bank_conflict/no_conflict": "ubench.bank_conflict.no_conflict",
    "mi300x_ubench/coalescing/coalesced": "ubench.coalescing.coalesced",
    "mi300x_ubench/coalescing/uncoalesced": "ubench.coalescing.uncoalesced",
}
#: Metric -> value of the golden file; equal to the last digits.
SAME = {
    "waves": "total_wavefronts",
    "gui-cycles": "kernel_cycles",
    "valu-utilisation": "valu_util",
    "coalescing": "vl1d_coalescing",
    "lds-utilisation": "lds_utilization",
    "lds-conflicts-per-access": "lds_bank_conflicts_access",
}


@pytest.fixture(scope="module")
def printed(golden: Callable[[str], Path]) -> Values:
    """Return the values of one run of the golden file."""
    runs = json.loads(golden("rocprof_compute_3.3.json").read_text(encoding="utf-8"))["runs"]
    return lambda name: runs[name]["values"]


@pytest.fixture(scope="module")
def measured(
    recorded: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], list[tuple[str, dict[str, dict[str, Any]]]]]:
    """Return each launch of a trace: its run in the golden file, and metrics by id."""

    @cache
    def launches(trace: str) -> list[tuple[str, dict[str, dict[str, Any]]]]:
        path = ingest([recorded(trace)], tmp_path_factory.mktemp("golden") / "trace.rocperf")
        with rocperf.open(path) as profile:
            frame = profile.metrics(IDS, per="dispatch")
        parts = frame.sort("launch_id").partition_by("launch_id", maintain_order=True)
        name = RUNS[trace]
        return [
            (f"{name}{n}" if name.endswith(".d") else name, {r["metric"]: r for r in _rows(part)})
            for n, part in enumerate(parts)
        ]

    return launches


def _rows(part: pl.DataFrame) -> list[dict[str, Any]]:
    return part.to_dicts()


@pytest.mark.parametrize("trace", RUNS)
def test_every_launch_agrees(trace: str, measured: Any, printed: Values) -> None:
    launches = measured(trace)
    assert len(launches) == (3 if "vcopy" in trace else 1)
    for run, rows in launches:
        values = printed(run)
        for metric, key in SAME.items():
            # `raw`: kernels this short are printed there and not trusted here.
            expected = values[key]["avg"]
            near = None if expected is None else pytest.approx(expected, rel=1e-12)
            assert rows[metric]["raw"] == near, metric
        reads = {size: values.get(f"ea_read_{size}b", {}).get("avg", 0) for size in (32, 64, 128)}
        # Theirs and ours may be of different passes; these differ by up to 16 requests of 64 B.
        read = sum(size * count for size, count in reads.items())
        assert rows["fabric-read-bytes"]["value"] == pytest.approx(read, abs=16 * 64)


@pytest.mark.parametrize("trace", ["compute_vcopy/MI200", "compute_vcopy/MI300X_A1_rocpd"])
def test_occupancy_agrees_across_methods(trace: str, measured: Any, printed: Values) -> None:
    """Theirs adds the level of waves up, in a pass of its own; ours takes SQ_WAVE_CYCLES."""
    for run, rows in measured(trace):
        expected = printed(run)["occupancy_speed_of_light"]["pct_of_peak"]
        assert rows["wave-occupancy"]["raw"] == pytest.approx(expected, rel=0.05)
        assert rows["wave-occupancy"]["state"] == "not trustworthy"  # 7 to 21 µs, or no times


def test_the_labelled_pair_of_lds_conflicts(measured: Any) -> None:
    [(_, bad)] = measured("mi300x_ubench/bank_conflict/conflict")
    [(_, good)] = measured("mi300x_ubench/bank_conflict/no_conflict")
    assert bad["lds-conflicts-per-access"]["value"] == 15.5
    assert bad["lds-conflicts-per-access"]["confidence"] == "medium"
    assert good["lds-conflicts-per-access"]["value"] == 0
