"""Divergence on traces built by hand and on recordings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocperf import UnjudgedError
from rocperf.model import Finding
from rocperf.profile import Profile, open_profile
from rocperf.testing import AnalysisContract, TraceBuilder, ms
from rocperf_analyses.divergence import Divergence, DivergenceOptions

#: 1 ms at 2.1 GHz on 304 compute units.
UNIT_CYCLES = 2.1e6 * 304
LAUNCH: dict[str, Any] = {"workgroup_size": 256, "grid_size": 256_000}


def counters(lanes: float, busy: float | None = 0.5) -> dict[str, float]:
    """Return counters of vector instructions with so many active lanes, for a part of 1 ms."""
    active = (0.5 if busy is None else busy) * UNIT_CYCLES
    counts = {
        "SQ_ACTIVE_INST_VALU": active,
        "SQ_THREAD_CYCLES_VALU": lanes * active,
        "SQ_WAVES": 1e6,
        "SQ_INSTS_VALU": 1e8,
    }
    return counts if busy is None else counts | {"GRBM_GUI_ACTIVE": 8 * 2.1e6}


def found(profile: Profile, **options: float) -> list[Finding]:
    return list(Divergence(DivergenceOptions(**options)).run(profile))


def one(counts: dict[str, float], *, size: int = 256, grid: int = 256_000) -> list[Finding]:
    launch: dict[str, Any] = {"workgroup_size": size, "grid_size": grid}
    trace = TraceBuilder().dispatch("k", start=0, duration=ms(1), counters=counts, **launch)
    return found(trace.profile())


class TestDivergenceContract(AnalysisContract):
    analysis = Divergence

    def flagged(self, trace: TraceBuilder) -> TraceBuilder:
        return trace.dispatch("k", start=0, duration=ms(1), counters=counters(16), **LAUNCH)

    def healthy(self, trace: TraceBuilder) -> TraceBuilder:
        return trace.dispatch("k", start=0, duration=ms(1), counters=counters(63), **LAUNCH)


def test_a_quarter_of_the_lanes() -> None:
    """16 of 64 lanes: three quarters of the vector work, which is half of 1 ms, could go."""
    [finding] = one(counters(16, 0.5))
    assert finding.rule == "divergence/branches"
    assert "16.0 of 64 lanes work in a vector instruction; its lanes diverge" in finding.title
    assert finding.saves_ns == pytest.approx(ms(0.375), rel=1e-6)
    assert finding.confidence == "high"


@pytest.mark.parametrize(("lanes", "flagged"), [(47.9, True), (48.1, False), (64, False)])
def test_three_quarters_are_enough(lanes: float, flagged: bool) -> None:
    assert bool(one(counters(lanes))) is flagged


def test_workgroups_that_do_not_fill_a_wave() -> None:
    """32 work-items leave half of each wave idle: no branch is to blame."""
    [finding] = one(counters(32), size=32)
    assert finding.rule == "divergence/partial"
    assert "its workgroups fill 32 of 64 lanes" in finding.title
    assert "multiple of 64" in finding.advice


def test_unfilled_waves_do_not_excuse_branches() -> None:
    """96 of 128 lanes are filled, 48 of 64; only 16 work."""
    [finding] = one(counters(16), size=96, grid=96_000)
    assert finding.rule == "divergence/branches"


def test_without_cycles_the_bound_is_all_the_time() -> None:
    [finding] = one(counters(16, None))
    assert finding.saves_ns == pytest.approx(ms(0.75), rel=1e-6)
    assert finding.confidence == "low"


def test_a_launch_of_one_wave_is_another_question() -> None:
    assert one(counters(1), size=1, grid=1) == []


def test_counters_that_cannot_be_trusted_are_no_clean_bill() -> None:
    gated = dict.fromkeys(counters(16), 0.0) | {"SQ_WAVES": 1000}
    with pytest.raises(UnjudgedError, match="clock gated"):
        one(gated)


@settings(max_examples=15, deadline=None)
@given(st.floats(1, 64), st.floats(0.01, 1))
def test_it_saves_no_more_than_vector_work_takes(lanes: float, busy: float) -> None:
    findings = one(counters(lanes, busy))
    assert bool(findings) is (lanes * busy * UNIT_CYCLES / (busy * UNIT_CYCLES) < 48)
    for finding in findings:
        assert finding.saves_ns is not None
        assert 0 < finding.saves_ns <= ms(1) * busy + 1


@pytest.mark.parametrize("folder", ["compute_vcopy/MI200", "compute_gemm_mi325x/swizzle"])
def test_recorded_kernels_that_use_their_lanes(
    ingested: Callable[[str], Path], folder: str
) -> None:
    with open_profile(ingested(folder)) as profile:
        assert found(profile) == []
