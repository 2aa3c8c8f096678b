"""Compute units without work, on traces built by hand."""

from __future__ import annotations

from typing import Any

import pytest

from rocperf import UnjudgedError
from rocperf.model import Finding, Measure
from rocperf.profile import Profile
from rocperf.testing import AnalysisContract, TraceBuilder, ms
from rocperf_analyses.tail_effect import TailEffect, TailOptions

#: 1 ms at 2.1 GHz on 304 compute units.
UNIT_CYCLES = 2.1e6 * 304


def counters(busy: float) -> dict[str, float]:
    return {
        "SQ_BUSY_CU_CYCLES": busy * UNIT_CYCLES,
        "GRBM_GUI_ACTIVE": 8 * 2.1e6,
        "SQ_WAVES": 1e5,
        "SQ_INSTS_VALU": 1e7,
    }


def launch(groups: int = 3040) -> dict[str, Any]:
    return {"grid_size": 256 * groups, "workgroup_size": 256}


def found(profile: Profile, **options: float) -> list[Finding]:
    return list(TailEffect(TailOptions(**options)).run(profile))


def one(busy: float, groups: int = 3040) -> list[Finding]:
    trace = TraceBuilder()
    trace.dispatch("k", start=0, duration=ms(1), counters=counters(busy), **launch(groups))
    return found(trace.profile())


class TestTailContract(AnalysisContract):
    analysis = TailEffect

    def flagged(self, trace: TraceBuilder) -> TraceBuilder:
        return trace.dispatch("k", start=0, duration=ms(1), counters=counters(0.5), **launch())

    def healthy(self, trace: TraceBuilder) -> TraceBuilder:
        return trace.dispatch("k", start=0, duration=ms(1), counters=counters(0.95), **launch())


def test_units_that_stand_empty() -> None:
    """Half of the time with ten workgroups for each unit: half of 1 ms could go."""
    [finding] = one(0.5)
    assert finding.rule == "tail-effect/uneven"
    assert "hold waves 50 % of the time, though 3,040 workgroups reach 100 % of 304" in (
        finding.title
    )
    assert finding.saves_ns == pytest.approx(ms(0.5), rel=1e-6)
    assert finding.symptom


@pytest.mark.parametrize(
    ("busy", "groups", "flagged"),
    [
        (0.81, 3040, False),
        (0.79, 3040, True),
        (0.45, 152, False),  # half of the units get a workgroup: the grid says it all
        (0.30, 152, True),  # and those are at work for 60 % of the time
    ],
)
def test_what_the_grid_explains_is_not_said_again(busy: float, groups: int, flagged: bool) -> None:
    assert bool(one(busy, groups)) is flagged


def test_of_a_small_grid_only_the_units_that_it_reaches_count() -> None:
    """30 of 50 % are 60 %: the same work takes 60 % of the time."""
    [finding] = one(0.3, 152)
    assert finding.saves_ns == pytest.approx(ms(0.4), rel=1e-6)
    shown = {m.name: m.value for m in finding.evidence if isinstance(m, Measure)}
    assert shown["compute units that get a workgroup"] == 50


def test_short_kernels_are_not_judged() -> None:
    trace = TraceBuilder()
    trace.dispatch("k", start=0, duration=6_000, counters=counters(0.5 * 0.006), **launch())
    with pytest.raises(UnjudgedError, match="too short for figures per cycle"):
        found(trace.profile())


def test_kernels_below_one_percent_are_left_out() -> None:
    trace = TraceBuilder()
    trace.dispatch("main", start=0, duration=ms(100), counters=None, **launch())
    trace.dispatch("small", start=ms(100), duration=ms(0.9), counters=counters(0.4), **launch())
    assert found(trace.profile()) == []
    assert len(found(trace.profile(), min_share=0.005)) == 1
