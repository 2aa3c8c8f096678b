"""Many small copies, on traces built by hand."""

from __future__ import annotations

import pytest

from rocperf.model import Finding, Measure
from rocperf.profile import Profile
from rocperf.testing import AnalysisContract, TraceBuilder, us
from rocperf_analyses.small_copies import SmallCopies, SmallOptions


def found(profile: Profile, **options: float) -> list[Finding]:
    return list(SmallCopies(SmallOptions(**options)).run(profile))  # type: ignore[arg-type]


def measure(finding: Finding, name: str) -> float:
    [value] = [m.value for m in finding.evidence if isinstance(m, Measure) and m.name == name]
    return float(value)


def train(trace: TraceBuilder, count: int, size: int, *, calls: str | None = None) -> TraceBuilder:
    """Copies of 8 µs each 30; a call begins 6 µs before its copy and ends 2 after it."""
    for number in range(count):
        start, key = us(30 * number), number + 1
        trace.copy("host_to_device", start=start, duration=us(8), size=size, correlation_id=key)
        if calls:
            trace.call(calls, start=start - us(6), duration=us(16), correlation_id=key)
    return trace


class TestSmallContract(AnalysisContract):
    analysis = SmallCopies

    def flagged(self, trace: TraceBuilder) -> TraceBuilder:
        return train(trace, 16, 4096)

    def healthy(self, trace: TraceBuilder) -> TraceBuilder:
        return train(trace, 16, 1 << 16)


def test_one_copy_would_cost_its_latency_once() -> None:
    """16 copies of 8 µs alone: 128 µs, of which one stays."""
    [finding] = found(train(TraceBuilder(), 16, 4096).profile())
    assert finding.saves_ns == 15 * 8_000
    assert "16 copies of 4,096 B (mean) from host to GPU cost 8 µs each" in finding.title
    assert finding.subject.name == "host to GPU, agent 0 to 1"


def test_the_waits_around_a_copy_count() -> None:
    """6 before, 8, 2 after are 16 µs; the first has nothing before it that is known: 250 µs."""
    [finding] = found(train(TraceBuilder(), 16, 4096, calls="hipMemcpy").profile())
    assert measure(finding, "with the waits around them") == pytest.approx(0.250)
    assert finding.saves_ns == round(250_000 * 15 / 16)


def test_a_call_that_does_not_wait_costs_nothing_afterwards() -> None:
    [finding] = found(train(TraceBuilder(), 16, 4096, calls="hipMemcpyAsync").profile())
    assert measure(finding, "with the waits around them") == pytest.approx(0.218)


def test_what_a_kernel_hides_is_no_wait() -> None:
    trace = train(TraceBuilder(), 16, 4096, calls="hipMemcpyAsync")
    trace.dispatch("k", start=us(-10), duration=us(600))
    [finding] = found(trace.profile())
    assert measure(finding, "with the waits around them") == pytest.approx(0.128)


def test_a_runtime_that_starts_is_not_latency() -> None:
    trace = train(TraceBuilder(), 8, 4096)
    trace.copy("host_to_device", start=us(400_000), duration=us(8), size=8, correlation_id=99)
    trace.call("hipMemcpy", start=us(1000), duration=us(399_050), correlation_id=99)
    [finding] = found(trace.profile(), min_share=0)
    assert measure(finding, "with the waits around them") == pytest.approx(0.072 + 0.1 + 0.042)


def test_few_copies_and_small_costs_are_left_alone() -> None:
    assert found(train(TraceBuilder(), 7, 4096).profile()) == []
    trace = train(TraceBuilder(), 16, 4096).call("main", start=0, duration=us(10_000))
    assert found(trace.profile()) == []  # 120 of 10,000 µs
    assert len(found(trace.profile(), min_share=0.01)) == 1


def test_directions_are_told_apart() -> None:
    trace = train(TraceBuilder(), 16, 64)
    for number in range(16):
        trace.copy("device_to_host", start=us(30 * number + 12), duration=us(9), size=64)
    assert {f.subject.name for f in found(trace.profile())} == {
        "host to GPU, agent 0 to 1",
        "GPU to host, agent 1 to 0",
    }
