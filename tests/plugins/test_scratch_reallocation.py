"""Scratch memory allocated again, on traces built by hand."""

from __future__ import annotations

import pytest

from rocperf import engine
from rocperf.model import Finding, Skipped
from rocperf.profile import Profile
from rocperf.testing import AnalysisContract, TraceBuilder, us
from rocperf_analyses.scratch_reallocation import ScratchOptions, ScratchReallocation


def found(profile: Profile, **options: float) -> list[Finding]:
    return list(ScratchReallocation(ScratchOptions(**options)).run(profile))  # type: ignore[arg-type]


def events(trace: TraceBuilder, *queues: int) -> TraceBuilder:
    """A kernel with scratch, and an allocation of 400 µs for each queue named, in order."""
    trace.dispatch("spills", start=0, duration=us(100), scratch_bytes=96)
    for number, queue in enumerate(queues):
        trace.row("scratch_events", operation="alloc", agent_id=1, queue_id=queue,
                  start=us(1000 * number), duration=us(400))  # fmt: skip
        trace.row("scratch_events", operation="free", agent_id=1, queue_id=queue,
                  start=us(1000 * number + 500), duration=us(100))  # fmt: skip
    return trace


class TestScratchContract(AnalysisContract):
    analysis = ScratchReallocation

    def flagged(self, trace: TraceBuilder) -> TraceBuilder:
        return events(trace, 1, 1, 1, 1)

    def healthy(self, trace: TraceBuilder) -> TraceBuilder:
        return events(trace, 1, 2, 3, 4)


def test_allocations_after_the_first_of_a_queue_are_the_bound() -> None:
    """Queue 1 three times, queue 2 twice: three of 400 µs too many."""
    [finding] = found(events(TraceBuilder(), 1, 1, 2, 1, 2).profile())
    assert finding.saves_ns == 1_200_000
    assert "3 times more than once a queue, needed by spills" in finding.title


def test_kernels_without_scratch_need_no_events() -> None:
    trace = TraceBuilder().dispatch("k", start=0, duration=us(100), scratch_bytes=0)
    assert found(trace.profile()) == []


@pytest.mark.parametrize("scratch", [96, None])
def test_what_collect_leaves_out_comes_with_the_profilers_command(scratch: int | None) -> None:
    trace = TraceBuilder().dispatch("k", start=0, duration=us(100), scratch_bytes=scratch)
    analysis = ScratchReallocation(ScratchOptions())
    [outcome] = engine.analyze(trace.profile(), {"scratch-reallocation": analysis})
    assert isinstance(outcome, Skipped)
    assert outcome.missing[0].startswith("rows in scratch_events")
    assert outcome.command is not None
    assert "--scratch-memory-trace --output-format csv" in outcome.command


def test_one_more_is_no_habit() -> None:
    assert found(events(TraceBuilder(), 1, 1).profile()) == []
    assert len(found(events(TraceBuilder(), 1, 1).profile(), min_again=1)) == 1
