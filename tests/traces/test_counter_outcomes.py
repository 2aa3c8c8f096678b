"""What the analyses of counters and launches find on every recorded trace."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rocperf import pipeline
from rocperf.ingest.load import ingest
from rocperf.model import Completed, Failed

#: Every folder with kernels.
FOLDERS = (
    "mi300x_ubench/bank_conflict/conflict",
    "mi300x_ubench/bank_conflict/no_conflict",
    "mi300x_ubench/coalescing/coalesced",
    "mi300x_ubench/coalescing/uncoalesced",
    "compute_vcopy/MI200",
    "compute_vcopy/MI300X_A1",
    "compute_vcopy/MI300X_A1_rocpd",
    "compute_multikernel/MI200",
    "compute_gemm_mi325x/swizzle",
    "omniperf_v1_mixbench/mi200",
    "rocprofv3_csv_gfx950_lds",
    "rocprofv3_csv_gfx950_attention",
    "rocprofv3_csv_gfx950_wave",
    "rocprofv3_csv_mi325x_gemm",
    "rocprofv3_csv_gfx1151_decode",
    "rocprofv3_json_mi350x_rccl",
    "rocpd_gfx1201_llama",
    "rocpd_mi308x_copies",
    "rocprofv3_csv_mi300x_training",
    "rocprofv3_csv_gfx1201_bandwidth/rd_256MiB",
    "rocprofv3_csv_gfx1201_clock_gated",
    "rocprof_v1_basic_row",
    "rocprof_v1_blocked_matmul_32",
    "rocprof_v1_kokkos",
)
#: Rule and start of the kernel's name, by analysis and folder, as a person read them and found
#: them right. In a folder that is not named an analysis finds nothing, or says why it cannot
#: tell: most recordings are too short, or lack clocks, for figures per cycle.
FOUND: dict[str, dict[str, set[tuple[str, str]]]] = {
    "register-spills": {},
    "roofline": {},
    "cache-locality": {},
    "latency-bound": {},
    "divergence": {},
    "precision-mix": {},
    "atomics-contention": {},
    "instruction-cache": {},
    "channel-imbalance": {},
    "tail-effect": {},
}


@pytest.fixture(scope="module")
def ingested(
    recorded: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """Return the profile of a recorded trace."""

    def profile(name: str) -> Path:
        return ingest([recorded(name)], tmp_path_factory.mktemp("profile") / "trace.rocperf")

    return profile


@pytest.mark.parametrize("folder", FOLDERS)
def test_they_find_what_was_read_and_found_right(
    ingested: Callable[[str], Path], folder: str
) -> None:
    selection = pipeline.Selection(only=tuple(FOUND))
    for outcome in pipeline.analyze(ingested(folder), selection).outcomes:
        assert not isinstance(outcome, Failed), outcome
        wanted = FOUND[outcome.analysis].get(folder, set())
        got = [r.finding for r in outcome.findings] if isinstance(outcome, Completed) else []
        named = {(each.rule.partition("/")[2], each.subject.name) for each in got}
        assert len(named) == len(wanted), named
        for rule, start in wanted:
            assert any(r == rule and name.startswith(start) for r, name in named), named
