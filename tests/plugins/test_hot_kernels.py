"""The list of hot kernels, on traces built by hand."""

from __future__ import annotations

from rocperf.model import Finding, Measure
from rocperf.profile import Profile
from rocperf.testing import AnalysisContract, TraceBuilder, ms, us
from rocperf_analyses.hot_kernels import HotKernels, HotOptions


def found(profile: Profile, **options: float) -> list[Finding]:
    return list(HotKernels(HotOptions(**options)).run(profile))


def five(**columns: bool) -> TraceBuilder:
    """Five kernels that take 50, 30, 10, 6 and 4 of 100 µs."""
    trace, start = TraceBuilder(**columns), 0
    for name, duration in zip("abcde", (50, 30, 10, 6, 4), strict=True):
        trace.dispatch(name, start=us(start), duration=us(duration))
        start += duration
    return trace


class TestHotContract(AnalysisContract):
    analysis = HotKernels

    def flagged(self, trace: TraceBuilder) -> TraceBuilder:
        for number, duration in enumerate((9, 1, 1, 1)):
            trace.dispatch(f"k{number}", start=ms(10 * number), duration=ms(duration))
        return trace

    def healthy(self, trace: TraceBuilder) -> TraceBuilder:
        for number in range(4):
            trace.dispatch(f"k{number}", start=ms(number), duration=ms(1))
        return trace


def test_two_of_five_take_eighty_percent() -> None:
    [finding] = found(five().profile())
    assert finding.title == "2 of 5 kernels take 80 % of kernel time: a, b"
    shares = [m.value for m in finding.evidence if isinstance(m, Measure)]
    assert shares == [50.0, 30.0]
    assert finding.saves_ns is None
    assert "not time lost" in finding.reasoning


def test_more_of_the_time_takes_more_kernels() -> None:
    assert found(five().profile(), most=0.85) == []  # 3 of 5 are no few
    [finding] = found(five().profile(), most=0.5)
    assert "takes 50 %" in finding.title


def test_kernels_that_hardly_matter_are_not_listed() -> None:
    """100 µs of 10 ms are 1 %."""
    trace = five().call("main", start=0, duration=ms(10))
    assert found(trace.profile()) == []
    assert len(found(trace.profile(), min_busy=0.009)) == 1


def test_of_a_counter_run_it_says_that_times_are_longer() -> None:
    [finding] = found(five(timing=False).profile())
    assert finding.confidence == "medium"
    assert "counter run" in finding.doubts[0]
