"""First launches, outliers and slowing down, on traces built by hand."""

from __future__ import annotations

import pytest

from rocperf.model import Finding, Measure
from rocperf.profile import Profile
from rocperf.testing import AnalysisContract, TraceBuilder, us
from rocperf_analyses.warm_up import WarmUp, WarmUpOptions


def found(profile: Profile, **options: float) -> list[Finding]:
    return list(WarmUp(WarmUpOptions(**options)).run(profile))  # type: ignore[arg-type]


def launches(trace: TraceBuilder, *durations: float, grid: int = 1024) -> TraceBuilder:
    start = 0.0
    for duration in durations:
        trace.dispatch("k", start=us(start), duration=us(duration), grid_size=grid,
                       workgroup_size=256)  # fmt: skip
        start += duration + 1
    return trace


class TestWarmUpContract(AnalysisContract):
    analysis = WarmUp

    def flagged(self, trace: TraceBuilder) -> TraceBuilder:
        return launches(trace, 500, *[10] * 9, 90, 10)

    def healthy(self, trace: TraceBuilder) -> TraceBuilder:
        return launches(trace, 150, *[100, 101] * 6)


def test_the_first_launch_is_held_against_the_median_of_the_rest() -> None:
    [finding] = found(launches(TraceBuilder(), 210, *[10] * 9).profile())
    assert finding.rule == "warm-up/first"
    assert finding.saves_ns == 200_000
    assert finding.subject.kind == "profile"


def test_later_launches_that_stand_out_are_outliers() -> None:
    """Two of 30 and 50 µs beyond a median of 10: 60 µs."""
    [finding] = found(launches(TraceBuilder(), 10, 10, 30, 10, 50, *[10] * 6).profile())
    assert finding.rule == "warm-up/outliers"
    assert finding.saves_ns == 60_000
    assert "2 of 11 launches" in finding.title


def test_less_than_twice_the_median_does_not_stand_out() -> None:
    assert found(launches(TraceBuilder(), 19, 10, 19, *[10] * 9).profile()) == []


def test_a_kernel_that_slows_down_is_told() -> None:
    """Of twelve launches the median of 2 to 4 is 100 µs, of 9 to 12 it is 130."""
    times = [100] * 4 + [115] * 4 + [130] * 4
    [finding] = found(launches(TraceBuilder(), *times).profile())
    assert finding.rule == "warm-up/slowing"
    [ratio] = [m.value for m in finding.evidence if isinstance(m, Measure)]
    assert ratio == pytest.approx(1.3)
    # Beyond 100 µs: four launches of 15 and four of 30.
    assert finding.saves_ns == 180_000


def test_launches_of_other_grids_are_not_compared() -> None:
    trace = launches(TraceBuilder(), *[10] * 9)
    trace.dispatch("k", start=us(500), duration=us(900), grid_size=1 << 20, workgroup_size=256)
    assert found(trace.profile()) == []


def test_too_few_launches_are_not_compared() -> None:
    assert found(launches(TraceBuilder(), 500, *[10] * 6).profile()) == []
