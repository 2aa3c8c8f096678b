"""Counters that contradict each other in many dispatches."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import rocperf
from rocperf.ingest.load import ingest
from rocperf.model import Finding
from rocperf.profile import Profile
from rocperf.testing import AnalysisContract, TraceBuilder, us
from rocperf_analyses.counter_consistency import ConsistencyOptions, CounterConsistency


def found(profile: Profile, **options: float) -> list[Finding]:
    return list(CounterConsistency(ConsistencyOptions(**options)).run(profile))


def noted(trace: TraceBuilder, bad: int, *, code: str = "invariant-l2-requests") -> TraceBuilder:
    """Twenty dispatches with counters, of which the notes call some contradictory."""
    for number in range(20):
        counters = {"TCC_HIT_sum": 1.0}
        trace.dispatch("k", start=us(100 * number), duration=us(90), counters=counters)
    run_id = 2  # the builder's counter run
    message = "hits and misses of the L2 are its requests: not so"
    severity = "info" if code == "invariant-clock" else "warning"
    note = {"severity": severity, "code": code, "message": message, "rows": bad}
    return trace.row("notes", run_id=run_id, **note) if bad else trace


class TestConsistencyContract(AnalysisContract):
    analysis = CounterConsistency

    def flagged(self, trace: TraceBuilder) -> TraceBuilder:
        return noted(trace, 5)

    def healthy(self, trace: TraceBuilder) -> TraceBuilder:
        return noted(trace, 1)


def test_a_quarter_of_the_dispatches_is_many() -> None:
    with noted(TraceBuilder(), 5).profile() as profile:
        [finding] = found(profile)
    assert finding.rule == "counter-consistency/contradictions"
    assert "up to 25 % of the dispatches" in finding.title
    assert finding.saves_ns is None


@pytest.mark.parametrize(("bad", "share", "many"), [(1, 0.1, 0), (2, 0.1, 1), (5, 0.5, 0)])
def test_how_many_are_many_is_an_option(bad: int, share: float, many: int) -> None:
    with noted(TraceBuilder(), bad).profile() as profile:
        assert len(found(profile, share=share)) == many


def test_cycles_beyond_the_clock_are_usual() -> None:
    with noted(TraceBuilder(), 20, code="invariant-clock").profile() as profile:
        assert found(profile) == []


def test_a_recorded_workload_that_counted_no_waves(
    recorded: Callable[[str], Path], tmp_path: Path
) -> None:
    path = ingest([recorded("compute_multikernel/MI200")], tmp_path / "t.rocperf")
    with rocperf.open(path) as profile:
        [finding] = found(profile)
    assert "Counters of 2 runs contradict each other in up to 100 %" in finding.title
    assert "(0 against " in finding.evidence[0].name  # type: ignore[union-attr]
