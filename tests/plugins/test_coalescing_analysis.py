"""The coalescing analysis on traces built by hand and on recordings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocperf import UnjudgedError, engine
from rocperf.model import Finding, Measure, Skipped
from rocperf.profile import Profile, open_profile
from rocperf.testing import AnalysisContract, TraceBuilder, ms
from rocperf_analyses.coalescing import Coalescing, CoalescingOptions


def found(profile: Profile, **options: float) -> list[Finding]:
    return list(Coalescing(CoalescingOptions(**options)).run(profile))


def access(
    lines: float, reads: float | None, writes: float = 0, accesses: float = 64
) -> dict[str, float]:
    """Return counters of 1000 wave instructions, each with these lines and L2 requests."""
    counters = {
        "TA_TOTAL_WAVEFRONTS_sum": 1000,
        "TCP_TOTAL_CACHE_ACCESSES_sum": 1000 * lines,
        "TCP_TOTAL_ACCESSES_sum": 1000 * accesses,
        "SQ_WAVES": 1000,
        "SQ_INSTS_VALU": 5000,
    }
    if reads is not None:
        counters |= {"TCP_TCC_READ_REQ_sum": 1000 * reads, "TCP_TCC_WRITE_REQ_sum": 1000 * writes}
    return counters


def one(counters: dict[str, float], target: str = "gfx942") -> list[Finding]:
    trace = TraceBuilder(target).dispatch("k", start=0, duration=ms(1), counters=counters)
    return found(trace.profile())


class TestCoalescingContract(AnalysisContract):
    analysis = Coalescing

    def flagged(self, trace: TraceBuilder) -> TraceBuilder:
        return trace.dispatch("scattered", start=0, duration=ms(1), counters=access(64, 64))

    def healthy(self, trace: TraceBuilder) -> TraceBuilder:
        return trace.dispatch("unit stride", start=0, duration=ms(1), counters=access(4, 2))


def test_every_lane_its_own_line() -> None:
    """64 lines instead of 4: 15 of 16 parts of the traffic could go."""
    [finding] = one(access(64, 64))
    assert finding.rule == "coalescing/uncoalesced"
    assert "touches 64 cache lines (one a lane" in finding.title
    assert finding.saves_ns == ms(1) * 15 // 16
    assert finding.confidence == "high"
    values = {m.name: m.value for m in finding.evidence if isinstance(m, Measure)}
    # 64 reads of 128 B each on gfx942; 1600 * 1000 / 64000 is the usual 25 %.
    assert values["bytes asked of the L2 per wave instruction"] == 8192
    assert values["coalescing, the usual figure"] == 25


@pytest.mark.parametrize(
    ("lines", "reads", "why"),
    [
        (4, 2, "4 bytes a lane, unit stride, as measured"),
        (16, 4, "8 bytes a lane, unit stride, as measured: the usual figure reads 25 % here, too"),
        (64, 8, "64 lanes of 16 bytes use all of 1024 B"),
        (64, 0.5, "the L1 holds what is touched"),
        (20, 64, "fewer lines than the option asks for"),
    ],
)
def test_what_is_used_is_not_wasted(lines: float, reads: float, why: str) -> None:
    assert one(access(lines, reads)) == [], why


def test_reads_of_an_mi200_are_half_as_wide() -> None:
    """8 reads of 64 B are the 512 B of a perfect 8-byte access."""
    assert one(access(32, 16), "gfx90a") == []  # 1024 B
    assert len(one(access(32, 17), "gfx90a")) == 1
    assert len(one(access(32, 9), "gfx942")) == 1  # 1152 B


def test_without_l2_requests_it_is_not_sure() -> None:
    [finding] = one(access(64, None))
    assert finding.confidence == "low"
    assert "were not collected" in finding.doubts[-1]
    assert finding.command == "rocperf collect --for coalescing -- ./app"


def test_counters_that_cannot_be_trusted_are_no_clean_bill() -> None:
    """Waves ran and no instruction was counted: the clocks were gated."""
    gated = dict.fromkeys(access(64, 64), 0.0) | {"SQ_WAVES": 1000}
    with pytest.raises(UnjudgedError, match="clock gated"):
        one(gated)


def test_of_a_gpu_that_does_not_count_lines_it_is_skipped() -> None:
    trace = TraceBuilder("gfx1201").dispatch("k", start=0, duration=ms(1), counters={"SQ_WAVES": 9})
    [outcome] = engine.analyze(trace.profile(), {"coalescing": Coalescing(CoalescingOptions())})
    assert isinstance(outcome, Skipped)
    assert "gfx1201" in outcome.missing[0]


def test_kernels_below_one_percent_are_left_out() -> None:
    trace = TraceBuilder().dispatch("main", start=0, duration=ms(1000), counters=access(4, 2))
    trace.dispatch("small", start=ms(1000), duration=ms(9), counters=access(64, 64))
    assert found(trace.profile()) == []
    assert len(found(trace.profile(), min_share=0.005)) == 1


def test_many_launches_are_one_ratio_of_sums() -> None:
    """3 launches of 4 lines and 1 of 64 touch 19 on average: no finding, and one with less."""
    trace = TraceBuilder()
    for number, lines in enumerate([4, 4, 4, 64]):
        trace.dispatch("k", start=ms(number), duration=ms(1), counters=access(lines, 64))
    assert found(trace.profile()) == []
    [finding] = found(trace.profile(), min_lines=19)
    assert "touches 19 cache lines" in finding.title
    assert finding.saves_ns == pytest.approx(ms(4) * (1 - 4 / 19), abs=1)


@settings(max_examples=25, deadline=None)
@given(st.floats(0.1, 64), st.floats(0, 128), st.floats(0, 128), st.integers(1, ms(100)))
def test_it_saves_less_than_it_takes(
    lines: float, reads: float, writes: float, duration: int
) -> None:
    trace = TraceBuilder()
    trace.dispatch("k", start=0, duration=duration, counters=access(lines, reads, writes))
    wasteful = lines >= 24 and 128 * reads + 64 * writes > 1024
    findings = found(trace.profile())
    assert len(findings) == wasteful
    for finding in findings:
        assert finding.saves_ns is not None
        assert duration * (1 - 4 / 24) - 1 <= finding.saves_ns <= duration


def test_the_recorded_pair(ingested: Callable[[str], Path]) -> None:
    """The strided copy takes 5889 ns, its unit-stride twin 3646."""
    with open_profile(ingested("mi300x_ubench/coalescing/uncoalesced")) as profile:
        [finding] = found(profile)
    assert "64 cache lines" in finding.title
    assert finding.saves_ns is not None
    assert 5889 - 3646 <= finding.saves_ns <= 5889
    with open_profile(ingested("mi300x_ubench/coalescing/coalesced")) as profile:
        assert found(profile) == []


@pytest.mark.parametrize(
    "folder",
    [
        "compute_vcopy/MI200",
        "compute_vcopy/MI300X_A1",
        "compute_vcopy/MI300X_A1_rocpd",
        "mi300x_ubench/bank_conflict/conflict",
    ],
)
def test_recorded_coalesced_kernels_are_not_flagged(
    ingested: Callable[[str], Path], folder: str
) -> None:
    with open_profile(ingested(folder)) as profile:
        assert found(profile) == []
