"""Metrics of recorded workloads against what rocprof-compute 3.3.0 prints for them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import rocperf
from rocperf.ingest.load import ingest

Values = Callable[[str], dict[str, Any]]
Launches = list[tuple[str, dict[str, dict[str, Any]]]]
PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "other-tools.md"

#: Trace -> run of the golden file; ``.d`` goes before the number of its dispatch.
RUNS = {
    "compute_vcopy/MI200": "vcopy.MI200.d",
    "compute_vcopy/MI300X_A1_rocpd": "vcopy.MI300X_A1_rocpd.d",
    "mi300x_ubench/bank_conflict/conflict": "ubench.bank_conflict.conflict",
    "mi300x_ubench/bank_conflict/no_conflict": "ubench.bank_conflict.no_conflict",
    "mi300x_ubench/coalescing/coalesced": "ubench.coalescing.coalesced",
    "mi300x_ubench/coalescing/uncoalesced": "ubench.coalescing.uncoalesced",
}
#: Metric -> value of the golden file that it equals on every launch.
SAME = {
    "active-lanes": "valu_active_threads",
    "branch-utilisation": "branch_util",
    "coalescing": "vl1d_coalescing",
    "flat-reads": "vmem_global_generic_read",
    "flat-writes": "vmem_global_generic_write",
    "gui-cycles": "kernel_cycles",
    "held-by-lds": "notscheduled_lds",
    "held-by-scratch": "notscheduled_scratch",
    "held-by-sgprs": "notscheduled_sgprs",
    "held-by-vgprs": "notscheduled_vgprs",
    "instructions-per-wave": "instr_per_wave",
    "ipc": "ipc",
    "ipc-issued": "ipc_issued",
    "l1-busy": "vl1d_util",
    "l1-hit-rate": "vl1d_hit_rate",
    "l1-l2-reads": "vl1d_l2_read",
    "l1-l2-writes": "vl1d_l2_write",
    "l1-latency": "l1_access_latency",
    "l1-lines": "vl1d_cache_accesses",
    "l1-requests": "vl1d_total_req",
    "l2-busy": "l2_util",
    "l2-writes": "l2_write_req",
    "lds-access-rate": "lds_access_rate",
    "lds-bandwidth": "lds_bw",
    "lds-bandwidth-share": "lds_bw_pct",
    "lds-conflict-rate": "lds_bank_conflict_rate",
    "lds-conflicts-per-access": "lds_bank_conflicts_access",
    "lds-utilisation": "lds_utilization",
    "mfma-cycles": "mfma_instr_cycles",
    "mfma-utilisation": "mfma_util",
    "salu-utilisation": "salu_util",
    "valu-flop-rate": "valu_flops",
    "valu-utilisation": "valu_util",
    "vmem-utilisation": "vmem_util",
    "wave-cycles": "wave_cycles",
    "waves": "total_wavefronts",
}
#: Metric -> value of the golden file that it differs from on purpose; the page says why.
DIFFERENT = {
    "fabric-read-bandwidth": "l2_fabric_read_bw",
    "fabric-read-latency": "l2_fabric_read_latency",
    "fabric-write-bandwidth": "l2_fabric_write_bw",
    "fabric-write-latency": "l2_fabric_write_latency",
    "held-by-wave-slots": "notscheduled_simd_waveslots",
    "int-operation-rate": "valu_iops",
    "l1-bandwidth": "vl1d_cache_bw",
    "l1-bandwidth-share": "vl1d_bw_util",
    "l2-hit-rate": "l2_hit_rate",
    "l2-reads": "l2_read_req",
    "l2-requests": "l2_req",
    "lds-latency": "lds_latency",
    "memory-read-share": "l2_hbm_read_traffic",
    "resident-waves": "occupancy_waves",
    "scratch-reads": "vmem_spill_stack_read",
    "scratch-writes": "vmem_spill_stack_write",
}
#: Metric per wave -> their count.
PER_WAVE = {
    "salu-instructions": "mix_salu",
    "smem-instructions": "mix_smem",
    "vmem-instructions": "mix_vmem",
    "lds-instructions": "mix_lds",
    "branch-instructions": "mix_branch",
    "mfma-instructions": "mix_mfma",
}
#: Share of wave cycles -> their cycles.
OF_WAVE_CYCLES = {
    "waiting-share": "dependency_wait",
    "issue-wait-share": "issue_wait",
    "active-share": "active_cycles",
}
IDS = (
    *SAME,
    *DIFFERENT,
    *PER_WAVE,
    *OF_WAVE_CYCLES,
    "valu-instructions",
    "wave-occupancy",
    "l2-bytes",
    "fabric-bytes",
    "fabric-read-bytes",
    "fabric-write-bytes",
)


@pytest.fixture(scope="module")
def printed(golden: Callable[[str], Path]) -> Values:
    """Return the values of one run of the golden file."""
    runs = json.loads(golden("rocprof_compute_3.3.json").read_text(encoding="utf-8"))["runs"]
    return lambda name: runs[name]["values"]


@pytest.fixture(scope="module")
def measured(
    recorded: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Launches]:
    """Return each launch of a trace: its run in the golden file, and metrics by id."""

    @cache
    def launches(trace: str) -> Launches:
        path = ingest([recorded(trace)], tmp_path_factory.mktemp("golden") / "trace.rocperf")
        with rocperf.open(path) as profile:
            frame = profile.metrics(IDS, per="dispatch")
        parts = frame.sort("launch_id").partition_by("launch_id", maintain_order=True)
        name = RUNS[trace]
        return [
            (
                f"{name}{n}" if name.endswith(".d") else name,
                {row["metric"]: row for row in part.to_dicts()},
            )
            for n, part in enumerate(parts)
        ]

    return launches


def _of(values: dict[str, Any], key: str) -> float | None:
    """Return a printed value; what one GPU has no line for is absent."""
    found: float | None = values.get(key, {}).get("avg")
    return found


def _differ(ours: float | None, theirs: float | None) -> bool:
    if ours is None or theirs is None:
        return ours is not theirs
    return abs(ours - theirs) > 1e-6 * abs(theirs)


# `raw` is compared: kernels this short are printed there and not trusted here.
@pytest.mark.parametrize("trace", RUNS)
def test_every_launch_agrees(trace: str, measured: Any, printed: Values) -> None:
    launches = measured(trace)
    assert len(launches) == (3 if "vcopy" in trace else 1)
    for run, rows in launches:
        values = printed(run)
        for metric, key in SAME.items():
            expected = _of(values, key)
            near = None if expected is None else pytest.approx(expected, rel=1e-6)
            assert rows[metric]["raw"] == near, (run, metric, rows[metric]["reason"])


@pytest.mark.parametrize("trace", RUNS)
def test_counts_and_cycles_agree(trace: str, measured: Any, printed: Values) -> None:
    for run, rows in measured(trace):
        values = printed(run)
        waves, cycles = rows["waves"]["raw"], rows["wave-cycles"]["raw"]
        for metric, key in PER_WAVE.items():
            assert rows[metric]["raw"] * waves == pytest.approx(_of(values, key)), metric
        vector = rows["valu-instructions"]["raw"] - rows["mfma-instructions"]["raw"]
        assert vector * waves == pytest.approx(_of(values, "mix_valu"))
        for metric, key in OF_WAVE_CYCLES.items():
            # A pass of its own counted how waves waited: its wave cycles may be other ones.
            near = pytest.approx(_of(values, key), rel=1e-6)
            assert rows[metric]["raw"] / 100 * cycles == near, metric


def test_what_differs_does_and_the_page_lists_it(measured: Any, printed: Values) -> None:
    differing = {
        metric
        for trace in RUNS
        for run, rows in measured(trace)
        for metric, key in DIFFERENT.items()
        if _differ(rows[metric]["raw"], _of(printed(run), key))
    }
    assert differing == set(DIFFERENT)
    text = PAGE.read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[`([a-z0-9-]+)`\]\(.*?\) \| .+ \| .+ \|$", text, re.M)
    assert sorted(listed) == sorted(DIFFERENT)


@pytest.mark.parametrize("trace", RUNS)
def test_bytes_follow_from_the_requests_printed(trace: str, measured: Any, printed: Values) -> None:
    for run, rows in measured(trace):
        values = printed(run)
        reads = {size: _of(values, f"ea_read_{size}b") or 0 for size in (32, 64, 128)}
        # Theirs and ours may be of different passes; these differ by up to 16 requests of 64 B.
        read = sum(size * count for size, count in reads.items())
        assert rows["fabric-read-bytes"]["value"] == pytest.approx(read, abs=16 * 64)
        writes = {size: _of(values, f"ea_write_{size}b") or 0 for size in (32, 64)}
        written = sum(size * count for size, count in writes.items())
        assert rows["fabric-write-bytes"]["value"] == pytest.approx(written, rel=0.05)


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


@pytest.mark.parametrize("trace", ["compute_vcopy/MI200", "compute_vcopy/MI300X_A1_rocpd"])
def test_a_vector_copy_moves_its_bytes(trace: str, measured: Any) -> None:
    """A million doubles are read and written: 16,777,216 bytes pass between L1 and L2."""
    launches = measured(trace)
    for _, rows in launches:
        assert rows["l2-bytes"]["value"] == 16_777_216
        assert rows["l1-hit-rate"]["raw"] in (50.0, 62.5)
    # Of the first launch everything left the L2; reads of the kernel's code come on top.
    _, first = launches[0]
    assert 16_777_216 <= first["fabric-bytes"]["raw"] <= 16_777_216 + 32_768
