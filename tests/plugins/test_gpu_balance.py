"""The analysis of balance between GPUs on traces built by hand and on recordings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocperf import UnjudgedError
from rocperf.model import Finding
from rocperf.profile import Profile, open_profile
from rocperf.testing import AnalysisContract, TraceBuilder, ms
from rocperf_analyses.gpu_balance import BalanceOptions, GpuBalance


def found(profile: Profile, **options: Any) -> dict[str, Finding]:
    findings = GpuBalance(BalanceOptions(**options)).run(profile)
    return {finding.rule.partition("/")[2]: finding for finding in findings}


def gpu(trace: TraceBuilder, agent: int, **columns: Any) -> None:
    facts: dict[str, Any] = {"target": "gfx942", "cu_count": 304, "num_xcc": 8} | columns
    trace.row("agents", agent_id=agent, kind="GPU", **facts)


def work(trace: TraceBuilder, agent: int, start: int, duration: int, **columns: Any) -> None:
    trace.dispatch("gemm", start=start, duration=duration, agent_id=agent, **columns)


class TestGpuBalanceContract(AnalysisContract):
    analysis = GpuBalance

    def flagged(self, trace: TraceBuilder) -> TraceBuilder:
        gpu(trace, 2)
        work(trace, 1, 0, ms(100))
        work(trace, 2, ms(100), ms(50))
        return trace

    def healthy(self, trace: TraceBuilder) -> TraceBuilder:
        gpu(trace, 2)
        for agent in (1, 2):
            work(trace, agent, ms(agent), ms(100))
        return trace


def test_the_busiest_is_held_against_the_mean() -> None:
    """100, 40, 40 and 20 ms at once: a mean of 50, so 50 ms of the busiest are too much."""
    trace = TraceBuilder()
    for agent, duration in ((1, 100), (2, 40), (3, 40), (4, 20)):
        if agent > 1:
            gpu(trace, agent)
        work(trace, agent, 0, ms(duration))
    rules = found(trace.profile())
    assert set(rules) == {"uneven"}
    assert rules["uneven"].saves_ns == ms(50)
    assert rules["uneven"].title == (
        "GPU agent 1, run 1 computes 100 ms, the mean of 4 GPUs is 50 ms and the least 20 ms"
    )


def test_gpus_that_take_turns_are_seen() -> None:
    """Two times 50 ms one after the other: any GPU computes 100 ms, the busiest 50."""
    trace = TraceBuilder()
    gpu(trace, 2)
    work(trace, 1, 0, ms(50))
    work(trace, 2, ms(50), ms(50))
    rules = found(trace.profile())
    assert set(rules) == {"turns"}
    assert rules["turns"].saves_ns == ms(50)
    assert rules["turns"].title.startswith("2 GPUs take turns: 0 % of what could run")


@pytest.mark.parametrize(("start", "flagged"), [(24, False), (26, True)])
def test_half_together_is_enough(start: int, flagged: bool) -> None:
    trace = TraceBuilder()
    gpu(trace, 2)
    work(trace, 1, 0, ms(50))
    work(trace, 2, ms(start), ms(50))
    assert ("turns" in found(trace.profile())) is flagged


def test_processes_have_clocks_of_their_own() -> None:
    """The second process ran on another host, hours later by its clock: that is no turn."""
    trace = TraceBuilder()
    keys = {"run_id": 3, "process_id": 3, "role": "timing", "status": "complete"}
    trace.row("runs", start=ms(9_000_000), duration=ms(100), hostname="elsewhere", **keys)
    gpu(trace, 1, run_id=3)
    work(trace, 1, 0, ms(100))
    work(trace, 1, ms(9_000_000), ms(100), run_id=3)
    assert found(trace.profile()) == {}


def test_waiting_in_rccl_is_no_work() -> None:
    trace = TraceBuilder()
    gpu(trace, 2)
    work(trace, 1, 0, ms(100))
    work(trace, 2, 0, ms(20))
    trace.dispatch("nccl", start=ms(20), duration=ms(80), agent_id=2, role="communication")
    assert found(trace.profile())["uneven"].saves_ns == ms(40)


def test_of_unlike_gpus_no_bound_is_told() -> None:
    trace = TraceBuilder()
    gpu(trace, 2, target="gfx90a", cu_count=104, num_xcc=1)
    work(trace, 1, 0, ms(20))
    work(trace, 2, 0, ms(100))
    finding = found(trace.profile())["uneven"]
    assert finding.saves_ns is None
    assert "smaller shares" in finding.advice


def test_a_gpu_without_work_may_be_anybodys() -> None:
    trace = TraceBuilder()
    gpu(trace, 2)
    work(trace, 1, 0, ms(100))
    assert found(trace.profile()) == {}


def test_below_five_percent_of_the_wall_nothing_is_said() -> None:
    trace = TraceBuilder().call("main", start=0, duration=ms(1000))
    gpu(trace, 2)
    work(trace, 1, 0, ms(99))
    work(trace, 2, 0, ms(1))
    assert found(trace.profile()) == {}  # 49 ms of 1000
    assert set(found(trace.profile(), min_share=0.04)) == {"uneven"}


def test_counter_runs_serialise() -> None:
    trace = TraceBuilder(timing=False)
    trace.dispatch("gemm", start=0, duration=ms(1), counters={"C": 1})
    with pytest.raises(UnjudgedError, match="timing run"):
        found(trace.profile())


rows = st.lists(
    st.tuples(st.integers(1, 3), st.integers(0, ms(5)), st.integers(1, ms(5))), max_size=8
)


@settings(max_examples=20, deadline=None)
@given(rows)
def test_no_more_is_saved_than_the_wall(dispatches: list[tuple[int, int, int]]) -> None:
    trace = TraceBuilder().dispatch("first", start=0, duration=1)
    for agent in (2, 3):
        gpu(trace, agent)
    for agent, start, duration in dispatches:
        work(trace, agent, start, duration)
    profile = trace.profile()
    for finding in found(profile, min_share=0.0).values():
        assert finding.saves_ns is not None
        assert 0 < finding.saves_ns < (profile.wall_ns or 0)


@pytest.mark.parametrize(
    "folder", ["rocpd_gfx1201_llama", "rocprofv3_json_mi350x_rccl", "rocpd_mi308x_copies"]
)
def test_recordings_list_many_gpus_and_use_one(
    ingested: Callable[[str], Path], folder: str
) -> None:
    with open_profile(ingested(folder)) as profile:
        assert len(profile.agents) >= 4
        assert found(profile) == {}
