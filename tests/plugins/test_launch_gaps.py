"""Idle time and its causes, on traces built by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocperf import engine
from rocperf.model import Finding, Measure, Skipped
from rocperf.profile import Profile, open_profile
from rocperf.testing import AnalysisContract, TraceBuilder, ms, us
from rocperf_analyses import timeline
from rocperf_analyses.launch_gaps import GapOptions, LaunchGaps


def found(profile: Profile, **options: float) -> list[Finding]:
    return list(LaunchGaps(GapOptions(**options)).run(profile))


def measure(finding: Finding, name: str) -> float:
    [value] = [m.value for m in finding.evidence if isinstance(m, Measure) and m.name == name]
    return float(value)


def launched(trace: TraceBuilder, number: int, start: int, duration: int, call: int) -> None:
    """Add a kernel and the call of thread 7 that launched it, 4 µs before `call` ends."""
    trace.call("hipLaunchKernel", start=call, duration=us(4), thread_id=7, correlation_id=number)
    trace.dispatch("k", start=start, duration=duration, thread_id=7, correlation_id=number)


class TestGapsContract(AnalysisContract):
    analysis = LaunchGaps

    def flagged(self, trace: TraceBuilder) -> TraceBuilder:
        for number in range(3):
            launched(trace, number + 1, ms(number), us(300), ms(number) - us(6))
        return trace

    def healthy(self, trace: TraceBuilder) -> TraceBuilder:
        for number in range(3):
            launched(trace, number + 1, us(301 * number), us(300), us(5 * number) - us(6))
        return trace


def test_the_example_idles_forty_percent() -> None:
    """Kernels [0, 10] [14, 20] [19, 30] [50, 60] µs: gaps of 4 and 20 µs in a span of 60."""
    trace = TraceBuilder()
    for start, end in ((0, 10), (14, 20), (19, 30), (50, 60)):
        trace.dispatch("k", start=us(start), duration=us(end - start))
    with trace.profile() as profile:
        rows = timeline.idle(profile)
        assert {(row.brief, row.idle_ns) for row in rows} == {(True, 4_000), (False, 20_000)}
        [long] = [each for each in found(profile) if each.rule == "launch-gaps/unknown"]
    assert measure(long, "idle of the time from first to last kernel") == pytest.approx(40)
    assert measure(long, "longest gap") == pytest.approx(20)
    assert long.saves_ns is None  # without a cause, nobody can say that the gap need not be
    assert long.confidence == "low"
    assert "hip-runtime-trace" in long.advice
    assert long.command


def causes(trace: TraceBuilder) -> dict[str, int]:
    with trace.profile() as profile:
        found: dict[str, int] = {}
    with trace.profile() as profile:
        for row in timeline.idle(profile):
            found[row.cause] = found.get(row.cause, 0) + row.idle_ns
    return found


def two(between: str | None, start: int = 0, duration: int = 0, thread: int = 7) -> TraceBuilder:
    """Two kernels of 10 µs, 90 µs apart, the second launched at 94 µs; a call lies between."""
    trace = TraceBuilder()
    launched(trace, 1, 0, us(10), us(-6))
    launched(trace, 2, us(100), us(10), us(94))
    if between:
        trace.call(between, start=us(start), duration=us(duration), thread_id=thread)
    return trace


@pytest.mark.parametrize(
    ("call", "start", "duration", "cause"),
    [
        (None, 0, 0, "host"),
        ("hipStreamSynchronize", 1, 12, "host"),  # 3 of the 84 µs to the launch
        ("hipStreamSynchronize", 1, 70, "sync"),
        ("hipDeviceSynchronize", 40, 50, "sync"),
        ("hipFree", 20, 60, "allocation"),
        ("hipMalloc", 40, 50, "allocation"),
        ("hipMemcpy", 20, 60, "copy"),
        ("hipModuleLoadData", 20, 60, "load"),
        ("hipGraphInstantiate", 20, 60, "graph"),
        ("hipGetDevice", 20, 60, "host"),
    ],
)
def test_the_longest_part_of_the_hosts_time_names_the_cause(
    call: str | None, start: int, duration: int, cause: str
) -> None:
    assert causes(two(call, start, duration)) == {cause: 90_000}


def test_what_another_thread_does_is_no_cause() -> None:
    assert causes(two("hipFree", 20, 60, thread=8)) == {"host": 90_000}


def test_a_launch_given_before_the_gap_was_queued() -> None:
    trace = TraceBuilder()
    launched(trace, 1, 0, us(10), us(-6))
    launched(trace, 2, us(100), us(10), us(5))
    assert causes(trace) == {"queued": 90_000}


def test_a_launch_that_waits_for_scratch_memory_has_that_cause() -> None:
    trace = TraceBuilder()
    launched(trace, 1, 0, us(10), us(-6))
    launched(trace, 2, us(100), us(10), us(5))
    trace.row("scratch_events", operation="alloc", agent_id=1, start=us(12), duration=us(80))
    assert causes(trace) == {"scratch": 90_000}


def test_copies_are_no_idle_time_and_end_gaps_of_their_own() -> None:
    trace = two(None)
    trace.copy("host_to_device", start=us(20), duration=us(79), size=1 << 20)
    assert causes(trace) == {"unknown": 10_000}  # to the copy; 1 µs after it is normal


def test_between_the_pieces_of_a_staged_copy_the_copy_is_the_cause() -> None:
    trace = TraceBuilder()
    launched(trace, 1, 0, us(10), us(-6))
    trace.call("hipMemcpy", start=us(12), duration=us(83), thread_id=7, correlation_id=5)
    for start in (20, 60):
        trace.copy("host_to_device", start=us(start), duration=us(30), size=9, correlation_id=5)
    launched(trace, 2, us(100), us(10), us(96))
    # 10 to 12 µs the host works, then 8 in the call; 10 µs between the pieces; 10 after them,
    # of which the host is in the call for 5.
    assert causes(trace) == {"copy": 30_000}


def test_idle_time_before_the_first_kernel_does_not_count() -> None:
    trace = TraceBuilder().copy("host_to_device", start=0, duration=us(10), size=1 << 20)
    trace.dispatch("k", start=ms(1), duration=us(10))
    assert causes(trace) == {}


def test_gpus_are_told_apart_and_the_worst_is_reported() -> None:
    trace = TraceBuilder()
    for agent, gap in ((1, 50), (2, 80)):
        trace.dispatch("k", start=0, duration=us(10), agent_id=agent)
        trace.dispatch("k", start=us(10 + gap), duration=us(10), agent_id=agent)
    [finding] = found(trace.profile())
    assert measure(finding, "longest gap") == pytest.approx(80)
    assert "worst of 2" in finding.title
    assert finding.subject.details["agent_id"] == 2


def test_short_gaps_between_kernels_that_are_not_tiny_are_told_here() -> None:
    """Kernels of 12 µs and gaps of 9: 90 of 211 µs."""
    trace = TraceBuilder()
    for number in range(10):
        trace.dispatch("k", start=us(21 * number), duration=us(12))
    [finding] = found(trace.profile())
    assert finding.rule == "launch-gaps/launch"
    assert finding.saves_ns == 81_000


def test_time_before_the_first_and_after_the_last_kernel_is_told_apart() -> None:
    """Of 1000 µs 400 lie before, 200 after, and 400 between: no loss, but good to know."""
    trace = TraceBuilder().call("main", start=0, duration=us(1000))
    trace.dispatch("k", start=us(400), duration=us(400))
    [finding] = found(trace.profile())
    assert finding.rule == "launch-gaps/outside"
    assert finding.saves_ns is None
    assert "60 % of the wall time" in finding.title
    assert "(400 µs)" in finding.title
    assert "(200 µs)" in finding.title
    assert found(trace.profile(), outside=0.61) == []


def test_a_counter_run_has_no_gaps_to_speak_of() -> None:
    trace = TraceBuilder(timing=False)
    for number in range(3):
        trace.dispatch("k", start=ms(number), duration=us(10), counters={"SQ_WAVES": 1})
    [outcome] = engine.analyze(trace.profile(), {"launch-gaps": LaunchGaps(GapOptions())})
    assert isinstance(outcome, Skipped)
    assert "timing run" in outcome.missing[0]
    assert outcome.command == "rocperf collect --for launch-gaps -- ./app"


def test_inside_a_region_the_time_between_its_ranges_is_not_idle() -> None:
    trace = TraceBuilder()
    for step in range(2):
        trace.marker("step", start=ms(10 * step), duration=us(200))
        for start in (10, 100):
            at = ms(10 * step) + us(start)
            launched(trace, step * 2 + start, at, us(10), at - us(6))
    whole = trace.profile()
    assert sum(row.idle_ns for row in timeline.idle(whole)) > ms(9)
    assert whole.path is not None
    with open_profile(whole.path, region="step") as inside:
        assert sum(row.idle_ns for row in timeline.idle(inside)) == 2 * 80_000


spans = st.lists(
    st.tuples(st.integers(0, us(400)), st.integers(1, us(60))), min_size=1, max_size=20
)


@settings(max_examples=25, deadline=None)
@given(spans, st.integers(0, 3))
def test_idle_and_busy_time_make_up_the_span(rows: list[tuple[int, int]], queues: int) -> None:
    """Whatever queue runs what: with no gap too short to count, the two are the whole."""
    trace = TraceBuilder()
    for number, (start, duration) in enumerate(rows):
        trace.dispatch("k", start=start, duration=duration, queue_id=number % (queues + 1))
    busy, until = 0, -1
    short = 0
    for start, duration in sorted(rows):
        if until >= 0 and 0 < start - until <= timeline.NORMAL_NS:
            short += start - until
        busy += max(0, start + duration - max(start, until))
        until = max(until, start + duration)
    with trace.profile() as profile:
        [gpu] = timeline.work(profile)
        assert gpu.busy_ns == busy
        assert sum(row.idle_ns for row in timeline.idle(profile)) + busy + short == gpu.span_ns
