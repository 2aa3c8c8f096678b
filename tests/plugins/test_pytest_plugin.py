"""What pytest loads at every start is next to nothing."""

from __future__ import annotations

import subprocess
import sys

from rocperf.testing import TraceBuilder, us


def test_it_loads_no_database_and_no_frames() -> None:
    code = (
        "import sys, rocperf.testing.pytest_plugin\n"
        "print(*{'duckdb', 'polars', 'pyarrow', 'textual'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_the_fixture_is_an_empty_trace(trace: TraceBuilder) -> None:
    with trace.profile() as profile:
        assert profile.scalar("SELECT count(*) FROM all_dispatches") == 0
    with trace.dispatch("k", start=us(1), duration=us(2)).profile() as profile:
        assert (profile.kernel_ns, profile.wall_ns, profile.serialised) == (2000, 2000, False)


def test_counters_come_in_a_run_of_their_own() -> None:
    trace = TraceBuilder().dispatch("k", start=0, duration=us(2), counters={"SQ_WAVES": 4})
    trace.dispatch("k", start=us(5), duration=us(3))
    with trace.profile() as profile:
        assert profile.runs["role"].to_list() == ["timing", "counters"]
        assert profile.kernel_ns == 5000
        rows = profile.sql("SELECT run_id, launch_id, value FROM counters").rows()
    assert rows == [(2, 1, 4.0)]


def test_without_a_timing_run_the_counter_run_stands_in() -> None:
    trace = TraceBuilder(timing=False).dispatch("k", start=0, duration=us(2))
    with trace.profile() as profile:
        assert (profile.kernel_ns, profile.wall_ns, profile.serialised) == (2000, None, True)
