"""Waiting waves, on traces built by hand."""

from __future__ import annotations

from typing import Any

import pytest

from rocperf import UnjudgedError
from rocperf.model import Finding, Measure
from rocperf.profile import Profile
from rocperf.testing import AnalysisContract, TraceBuilder, ms
from rocperf_analyses.latency_bound import LatencyBound, LatencyOptions

MI300X: dict[str, Any] = {"product": "AMD Instinct MI300X"}
#: 1 ms at 2.1 GHz on 304 compute units.
UNIT_CYCLES = 2.1e6 * 304


def counters(
    waiting: float = 0.8, valu: float = 0.1, gbs: float = 500, **more: float
) -> dict[str, float]:
    """Return counters of 1 ms by shares, and memory reads of 128 B by their rate."""
    requests = gbs * 1e6 / 128
    return {
        "SQ_WAVE_CYCLES": 1e9,
        "SQ_WAIT_ANY": waiting * 1e9,
        "SQ_ACTIVE_INST_VALU": valu * UNIT_CYCLES,
        "TCC_BUBBLE_sum": requests,
        "TCC_EA0_RDREQ_sum": requests,
        "TCC_EA0_RDREQ_32B_sum": 0,
        "TCC_EA0_WRREQ_sum": 0,
        "TCC_EA0_WRREQ_64B_sum": 0,
        "SQ_WAVES": 1e6,
        "SQ_INSTS_VALU": 1e8,
        "GRBM_GUI_ACTIVE": 8 * 2.1e6,
    } | more


#: A wave lives 4000 cycles; of 8 loads each takes 400 cycles, so that 0.8 are in flight.
LOADS = {"SQ_INSTS_VMEM": 8e6, "SQ_INST_LEVEL_VMEM_ACCUM": 8e6 * 400}
#: 40 LDS instructions of 64 cycles: 0.64 in flight.
LDS = {"SQ_INSTS_LDS": 40e6, "SQ_INST_LEVEL_LDS_ACCUM": 40e6 * 64}


def found(profile: Profile, **options: float) -> list[Finding]:
    return list(LatencyBound(LatencyOptions(**options)).run(profile))


def one(counts: dict[str, float], **agent: Any) -> list[Finding]:
    trace = TraceBuilder(**(agent or MI300X))
    return found(trace.dispatch("k", start=0, duration=ms(1), counters=counts).profile())


class TestLatencyContract(AnalysisContract):
    analysis = LatencyBound

    def flagged(self, trace: TraceBuilder) -> TraceBuilder:
        trace._agent |= MI300X
        return trace.dispatch("k", start=0, duration=ms(1), counters=counters())

    def healthy(self, trace: TraceBuilder) -> TraceBuilder:
        """A copy at 70 % of the bandwidth: it waits nearly always, and is well."""
        trace._agent |= MI300X
        counts = counters(waiting=0.98, valu=0.01, gbs=3800)
        return trace.dispatch("k", start=0, duration=ms(1), counters=counts)


def test_waves_that_wait_while_all_is_idle() -> None:
    """8e8 of 1e9 are 80 %; the busiest unit is the vector ALUs with 10 %."""
    [finding] = one(counters())
    assert finding.rule == "latency-bound/waiting"
    assert "its waves wait 80 % of their time" in finding.title
    assert finding.saves_ns == pytest.approx(ms(0.9), rel=1e-6)
    assert "the vector ALUs, 10 %" in finding.reasoning
    assert finding.symptom
    assert "for what they wait was not measured" in finding.doubts
    assert finding.command == "rocperf collect --for latency-bound -- ./app"


def test_for_what_they_wait() -> None:
    [finding] = one(counters(**LOADS, **LDS))
    assert "with 0.8 vector memory instructions in flight for each wave" in finding.title
    shown = {m.name: m.value for m in finding.evidence if isinstance(m, Measure)}
    assert shown["cycles that vector memory takes"] == 400
    assert shown["LDS instructions in flight for each wave"] == pytest.approx(0.64)
    assert "#pragma unroll" in finding.advice
    assert finding.command is None


@pytest.mark.parametrize(
    ("waiting", "valu", "gbs", "flagged"),
    [
        (0.59, 0.1, 500, False),
        (0.61, 0.1, 500, True),
        (0.8, 0.41, 500, False),
        (0.8, 0.39, 500, True),
        (0.8, 0.1, 3200, False),  # 60.1 % of 5324.8 GB/s
        (0.8, 0.1, 3190, True),
    ],
)
def test_it_takes_waiting_and_idle_units(
    waiting: float, valu: float, gbs: float, flagged: bool
) -> None:
    assert bool(one(counters(waiting, valu, gbs))) is flagged


def test_busy_matrix_units_hide_it() -> None:
    busy = {"SQ_VALU_MFMA_BUSY_CYCLES": 0.5 * 4 * UNIT_CYCLES}
    assert one(counters(**busy)) == []


def test_few_waves_are_named_first() -> None:
    """4e9 wave cycles on 304 units of 32 slots in 2.1e6 cycles are 19.6 %."""
    [finding] = one(counters())
    assert finding.advice.startswith("Only 20 % of the wave slots are used")


def test_an_unknown_bandwidth_is_not_a_low_one() -> None:
    with pytest.raises(UnjudgedError, match="the product of this gfx942"):
        one(counters(), cu_count=304)


def test_figures_per_cycle_of_short_kernels_are_not_used() -> None:
    trace = TraceBuilder(**MI300X)
    trace.dispatch("k", start=0, duration=6_000, counters=counters())
    with pytest.raises(UnjudgedError, match="too short"):
        found(trace.profile())
