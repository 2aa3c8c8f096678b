"""The contract of every analysis, and the numbers of this one."""

from __future__ import annotations

from rocperf.testing import AnalysisContract, TraceBuilder, us
from short_kernels import ShortKernels, ShortKernelsOptions


def launches(trace: TraceBuilder, kernel: str, count: int, each: int) -> TraceBuilder:
    for number in range(count):
        trace.dispatch(kernel, start=number * us(50), duration=each)
    return trace


class TestShortKernels(AnalysisContract):
    analysis = ShortKernels

    def flagged(self, trace: TraceBuilder) -> TraceBuilder:
        return launches(trace, "scale", 100, us(3))

    def healthy(self, trace: TraceBuilder) -> TraceBuilder:
        return launches(trace, "gemm", 100, us(40))


def test_it_could_save_the_time_of_the_kernel(trace: TraceBuilder) -> None:
    """100 launches of 3 µs are 300 µs."""
    with launches(trace, "scale", 100, us(3)).profile() as profile:
        [finding] = ShortKernels(ShortKernelsOptions()).run(profile)
    assert finding.saves_ns == 300_000
    assert finding.title == "scale: 100 launches of 3.0 µs"


def test_few_launches_do_not_matter(trace: TraceBuilder) -> None:
    with launches(trace, "scale", 99, us(3)).profile() as profile:
        assert list(ShortKernels(ShortKernelsOptions()).run(profile)) == []
        assert len(list(ShortKernels(ShortKernelsOptions(launches=99)).run(profile))) == 1
