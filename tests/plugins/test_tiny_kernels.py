"""Kernels shorter than their launch, on traces built by hand."""

from __future__ import annotations

from rocperf.model import Finding
from rocperf.profile import Profile
from rocperf.testing import AnalysisContract, TraceBuilder, us
from rocperf_analyses.launch_gaps import GapOptions, LaunchGaps
from rocperf_analyses.tiny_kernels import TinyKernels, TinyOptions


def found(profile: Profile, **options: float) -> list[Finding]:
    return list(TinyKernels(TinyOptions(**options)).run(profile))


def train(kernel: float, gap: float, trace: TraceBuilder | None = None) -> TraceBuilder:
    """A hundred kernels with equal gaps, both in µs."""
    trace = trace or TraceBuilder()
    for number in range(100):
        trace.dispatch("k", start=us((kernel + gap) * number), duration=us(kernel))
    return trace


class TestTinyContract(AnalysisContract):
    analysis = TinyKernels

    def flagged(self, trace: TraceBuilder) -> TraceBuilder:
        return train(5, 5, trace)

    def healthy(self, trace: TraceBuilder) -> TraceBuilder:
        return train(5, 1, trace)


def test_the_gaps_of_the_launches_are_the_bound() -> None:
    """99 gaps of 6 µs beside kernels of 4: 594 of 994 µs idle, 59.8 %."""
    with train(4, 6).profile() as profile:
        [finding] = found(profile)
        assert list(LaunchGaps(GapOptions()).run(profile)) == []  # each gap is told once
    assert finding.saves_ns == 99 * 6_000
    assert "100 kernels of 4 µs" in finding.title
    assert "hipGraph" in finding.advice
    assert finding.confidence == "medium"  # no calls were recorded


def test_kernels_of_ten_microseconds_are_not_tiny() -> None:
    assert found(train(10, 9).profile()) == []
    assert len(found(train(10, 9).profile(), median_us=11)) == 1


def test_a_gpu_that_idles_little_is_left_alone() -> None:
    """2.5 of 9.5 µs are 26 %."""
    assert found(train(7, 2.5).profile()) == []
    assert len(found(train(7, 2.5).profile(), idle=0.25)) == 1


def test_longer_gaps_are_not_the_launches() -> None:
    assert found(train(4, 50).profile()) == []
