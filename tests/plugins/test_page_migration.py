"""The analysis of the driver's page events, on traces built by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocperf import UnjudgedError, engine
from rocperf.model import Completed, Finding, Measure, Skipped
from rocperf.profile import Profile
from rocperf.testing import AnalysisContract, TraceBuilder, ms, us
from rocperf_analyses.page_migration import MigrationOptions, PageMigration

MIB = 1 << 20
HOST, GPU = 0, 1


def found(profile: Profile, **options: Any) -> list[Finding]:
    return list(PageMigration(MigrationOptions(**options)).run(profile))


def measure(finding: Finding, name: str) -> float:
    [value] = [m.value for m in finding.evidence if isinstance(m, Measure) and m.name == name]
    return float(value)


def migrate(
    trace: TraceBuilder,
    start: int,
    duration: int,
    *,
    to: int = GPU,
    why: str = "KFD_PAGE_MIGRATE_PAGEFAULT_GPU",
    address: int = 0x1000,
    size: int | None = 2 * MIB,
) -> None:
    trace.row(
        "kfd_events",
        start=start,
        duration=duration,
        kind="page_migrate",
        operation=why,
        src_agent_id=HOST if to == GPU else GPU,
        dst_agent_id=to,
        address=address,
        bytes=size,
    )


def storm(trace: TraceBuilder, ranges: int = 512, wall: int = ms(1000)) -> TraceBuilder:
    """Ranges of 2 MiB that faults bring one after the other, 390,625 ns each."""
    trace.dispatch("kernel", start=0, duration=wall)
    for number in range(ranges):
        migrate(trace, number * 390_625, 390_625, address=(number + 1) * 2 * MIB)
    return trace


class TestPageMigrationContract(AnalysisContract):
    analysis = PageMigration

    def flagged(self, trace: TraceBuilder) -> TraceBuilder:
        storm(trace, 200)
        for turn in range(4):
            migrate(trace, ms(500 + 10 * turn), ms(1), to=turn % 2, address=7)
        return trace

    def healthy(self, trace: TraceBuilder) -> TraceBuilder:
        return storm(trace, 20)


def test_a_fault_storm_has_rate_and_bound() -> None:
    """512 ranges of 2 MiB in 0.2 s: 1.07 GB at 5.4 GB/s, 2560 migrations a second."""
    [finding] = found(storm(TraceBuilder()).profile())
    assert finding.rule == "page-migration/faults"
    assert "512 migrations" in finding.title
    assert "200 ms at 5.4 GB/s" in finding.title
    assert measure(finding, "bytes migrated") == 1_073_741_824
    assert measure(finding, "migrations a second") == pytest.approx(2560)
    assert finding.saves_ns == 200_000_000
    assert "hipMemPrefetchAsync" in finding.advice


@pytest.mark.parametrize("spelled", ["PageFaultGPU", "PAGE_MIGRATE_PAGEFAULT_GPU"])
def test_names_are_spelled_in_several_ways(spelled: str) -> None:
    trace = TraceBuilder().dispatch("kernel", start=0, duration=ms(100))
    migrate(trace, 0, ms(20), why=spelled)
    assert [each.rule for each in found(trace.profile())] == ["page-migration/faults"]


def test_a_fault_and_its_migration_count_once() -> None:
    trace = TraceBuilder().dispatch("kernel", start=0, duration=ms(100))
    migrate(trace, ms(1), ms(8))
    name = "KFD_PAGE_FAULT_READ_FAULT_MIGRATED"
    trace.row(
        "kfd_events", start=0, duration=ms(10), kind="page_fault", agent_id=GPU, operation=name
    )
    [finding] = found(trace.profile())
    assert finding.saves_ns == ms(10)


def test_faults_that_only_update_are_faults() -> None:
    trace = TraceBuilder().dispatch("kernel", start=0, duration=ms(100))
    name = "KFD_PAGE_FAULT_WRITE_FAULT_UPDATED"
    trace.row(
        "kfd_events", start=0, duration=ms(10), kind="page_fault", agent_id=GPU, operation=name
    )
    [finding] = found(trace.profile())
    assert finding.title == "1 page fault of GPU agent 1 took 10 ms"


def test_prefetched_pages_are_as_they_should_be() -> None:
    trace = TraceBuilder().dispatch("kernel", start=0, duration=ms(100))
    migrate(trace, 0, ms(50), why="KFD_PAGE_MIGRATE_PREFETCH")
    assert found(trace.profile()) == []


def test_below_five_percent_of_the_wall_nothing_is_said() -> None:
    trace = TraceBuilder().dispatch("kernel", start=0, duration=ms(1000))
    migrate(trace, 0, ms(49))
    assert found(trace.profile()) == []
    assert len(found(trace.profile(), min_share=0.04)) == 1


@pytest.mark.parametrize(
    ("name", "rule", "advice"),
    [
        ("KFD_QUEUE_EVICT_SVM", "evicted-svm", "hipMemPrefetchAsync"),
        ("EvictUserPtr", "evicted-userptr", "numa_balancing"),
        ("QUEUE_EVICT_TTM", "evicted-ttm", "memory is full"),
    ],
)
def test_stopped_queues_are_told_with_the_reason(name: str, rule: str, advice: str) -> None:
    trace = TraceBuilder().dispatch("kernel", start=0, duration=ms(100))
    trace.row("kfd_events", start=ms(1), duration=ms(9), kind="queue", agent_id=GPU, operation=name)
    [finding] = found(trace.profile())
    assert finding.rule == f"page-migration/{rule}"
    assert finding.saves_ns == ms(9)
    assert advice in finding.advice


def turns(trace: TraceBuilder, count: int, step: int = ms(10), address: int = 7) -> None:
    for turn in range(count):
        target, why = (HOST, "PAGEFAULT_CPU") if turn % 2 else (GPU, "PREFETCH")
        migrate(trace, turn * step, us(100), to=target, why=why, address=address)


@pytest.mark.parametrize(("moves", "trips"), [(3, 0), (4, 0), (5, 2), (7, 3)])
def test_two_round_trips_are_ping_pong(moves: int, trips: int) -> None:
    """Five moves are GPU, host, GPU, host, GPU: the first is no return, four make two trips."""
    trace = TraceBuilder().dispatch("kernel", start=0, duration=ms(1000))
    turns(trace, moves)
    findings = found(trace.profile())
    if not trips:
        assert findings == []
        return
    [finding] = findings
    assert finding.title == f"1 range of managed memory went back and forth, up to {trips} times"
    assert finding.saves_ns == (moves - 1) * us(100)
    assert measure(finding, "bytes moved back") == (moves - 1) * 2 * MIB


def test_what_comes_back_much_later_is_another_phase() -> None:
    trace = TraceBuilder().dispatch("kernel", start=0, duration=ms(1000))
    turns(trace, 7, step=ms(101))
    assert found(trace.profile()) == []
    assert len(found(trace.profile(), window=200.0)) == 1


def test_a_move_onward_is_no_return() -> None:
    trace = TraceBuilder().dispatch("kernel", start=0, duration=ms(1000))
    for turn, (source, target) in enumerate([(0, 1), (1, 2), (2, 3), (3, 1), (1, 2), (2, 3)]):
        trace.row(
            "kfd_events", start=ms(turn), duration=us(10), kind="page_migrate", address=7,
            src_agent_id=source, dst_agent_id=target, operation="PREFETCH",
        )  # fmt: skip
    assert found(trace.profile()) == []


def test_dropped_events_make_lower_bounds() -> None:
    trace = storm(TraceBuilder())
    trace.row("kfd_events", start=0, kind="dropped", args='{"count":"17"}')
    trace.row("kfd_events", start=0, kind="dropped")
    [finding] = found(trace.profile())
    assert finding.doubts[0] == "the driver dropped 18 events: counts and times are lower bounds"


def test_where_events_were_dropped_silence_means_nothing() -> None:
    trace = storm(TraceBuilder(), 20)
    trace.row("kfd_events", start=0, kind="dropped", args='{"count":"17"}')
    [outcome] = engine.analyze(
        trace.profile(), {"page-migration": PageMigration(MigrationOptions())}
    )
    assert isinstance(outcome, Skipped)
    assert "dropped 17" in outcome.missing[0]
    assert outcome.command is not None
    assert "--kfd-trace" in outcome.command


def test_without_events_the_command_is_the_profilers() -> None:
    trace = TraceBuilder().dispatch("kernel", start=0, duration=ms(1))
    [outcome] = engine.analyze(
        trace.profile(), {"page-migration": PageMigration(MigrationOptions())}
    )
    assert isinstance(outcome, Skipped)
    assert "--kfd-trace" in outcome.missing[0]
    assert outcome.command == (
        "rocprofv3 --kernel-trace --kfd-trace --output-format rocpd -d kfd_events -- ./app"
        " && rocperf ingest kfd_events -o kfd_events.rocperf"
    )


def test_a_counter_run_alone_tells_nothing() -> None:
    trace = TraceBuilder(timing=False).dispatch("k", start=0, duration=ms(1), counters={"C": 1})
    migrate(trace, 0, ms(1))
    with pytest.raises(UnjudgedError, match="timing run"):
        found(trace.profile())


events = st.lists(
    st.tuples(st.integers(0, ms(50)), st.integers(0, ms(30)), st.sampled_from([HOST, GPU])),
    min_size=1,
    max_size=10,
)


@settings(max_examples=20, deadline=None)
@given(events)
def test_no_more_is_saved_than_the_wall(rows: list[tuple[int, int, int]]) -> None:
    trace = TraceBuilder().dispatch("kernel", start=0, duration=ms(1))
    for start, duration, target in rows:
        migrate(trace, start, duration, to=target)
    profile = trace.profile()
    outcome = engine.analyze(profile, {"page-migration": PageMigration(MigrationOptions())})[0]
    assert isinstance(outcome, Completed)
    for ranked in outcome.findings:
        saves = ranked.finding.saves_ns
        assert saves is None or 0 < saves <= (profile.wall_ns or 0)
