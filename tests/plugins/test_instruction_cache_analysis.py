"""The instruction cache, on traces built by hand and on recordings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rocperf.model import Finding, Measure
from rocperf.profile import Profile, open_profile
from rocperf.testing import AnalysisContract, TraceBuilder, ms, us
from rocperf_analyses.instruction_cache import InstructionCache, InstructionOptions


def counters(hits: float, **more: float) -> dict[str, float]:
    """Return counters of 1e6 fetches, of whose misses a third find the line on its way."""
    misses = 1e6 - hits
    return {
        "SQC_ICACHE_HITS": hits,
        "SQC_ICACHE_MISSES": misses * 2 / 3,
        "SQC_ICACHE_MISSES_DUPLICATE": misses / 3,
        "SQ_WAVES": 1e5,
        "SQ_INSTS_VALU": 1e7,
    } | more


WAITS = {"SQ_WAIT_ANY": 7e8, "SQ_WAVE_CYCLES": 1e9}


def found(profile: Profile, **options: float) -> list[Finding]:
    return list(InstructionCache(InstructionOptions(**options)).run(profile))


def one(counts: dict[str, float], duration: int = ms(1)) -> list[Finding]:
    trace = TraceBuilder().dispatch("k", start=0, duration=duration, counters=counts)
    return found(trace.profile())


class TestInstructionContract(AnalysisContract):
    analysis = InstructionCache

    def flagged(self, trace: TraceBuilder) -> TraceBuilder:
        return trace.dispatch("k", start=0, duration=ms(1), counters=counters(7e5, **WAITS))

    def healthy(self, trace: TraceBuilder) -> TraceBuilder:
        return trace.dispatch("k", start=0, duration=ms(1), counters=counters(9.9e5, **WAITS))


def test_code_that_does_not_fit() -> None:
    """3e5 of 1e6 fetches miss, and take 8e7 over 1e6 cycles; waves wait 70 % of 1 ms."""
    fetches = {"SQ_IFETCH": 1e6, "SQ_IFETCH_LEVEL_ACCUM": 8e7}
    [finding] = one(counters(7e5, **WAITS, **fetches))
    assert finding.rule == "instruction-cache/misses"
    assert "30 % of its instruction fetches miss" in finding.title
    assert finding.saves_ns == ms(0.7)
    shown = {m.name: m.value for m in finding.evidence if isinstance(m, Measure)}
    assert shown["cycles from a fetch to its instructions"] == 80


@pytest.mark.parametrize(
    ("hits", "duration", "flagged"),
    [(8.9e5, ms(1), True), (9.1e5, ms(1), False), (3.3e5, us(49), False), (3.3e5, us(50), True)],
)
def test_it_takes_misses_and_time(hits: float, duration: int, flagged: bool) -> None:
    assert bool(one(counters(hits), duration)) is flagged


def test_without_waiting_nothing_bounds_it() -> None:
    [finding] = one(counters(7e5))
    assert finding.saves_ns is None


def test_the_mean_of_the_launches_counts() -> None:
    trace = TraceBuilder()
    for number in range(40):
        trace.dispatch("k", start=us(20 * number), duration=us(20), counters=counters(3.3e5))
    assert found(trace.profile()) == [], "800 µs in all, but 20 each"


@pytest.mark.parametrize(
    "folder", ["compute_vcopy/MI200", "compute_gemm_mi325x/swizzle", "omniperf_v1_mixbench/mi200"]
)
def test_recorded_code_fits(ingested: Callable[[str], Path], folder: str) -> None:
    with open_profile(ingested(folder)) as profile:
        assert found(profile, min_share=0) == []
