"""Allocation in the loop, on traces built by hand."""

from __future__ import annotations

from rocperf.model import Finding
from rocperf.profile import Profile
from rocperf.testing import AnalysisContract, TraceBuilder, us
from rocperf_analyses.allocation_churn import AllocationChurn, ChurnOptions


def found(profile: Profile, **options: float) -> list[Finding]:
    return list(AllocationChurn(ChurnOptions(**options)).run(profile))  # type: ignore[arg-type]


def steps(trace: TraceBuilder, allocate: str, release: str, count: int = 10) -> TraceBuilder:
    """Every 100 µs allocate for 6, run a kernel for 50, release for 9."""
    for number in range(count):
        start = 100 * number
        trace.call(allocate, start=us(start), duration=us(6), thread_id=7)
        trace.dispatch("k", start=us(start + 10), duration=us(50))
        trace.call(release, start=us(start + 55), duration=us(9), thread_id=7)
    return trace


class TestChurnContract(AnalysisContract):
    analysis = AllocationChurn

    def flagged(self, trace: TraceBuilder) -> TraceBuilder:
        return steps(trace, "hipMalloc", "hipFree")

    def healthy(self, trace: TraceBuilder) -> TraceBuilder:
        return steps(trace, "hipMallocAsync", "hipFreeAsync")


def test_calls_between_the_first_and_the_last_kernel_count() -> None:
    """Nine of hipMalloc (6 µs) and nine of hipFree (9 µs); the first and the last are set-up."""
    [finding] = found(steps(TraceBuilder(), "hipMalloc", "hipFree").profile())
    assert finding.saves_ns == 9 * 6_000 + 9 * 9_000
    assert finding.title.startswith("18 calls between kernels, mostly hipFree and hipMalloc")
    assert "hipMallocAsync" in finding.advice


def test_a_few_calls_are_set_up() -> None:
    profile = steps(TraceBuilder(), "hipMalloc", "hipFree", count=5).profile()
    assert found(profile) == []
    assert len(found(profile, min_calls=8)) == 1


def test_calls_that_cost_nothing_are_left_out() -> None:
    trace = steps(TraceBuilder(), "hipMalloc", "hipFree").call("main", start=0, duration=us(9999))
    assert found(trace.profile()) == []
