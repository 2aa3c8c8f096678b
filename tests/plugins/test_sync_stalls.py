"""Waits of the host, on traces built by hand."""

from __future__ import annotations

from rocperf.model import Finding, Measure
from rocperf.profile import Profile
from rocperf.testing import AnalysisContract, TraceBuilder, us
from rocperf_analyses.sync_stalls import SyncOptions, SyncStalls


def found(profile: Profile, **options: float) -> list[Finding]:
    return list(SyncStalls(SyncOptions(**options)).run(profile))


def steps(trace: TraceBuilder, *, wait: float, count: int = 10) -> TraceBuilder:
    """Kernels of 50 µs each 100, a wait that ends `wait` µs after its kernel, then a launch."""
    for number in range(count):
        start, key = 100 * number, number + 1
        more = {"thread_id": 7, "correlation_id": key}
        trace.call("hipLaunchKernel", start=us(start - 5), duration=us(4), **more)
        trace.dispatch("k", start=us(start), duration=us(50), correlation_id=key)
        trace.call("hipStreamSynchronize", start=us(start), duration=us(50 + wait), thread_id=7)
    return trace


class TestSyncContract(AnalysisContract):
    analysis = SyncStalls

    def flagged(self, trace: TraceBuilder) -> TraceBuilder:
        return steps(trace, wait=40)

    def healthy(self, trace: TraceBuilder) -> TraceBuilder:
        return steps(trace, wait=10)  # 35 µs of the host's own work follow


def test_the_gaps_after_waits_are_the_bound() -> None:
    """Nine gaps of 50 µs; of the 45 to the next launch 40 are in the wait."""
    [finding] = found(steps(TraceBuilder(), wait=40).profile())
    assert finding.saves_ns == 9 * 50_000
    assert "hipStreamSynchronize" in finding.title
    [calls] = [
        m.value for m in finding.evidence if isinstance(m, Measure) and m.name == "calls that wait"
    ]
    assert calls == 10


def test_a_wait_for_the_last_kernel_costs_nothing() -> None:
    trace = TraceBuilder().dispatch("k", start=0, duration=us(50))
    trace.call("hipDeviceSynchronize", start=us(-2), duration=us(90), thread_id=7)
    assert found(trace.profile()) == []


def test_small_stalls_are_left_out() -> None:
    trace = steps(TraceBuilder(), wait=40, count=2).call("main", start=0, duration=us(5000))
    assert found(trace.profile()) == []  # 50 of 5000 µs
    assert len(found(trace.profile(), min_share=0.009)) == 1
