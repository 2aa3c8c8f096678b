"""The scratch analysis on traces built by hand and on recordings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocperf import Gpu
from rocperf.model import Finding, Measure
from rocperf.profile import Profile, open_profile
from rocperf.testing import AnalysisContract, TraceBuilder, ms
from rocperf_analyses.register_spills import RegisterSpills, SpillOptions, footprint


def found(profile: Profile, **options: float) -> list[Finding]:
    return list(RegisterSpills(SpillOptions(**options)).run(profile))  # type: ignore[arg-type]


def one(
    scratch: int | None,
    counters: dict[str, float] | None = None,
    target: str = "gfx942",
    **more: Any,
) -> list[Finding]:
    trace = TraceBuilder(target)
    columns = {"scratch_bytes": scratch, "workgroup_size": 256} | more
    trace.dispatch("k", start=0, duration=ms(1), counters=counters, **columns)
    return found(trace.profile())


def buffers(touched: float, total: float) -> dict[str, float]:
    """Return counters of 1000 waves with these buffer and memory instructions in all."""
    return {
        "SQ_WAVES": 1000,
        "SQ_INSTS_VALU": 9000,
        "TA_BUFFER_WAVEFRONTS_sum": touched,
        "TA_TOTAL_WAVEFRONTS_sum": total,
    }


class TestSpillsContract(AnalysisContract):
    analysis = RegisterSpills

    def flagged(self, trace: TraceBuilder) -> TraceBuilder:
        return trace.dispatch("k", start=0, duration=ms(1), scratch_bytes=320, workgroup_size=256)

    def healthy(self, trace: TraceBuilder) -> TraceBuilder:
        return trace.dispatch("k", start=0, duration=ms(1), scratch_bytes=0, workgroup_size=256)


@pytest.mark.parametrize(
    ("scratch", "confidence"), [(64, None), (65, "low"), (256, "low"), (257, "medium")]
)
def test_some_is_a_hint_and_much_is_more(scratch: int, confidence: str | None) -> None:
    findings = one(scratch)
    assert [each.confidence for each in findings] == ([confidence] if confidence else [])
    for finding in findings:
        assert finding.rule == "register-spills/scratch"
        assert f"{scratch} B of scratch a work-item" in finding.title
        assert finding.saves_ns is None, "nobody counted how often it is touched"


def test_the_footprint_of_60_bytes_on_a_die_of_an_mi250() -> None:
    """60 B for 64 lanes, 8 waves on each of 4 SIMDs, 104 compute units: 12.8 MB."""
    gpu = Gpu(1, wave_size=64, max_waves_per_simd=8, simd_per_cu=4, cu_count=104)
    assert footprint(60, gpu) == 12_779_520
    assert footprint(60, Gpu(1, wave_size=64, max_waves_per_simd=8, simd_per_cu=4)) is None
    assert footprint(60, None) is None


def test_scratch_that_is_never_touched_is_well() -> None:
    assert one(1024, buffers(0, 5000), "gfx90a") == []


def test_counted_accesses_bound_what_they_cost() -> None:
    """2000 of 8000 memory instructions: a quarter of 1 ms, two a wave."""
    [finding] = one(1024, buffers(2000, 8000), "gfx90a")
    assert finding.saves_ns == ms(0.25)
    assert "accessed 2 times by a wave" in finding.title
    assert finding.confidence == "medium"


def test_buffers_of_a_gpu_that_does_not_use_them_for_scratch_say_nothing() -> None:
    """On gfx942 scratch goes another way: what is counted there are not spills."""
    [finding] = one(1024, buffers(2000, 8000), "gfx942")
    assert finding.saves_ns is None
    assert "accessed" not in finding.title


@pytest.mark.parametrize(
    ("vgpr", "size", "capped"),
    [(128, 256, True), (64, 256, False), (128, 1024, False), (256, 256, False)],
)
def test_the_cap_of_missing_launch_bounds_is_named(vgpr: int, size: int, capped: bool) -> None:
    [finding] = one(160, vgpr=vgpr, agpr=0, workgroup_size=size)
    assert ("__launch_bounds__(256)" in finding.advice) is capped


def test_kernels_below_one_percent_are_left_out() -> None:
    trace = TraceBuilder().dispatch("main", start=0, duration=ms(1000), scratch_bytes=0)
    trace.dispatch("small", start=ms(1000), duration=ms(9), scratch_bytes=512)
    assert found(trace.profile()) == []
    assert len(found(trace.profile(), min_share=0.005)) == 1


def test_copies_of_the_runtime_are_nobodys_to_change() -> None:
    trace = TraceBuilder().dispatch("fill", start=0, duration=ms(1), role="fill", scratch_bytes=512)
    assert found(trace.profile()) == []


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 10_000), st.integers(0, 4096))
def test_it_saves_no_more_than_the_kernel_takes(touched: int, rest: int, scratch: int) -> None:
    findings = one(scratch, buffers(touched, touched + rest), "gfx90a")
    assert bool(findings) is (touched > 0 and scratch >= 65)
    for finding in findings:
        assert finding.saves_ns is not None
        assert 0 <= finding.saves_ns <= ms(1)


def test_the_recorded_reductions(ingested: Callable[[str], Path]) -> None:
    """Of the PyTorch kernels beside the matrix product only one reserves scratch and matters not:
    the reductions take under 1 % of the time."""
    with open_profile(ingested("compute_gemm_mi325x/swizzle")) as profile:
        assert found(profile) == []
        [first, *_] = found(profile, min_share=0.002)
    held = {m.name: m.value for m in first.evidence if isinstance(m, Measure)}
    # 80 B for 64 lanes, 32 waves, 304 compute units.
    assert held["scratch of all waves the GPU can hold"] in (48 * 64 * 32 * 304, 80 * 64 * 32 * 304)
