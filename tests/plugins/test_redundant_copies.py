"""The same bytes copied again, on traces built by hand."""

from __future__ import annotations

from rocperf.model import Finding
from rocperf.profile import Profile
from rocperf.testing import AnalysisContract, TraceBuilder, us
from rocperf_analyses.redundant_copies import RedundantCopies, RedundantOptions


def found(profile: Profile, **options: float) -> list[Finding]:
    return list(RedundantCopies(RedundantOptions(**options)).run(profile))  # type: ignore[arg-type]


def copies(trace: TraceBuilder, *turns: str, step: int = 0) -> TraceBuilder:
    """Copies of 10 µs each 20, ``in`` or ``out``; the host address moves by `step` bytes."""
    for number, turn in enumerate(turns):
        host, device = 0x1000 + number * step, 0x9000
        into = turn == "in"
        ends = {"src_address": host, "dst_address": device}
        if not into:
            ends = {"src_address": device, "dst_address": host}
        direction = "host_to_device" if into else "device_to_host"
        trace.copy(direction, start=us(20 * number), duration=us(10), size=4096, **ends)
    return trace


class TestRedundantContract(AnalysisContract):
    analysis = RedundantCopies

    def flagged(self, trace: TraceBuilder) -> TraceBuilder:
        return copies(trace, *["in", "out"] * 4)

    def healthy(self, trace: TraceBuilder) -> TraceBuilder:
        return copies(trace, *["in", "out"] * 4, step=4096)


def test_there_and_back_is_ping_pong() -> None:
    """in, out, in, out, in: twice what had left comes back, each 10 and 10 µs."""
    [finding] = found(copies(TraceBuilder(), "in", "out", "in", "out", "in").profile())
    assert finding.rule == "redundant-copies/ping-pong"
    assert "2 times in all, 40 µs" in finding.title
    assert finding.saves_ns is None  # the host may have changed the bytes
    assert finding.confidence == "low"


def test_the_same_range_sent_again() -> None:
    [finding] = found(copies(TraceBuilder(), "in", "in", "in").profile())
    assert finding.rule == "redundant-copies/again"
    assert "2 times in all, 20 µs" in finding.title


def test_once_again_is_not_often() -> None:
    assert found(copies(TraceBuilder(), "in", "in").profile()) == []


def test_results_read_again_and_again_are_results() -> None:
    assert found(copies(TraceBuilder(), "out", "out", "out", "out").profile()) == []


def test_without_addresses_nothing_is_claimed() -> None:
    trace = TraceBuilder()
    for number in range(4):
        trace.copy("host_to_device", start=us(number * 20), duration=us(10), size=4096)
    with trace.profile() as profile:
        [lacks] = profile.missing(RedundantCopies.requires)
        assert "src_address" in lacks
