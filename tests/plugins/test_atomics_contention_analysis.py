"""Contended atomics, on traces built by hand and on recordings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rocperf.model import Finding, Measure
from rocperf.profile import Profile, open_profile
from rocperf.testing import AnalysisContract, TraceBuilder, ms
from rocperf_analyses.atomics_contention import AtomicsContention, AtomicsOptions


def counters(stall: float = 3.0e6, gate: float = 2.0e7, **more: float) -> dict[str, float]:
    return {
        "TCP_ATOMIC_TAGCONFLICT_STALL_CYCLES_sum": stall,
        "TCP_GATE_EN1_sum": gate,
        "SQ_WAVES": 1e5,
        "SQ_INSTS_VALU": 1e7,
    } | more


WAITS = {"SQ_WAIT_ANY": 6e8, "SQ_WAVE_CYCLES": 1e9}
MANY = {"TCC_ATOMIC_sum": 3e6, "TCC_REQ_sum": 1e7}


def found(profile: Profile, **options: float) -> list[Finding]:
    return list(AtomicsContention(AtomicsOptions(**options)).run(profile))


def one(counts: dict[str, float]) -> list[Finding]:
    return found(TraceBuilder().dispatch("k", start=0, duration=ms(1), counters=counts).profile())


class TestAtomicsContract(AnalysisContract):
    analysis = AtomicsContention

    def flagged(self, trace: TraceBuilder) -> TraceBuilder:
        return trace.dispatch("k", start=0, duration=ms(1), counters=counters(**WAITS))

    def healthy(self, trace: TraceBuilder) -> TraceBuilder:
        return trace.dispatch("k", start=0, duration=ms(1), counters=counters(0, **MANY, **WAITS))


def test_atomics_that_wait_for_each_other() -> None:
    """3.0e6 of 2.0e7 cycles are 15 %; three of ten L2 requests are atomics; waves wait 60 %."""
    [finding] = one(counters(**MANY, **WAITS))
    assert finding.rule == "atomics-contention/serialised"
    assert "wait for each other 15 % of the vector L1's time" in finding.title
    assert finding.saves_ns == ms(0.6)
    assert finding.confidence == "high"
    shown = {m.name: m.value for m in finding.evidence if isinstance(m, Measure)}
    assert shown["atomics among L2 requests"] == 30


@pytest.mark.parametrize(("stall", "flagged"), [(2.0e6, False), (2.1e6, True)])
def test_above_a_tenth_they_contend(stall: float, flagged: bool) -> None:
    assert bool(one(counters(stall))) is flagged


def test_few_atomics_are_a_doubt() -> None:
    [finding] = one(counters(**(MANY | {"TCC_ATOMIC_sum": 1e6})))
    assert finding.confidence == "medium"
    assert "few of the L2's requests are atomics" in finding.doubts


def test_without_waiting_nothing_bounds_it() -> None:
    [finding] = one(counters())
    assert finding.saves_ns is None


@pytest.mark.parametrize(("lost", "flagged"), [(0.9e6, False), (4e6, True)])
def test_atomics_on_one_address_of_the_lds(lost: float, flagged: bool) -> None:
    more = {"SQ_LDS_ADDR_CONFLICT": lost, "SQ_LDS_IDX_ACTIVE": 1e7, "SQ_LDS_ATOMIC_RETURN": 1e6}
    findings = one(counters(0, **more))
    assert [each.rule for each in findings] == ["atomics-contention/lds"] * flagged
    for finding in findings:
        assert "40 % of its LDS cycles" in finding.title


def test_address_conflicts_without_atomics_are_none() -> None:
    """Recorded reductions read 70 % and return nothing."""
    more = {"SQ_LDS_ADDR_CONFLICT": 7e6, "SQ_LDS_IDX_ACTIVE": 1e7}
    assert one(counters(0, **more, SQ_LDS_ATOMIC_RETURN=0)) == []
    assert one(counters(0, **more)) == [], "whether there are atomics was not counted"


def test_atomics_that_leave_the_l2() -> None:
    """5e8 over 1e6 are 500 cycles each; every fourth request of the L2 is an atomic."""
    more = {
        "TCC_ATOMIC_sum": 1.25e6,
        "TCC_REQ_sum": 5e6,
        "TCC_EA0_ATOMIC_sum": 1e6,
        "TCC_EA0_ATOMIC_LEVEL_sum": 5e8,
    }
    [finding] = one(counters(0, **more))
    assert finding.rule == "atomics-contention/fabric"
    assert "80 % of its atomics leave the L2" in finding.title
    assert "500 cycles each" in finding.title
    assert one(counters(0, **(more | {"TCC_EA0_ATOMIC_sum": 1e5}))) == []
    assert one(counters(0, **(more | {"TCC_REQ_sum": 5e9}))) == [], "semaphores of a reduction"


def test_kernels_below_one_percent_are_left_out() -> None:
    trace = TraceBuilder().dispatch("main", start=0, duration=ms(1000), counters=counters(0))
    trace.dispatch("small", start=ms(1000), duration=ms(9), counters=counters())
    assert found(trace.profile()) == []
    assert len(found(trace.profile(), min_share=0.005)) == 1


def test_recorded_reductions_do_not_contend(ingested: Callable[[str], Path]) -> None:
    """Their semaphores are atomics that all leave the L2, but 0.03 % of its requests."""
    with open_profile(ingested("compute_gemm_mi325x/swizzle")) as profile:
        assert found(profile, min_share=0) == []
