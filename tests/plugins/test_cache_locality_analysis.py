"""Cache locality on traces built by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocperf import UnjudgedError
from rocperf.model import Finding, Measure
from rocperf.profile import Profile
from rocperf.testing import AnalysisContract, TraceBuilder, ms
from rocperf_analyses.cache_locality import CacheLocality, LocalityOptions

MI300X: dict[str, Any] = {"product": "AMD Instinct MI300X"}
#: What the L2 of an MI300X gives in 1 ms: 16,384 B a cycle at 2.1 GHz.
L2_BYTES = 16_384 * 2.1e6


def counters(asked: float, read: float, **more: float) -> dict[str, float]:
    """Return counters of reads of 128 B asked of the L2, and of those over the fabric, in bytes."""
    return {
        "TCP_TCC_READ_REQ_sum": asked / 128,
        "TCP_TCC_WRITE_REQ_sum": 0,
        "TCP_TCC_ATOMIC_WITH_RET_REQ_sum": 0,
        "TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum": 0,
        "TCC_BUBBLE_sum": read / 128,
        "TCC_EA0_RDREQ_sum": read / 128,
        "TCC_EA0_RDREQ_32B_sum": 0,
        "TCC_EA0_WRREQ_sum": 0,
        "TCC_EA0_WRREQ_64B_sum": 0,
        "SQ_WAVES": 1e5,
        "SQ_INSTS_VALU": 1e8,
        "GRBM_GUI_ACTIVE": 8 * 2.1e6,
    } | more


def found(profile: Profile, **options: float) -> list[Finding]:
    return list(CacheLocality(LocalityOptions(**options)).run(profile))


def one(asked: float, read: float, allocated: int | None = None, **more: float) -> list[Finding]:
    trace = TraceBuilder(**MI300X)
    trace.dispatch("k", start=0, duration=ms(1), counters=counters(asked, read, **more))
    if allocated is not None:
        trace.row("allocations", operation="alloc", agent_id=1, bytes=allocated)
    return found(trace.profile())


class TestLocalityContract(AnalysisContract):
    analysis = CacheLocality

    def flagged(self, trace: TraceBuilder) -> TraceBuilder:
        counts = counters(0.5 * L2_BYTES, 0.05 * L2_BYTES)
        return trace.dispatch("k", start=0, duration=ms(1), counters=counts)

    def healthy(self, trace: TraceBuilder) -> TraceBuilder:
        """A copy: its hit rate is low and everything is fetched once."""
        counts = counters(1e9, 1e9, TCC_HIT_sum=1e5, TCC_MISS_sum=9e5)
        return trace.dispatch("k", start=0, duration=ms(1), counters=counts)


def test_ten_times_from_the_l2() -> None:
    """Half of the L2's bandwidth, ten bytes for each byte of memory: nine repeat."""
    [finding] = one(0.5 * L2_BYTES, 0.05 * L2_BYTES, TCC_HIT_sum=8e6, TCC_MISS_sum=2e6)
    assert finding.rule == "cache-locality/l2"
    assert "asks 10 bytes of the L2 for each byte of memory, 50 % of what" in finding.title
    assert finding.saves_ns == pytest.approx(ms(0.9), rel=1e-6)
    shown = {m.name: m.value for m in finding.evidence if isinstance(m, Measure)}
    assert shown["L2 hit rate"] == pytest.approx(80)


@pytest.mark.parametrize(
    ("busy", "repeats", "flagged"),
    [(0.29, 10, False), (0.31, 10, True), (0.5, 3.9, False), (0.5, 4.1, True)],
)
def test_it_takes_both_repetition_and_a_busy_l2(busy: float, repeats: float, flagged: bool) -> None:
    assert bool(one(busy * L2_BYTES, busy * L2_BYTES / repeats)) is flagged


def test_nothing_but_the_l2() -> None:
    [finding] = one(0.5 * L2_BYTES, 0)
    assert finding.saves_ns == ms(1)
    assert "no byte of memory" in finding.title


def test_more_than_was_ever_allocated_is_read_again() -> None:
    """2 GB in 1 ms are 37.6 % of 5324.8 GB/s; of 500 MB some must have come 4 times."""
    [finding] = one(2e9, 2e9, allocated=500_000_000)
    assert finding.rule == "cache-locality/memory"
    assert "reads 2,000 MB from memory, 4 times all" in finding.title
    assert finding.saves_ns == ms(0.75)


@pytest.mark.parametrize(
    ("read", "allocated"),
    [(2e9, 1_400_000_000), (1e9, 500_000_000), (2e9, None)],
    ids=["could be read once", "18.8 % of the bandwidth", "allocations were not recorded"],
)
def test_what_may_be_needed_is_well(read: float, allocated: int | None) -> None:
    assert one(read, read, allocated) == []


def test_rates_of_short_kernels_are_not_used() -> None:
    trace = TraceBuilder(**MI300X)
    trace.dispatch("k", start=0, duration=6_000, counters=counters(0.5 * L2_BYTES, 0))
    with pytest.raises(UnjudgedError, match="too short for rates"):
        found(trace.profile())


@settings(max_examples=15, deadline=None)
@given(st.floats(0, 1), st.floats(0, 1))
def test_it_saves_less_than_it_takes(asked: float, read: float) -> None:
    for finding in one(asked * L2_BYTES, read * L2_BYTES / 8):
        assert finding.saves_ns is not None
        assert ms(1) * 0.75 - 1 <= finding.saves_ns <= ms(1)
