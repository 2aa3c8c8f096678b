"""The copy bandwidth analysis on traces built by hand and on recordings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocperf import engine
from rocperf.model import Completed, Finding, Measure, Skipped
from rocperf.profile import Profile, open_profile
from rocperf.testing import AnalysisContract, TraceBuilder, ms, us
from rocperf_analyses.memcpy_bandwidth import CopyOptions, MemcpyBandwidth

MI300X = {"product": "AMD Instinct MI300X"}
MIB = 1 << 20


def found(profile: Profile, **options: float) -> list[Finding]:
    return list(MemcpyBandwidth(CopyOptions(**options)).run(profile))  # type: ignore[arg-type]


def measure(finding: Finding, name: str) -> float:
    [value] = [m.value for m in finding.evidence if isinstance(m, Measure) and m.name == name]
    return float(value)


class TestMemcpyContract(AnalysisContract):
    analysis = MemcpyBandwidth

    def make(self) -> MemcpyBandwidth:
        return MemcpyBandwidth(CopyOptions(host_link=56.0))

    def flagged(self, trace: TraceBuilder) -> TraceBuilder:
        return trace.copy("host_to_device", start=0, duration=ms(10), size=64 * MIB)

    def healthy(self, trace: TraceBuilder) -> TraceBuilder:
        return trace.copy("host_to_device", start=0, duration=ms(1.25), size=64 * MIB)


def test_a_slow_copy_is_held_against_the_products_link() -> None:
    """56 GB/s is what PCIe Gen5 x16 does on an MI300X; 256 MiB in 20 ms are 13.4."""
    trace = TraceBuilder(**MI300X)
    trace.copy("host_to_device", start=0, duration=ms(20), size=256 * MIB)
    [finding] = found(trace.profile())
    assert finding.rule == "memcpy-bandwidth/slow"
    assert "13.4 GB/s" in finding.title
    assert "PCIe Gen5 x16 does 56 GB/s" in finding.title
    assert "hipHostMalloc" in finding.advice
    # 268,435,456 B at 56 GB/s take 4,793,490 ns.
    assert finding.saves_ns == pytest.approx(20_000_000 - 4_793_490, rel=0.01)


def test_one_more_than_half_of_the_rate_is_enough() -> None:
    trace = TraceBuilder(**MI300X)
    trace.copy("device_to_host", start=0, duration=ms(9), size=256 * MIB)  # 29.8 GB/s
    assert found(trace.profile()) == []


def test_copies_at_once_share_the_link() -> None:
    """Each takes 10 ms, but both are over in 11 ms."""
    trace = TraceBuilder(**MI300X)
    for start in (0, ms(1)):
        trace.copy("host_to_device", start=start, duration=ms(10), size=64 * MIB)
    [finding] = found(trace.profile())
    rate = 2 * 64 * MIB / 11e6
    assert measure(finding, "rate of large copies together") == pytest.approx(rate)
    assert measure(finding, "rate of one copy beside others") == pytest.approx(64 * MIB / 10e6)


@pytest.mark.parametrize("size", [0, 1, 4096, 65_535, MIB - 1])
def test_small_copies_are_not_judged_by_their_rate(size: int) -> None:
    trace = TraceBuilder(**MI300X)
    for number in range(100):
        trace.copy("host_to_device", start=ms(number), duration=us(500), size=size)
    assert found(trace.profile()) == []


def test_directions_and_pairs_are_told_apart() -> None:
    trace = TraceBuilder(**MI300X)
    for direction in ("host_to_device", "device_to_host"):
        trace.copy(direction, start=0, duration=ms(20), size=64 * MIB)
    trace.copy("host_to_host", start=0, duration=ms(500), size=64 * MIB)
    names = {finding.subject.name for finding in found(trace.profile())}
    assert names == {"host to GPU, agent 0 to 1", "GPU to host, agent 1 to 0"}


def test_within_a_gpu_half_of_the_memory_rate_counts() -> None:
    """An MI300X reads or writes 5.3 TB/s: a copy of 1 GiB at best takes 405 µs."""
    slow = TraceBuilder(**MI300X)
    slow.copy("device_to_device", start=0, duration=ms(2), size=1 << 30)
    [finding] = found(slow.profile())
    assert "half of the memory's peak" in finding.title
    assert finding.saves_ns == pytest.approx(2_000_000 - 405_000, rel=0.01)
    fast = TraceBuilder(**MI300X)
    fast.copy("device_to_device", start=0, duration=us(600), size=1 << 30)
    assert found(fast.profile()) == []


def test_between_gpus_the_peer_link_counts() -> None:
    trace = TraceBuilder(**MI300X)
    trace.copy("device_to_device", start=0, duration=ms(50), size=1 << 30, dst_agent_id=2)
    [finding] = found(trace.profile())
    assert "xGMI" in finding.title
    assert "hipDeviceEnablePeerAccess" in finding.advice


def test_of_an_unknown_link_nothing_is_claimed() -> None:
    trace = TraceBuilder("gfx1201", product="AMD Radeon RX 9070 XT")
    trace.copy("host_to_device", start=0, duration=ms(20), size=256 * MIB)
    [finding] = found(trace.profile())
    assert finding.rule == "memcpy-bandwidth/unknown-link"
    assert finding.saves_ns is None
    [finding] = found(trace.profile(), host_link=28.0)
    assert finding.rule == "memcpy-bandwidth/slow"
    assert finding.saves_ns == pytest.approx(20_000_000 - 268_435_456 / 28, rel=1e-6)


def test_without_sizes_it_is_skipped_and_says_so() -> None:
    trace = TraceBuilder(**MI300X).copy("host_to_device", start=0, duration=ms(20), size=None)
    analysis = MemcpyBandwidth(CopyOptions())
    [outcome] = engine.analyze(trace.profile(), {"memcpy-bandwidth": analysis})
    assert isinstance(outcome, Skipped)
    assert "size" in outcome.missing[0]


def test_savings_below_one_percent_of_the_wall_time_are_left_out() -> None:
    trace = TraceBuilder(**MI300X).copy("host_to_device", start=0, duration=ms(1), size=2 * MIB)
    trace.call("main", start=0, duration=ms(1000))
    assert found(trace.profile()) == []
    assert len(found(trace.profile(), min_share=0.0001)) == 1


sizes = st.integers(MIB, 64 * MIB)
copies = st.lists(
    st.tuples(st.integers(0, ms(5)), st.integers(1, ms(5)), sizes), min_size=1, max_size=8
)


@settings(max_examples=20, deadline=None)
@given(copies)
def test_no_more_is_saved_than_the_copies_take(rows: list[tuple[int, int, int]]) -> None:
    trace = TraceBuilder(**MI300X)
    busy: set[tuple[int, int]] = set()
    for start, duration, size in rows:
        trace.copy("host_to_device", start=start, duration=duration, size=size)
        busy.add((start, start + duration))
    spans = union(sorted(busy))
    for finding in found(trace.profile(), min_share=0.0):
        assert finding.saves_ns is not None
        assert 0 <= finding.saves_ns <= spans


def union(spans: list[tuple[int, int]]) -> int:
    total, until = 0, -1
    for start, end in spans:
        total += max(0, end - max(start, until))
        until = max(until, end)
    return total


def test_the_recorded_transpose_shows_staging(ingested: Callable[[str], Path]) -> None:
    """Four calls became 48 copies; one runs at 36 to 37 GB/s, and about two at a time."""
    with open_profile(ingested("rocpd_mi308x_copies")) as profile:
        outcome = engine.analyze(profile, {"memcpy-bandwidth": MemcpyBandwidth(CopyOptions())})[0]
        assert isinstance(outcome, Completed)
        assert len(outcome.findings) == 2
        for ranked in outcome.findings:
            finding = ranked.finding
            assert finding.saves_ns is None  # no source states the link of an MI308X
            assert measure(finding, "copies made of one call") == 12
            assert measure(finding, "bytes copied") == 787_251_200
            assert 35 < measure(finding, "rate of one copy beside others") < 38
            assert 54 < measure(finding, "rate of large copies together") < 56
            assert "pageable" in finding.advice
        # As PCIe Gen5 does 56 GB/s, nothing is slow here.
        assert found(profile, host_link=56.0) == []


def test_recorded_csv_has_no_sizes(ingested: Callable[[str], Path]) -> None:
    with open_profile(ingested("rocprofv3_csv_mi300x_training")) as profile:
        outcome = engine.analyze(profile, {"memcpy-bandwidth": MemcpyBandwidth(CopyOptions())})[0]
    assert isinstance(outcome, Skipped)
    assert "every CSV" in outcome.missing[0]
