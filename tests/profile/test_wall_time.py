"""Where the wall time went, on traces built by hand and on a recording."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from rocperf.ingest.load import ingest
from rocperf.profile import open_profile
from rocperf.profile.wall_time import WallTime, spent
from rocperf.testing import TraceBuilder, ms, us


def test_each_nanosecond_is_counted_once_and_computing_comes_first() -> None:
    """100 µs from the first call: kernels 10 to 30, a collective 20 to 50, a copy 40 to 70."""
    trace = TraceBuilder().call("main", start=0, duration=us(100))
    trace.dispatch("k", start=us(10), duration=us(20))
    trace.dispatch("ncclDevKernel", start=us(20), duration=us(30), role="communication")
    trace.copy("host_to_device", start=us(40), duration=us(30), size=9)
    with trace.profile() as profile:
        assert spent(profile) == WallTime(20_000, 20_000, 20_000, 40_000)


def test_kernels_that_copy_are_copies() -> None:
    trace = TraceBuilder().dispatch("k", start=0, duration=us(10))
    trace.dispatch("__amd_rocclr_copyBuffer", start=us(10), duration=us(5), role="copy")
    trace.dispatch("__amd_rocclr_fillBuffer", start=us(15), duration=us(4), role="fill")
    with trace.profile() as profile:
        assert spent(profile) == WallTime(10_000, 0, 9_000, 0)


def test_gpus_that_work_at_once_count_once() -> None:
    trace = TraceBuilder().dispatch("k", start=0, duration=us(10))
    trace.dispatch("k", start=us(5), duration=us(10), agent_id=2)
    with trace.profile() as profile:
        assert spent(profile) == WallTime(15_000, 0, 0, 0)


def test_without_a_timing_run_nothing_is_said() -> None:
    with TraceBuilder(timing=False).dispatch("k", start=0, duration=9).profile() as profile:
        assert spent(profile) is None


def test_calls_alone_say_nothing_of_gpus() -> None:
    with TraceBuilder().call("main", start=0, duration=ms(1)).profile() as profile:
        assert spent(profile) is None


spans = st.lists(
    st.tuples(
        st.sampled_from(["compute", "communication", "copy"]),
        st.integers(0, 300),
        st.integers(1, 60),
    ),
    min_size=1,
    max_size=10,
)


@settings(max_examples=25, deadline=None)
@given(spans)
def test_the_parts_are_what_counting_microseconds_gives(rows: list[tuple[str, int, int]]) -> None:
    trace = TraceBuilder().call("main", start=0, duration=us(400))
    busy: dict[str, set[int]] = {"compute": set(), "communication": set(), "copy": set()}
    for role, start, length in rows:
        busy[role] |= set(range(start, start + length))
        if role == "copy":
            trace.copy("host_to_device", start=us(start), duration=us(length), size=9)
        else:
            trace.dispatch(role, start=us(start), duration=us(length), role=role)
    compute, communication, copies = busy["compute"], busy["communication"], busy["copy"]
    communication = communication - compute
    copies = copies - compute - communication
    idle = 400 - len(compute) - len(communication) - len(copies)
    with trace.profile() as profile:
        assert spent(profile) == WallTime(
            *(1000 * n for n in (len(compute), len(communication), len(copies), idle))
        )


def test_the_recorded_rccl_run(recorded: Callable[[str], Path], tmp_path: Path) -> None:
    """4,233,112,334 ns are busy with kernels in all, 94 % of them with a collective's."""
    path = ingest([recorded("rocprofv3_json_mi350x_rccl")], tmp_path / "x.rocperf")
    with open_profile(path) as profile:
        where = spent(profile)
        assert where is not None
        busy = where.compute_ns + where.communication_ns + where.copies_ns
        assert busy == 4_233_112_334
        assert where.communication_ns > 0.9 * busy
        assert busy + where.idle_ns == profile.wall_ns
