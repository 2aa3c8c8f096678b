"""The analysis of host memory far from the GPU, on traces built by hand and on recordings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rocperf import UnjudgedError
from rocperf.model import Finding
from rocperf.profile import Profile, open_profile
from rocperf.testing import AnalysisContract, TraceBuilder, ms
from rocperf_analyses.numa_affinity import NumaAffinity, NumaOptions

MIB = 1 << 20


def found(profile: Profile, **options: Any) -> list[Finding]:
    return list(NumaAffinity(NumaOptions(**options)).run(profile))


def machine(trace: TraceBuilder, *, linked: bool = True) -> TraceBuilder:
    """Add processors 0 and 8; the GPU, agent 1, hangs on 0."""
    for number, agent in enumerate((0, 8)):
        trace.row("agents", agent_id=agent, kind="CPU", numa_node=number)
    if linked:
        for agent, weight in ((0, 20), (8, 52)):
            trace.row("links", from_agent_id=1, to_agent_id=agent, kind="pcie", weight=weight)
    return trace


def copy(trace: TraceBuilder, host: int, duration: int, start: int = 0, mib: int = 256) -> None:
    columns = {"src_agent_id": host}
    trace.copy("host_to_device", start=start, duration=duration, size=mib * MIB, **columns)


class TestNumaContract(AnalysisContract):
    analysis = NumaAffinity

    def flagged(self, trace: TraceBuilder) -> TraceBuilder:
        machine(trace)
        copy(trace, 0, ms(5))
        copy(trace, 8, ms(10), start=ms(10))
        return trace

    def healthy(self, trace: TraceBuilder) -> TraceBuilder:
        copy(machine(trace), 0, ms(5))
        return trace


def test_far_copies_are_held_against_near_ones() -> None:
    """256 MiB in 10 ms are 26.8 GB/s, in 5 ms 53.7: half of the far time is lost."""
    trace = machine(TraceBuilder())
    copy(trace, 0, ms(5))
    copy(trace, 8, ms(10), start=ms(10))
    [finding] = found(trace.profile())
    assert finding.saves_ns == ms(5)
    assert finding.title == (
        "1 copy to GPU agent 1 uses memory of processor 8, not of 0 beside it: 10 ms at 26.8 GB/s, "
        "near ones 53.7"
    )


def test_far_copies_that_are_as_fast_lose_nothing() -> None:
    trace = machine(TraceBuilder())
    copy(trace, 0, ms(5))
    copy(trace, 8, ms(5.5), start=ms(10))
    assert found(trace.profile()) == []


def test_without_near_copies_there_is_no_bound() -> None:
    trace = machine(TraceBuilder())
    copy(trace, 8, ms(10))
    [finding] = found(trace.profile())
    assert (finding.saves_ns, finding.confidence) == (None, "low")


def test_the_numa_node_tells_where_no_link_does() -> None:
    trace = machine(TraceBuilder(numa_node=1), linked=False)
    copy(trace, 0, ms(10))
    [finding] = found(trace.profile())
    assert "processor 0, not of 8" in finding.title


def test_where_nothing_tells_nothing_is_judged() -> None:
    trace = machine(TraceBuilder(), linked=False)
    copy(trace, 8, ms(10))
    with pytest.raises(UnjudgedError, match="NUMA nodes"):
        found(trace.profile())


def test_one_processor_is_always_near() -> None:
    trace = TraceBuilder().row("agents", agent_id=0, kind="CPU", numa_node=0)
    copy(trace, 0, ms(10))
    assert found(trace.profile()) == []


def test_what_takes_no_time_is_left() -> None:
    trace = machine(TraceBuilder()).call("main", start=0, duration=ms(1000))
    copy(trace, 8, ms(19))
    assert found(trace.profile()) == []
    assert len(found(trace.profile(), min_share=0.01)) == 1


def test_copies_that_name_no_processor_are_not_judged() -> None:
    trace = machine(TraceBuilder())
    copy(trace, 1, ms(10))  # both ends are the GPU, as some profilers write it
    with pytest.raises(UnjudgedError, match="name the processor"):
        found(trace.profile())


def test_the_recorded_transpose_tells_neither_links_nor_nodes(
    ingested: Callable[[str], Path],
) -> None:
    """Two processors and eight GPUs are listed, but not what joins them."""
    with (
        open_profile(ingested("rocpd_mi308x_copies")) as profile,
        pytest.raises(UnjudgedError, match="NUMA nodes"),
    ):
        found(profile)
