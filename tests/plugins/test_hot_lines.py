"""The analysis of program counter samples on traces built by hand and on recordings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocperf import UnjudgedError, engine
from rocperf.ingest.load import ingest
from rocperf.model import Completed, Finding, Query, Skipped
from rocperf.profile import Profile, open_profile
from rocperf.testing import AnalysisContract, TraceBuilder, ms, us
from rocperf_analyses.hot_lines import HotLines, LineOptions, upper_share

LOAD = "s_waitcnt vmcnt(0)"


def found(profile: Profile, **options: Any) -> list[Finding]:
    return list(HotLines(LineOptions(**options)).run(profile))


def sample(trace: TraceBuilder, times: int, instruction: str | None, **columns: Any) -> None:
    row: dict[str, Any] = {"method": "stochastic", "dispatch_id": 1, "instruction": instruction}
    row |= columns
    for number in range(times):
        trace.row("pc_samples", start=us(number), **row)


def stalled(reason: str, **columns: Any) -> dict[str, Any]:
    return {"issued": False, "stall_reason": reason} | columns


def spread(trace: TraceBuilder, places: int, each: int) -> None:
    """Add samples that fall on many places alike."""
    for number in range(places):
        sample(trace, each, f"v_add_f32 v{number}, v0, v1", issued=True)


def kernel(**columns: Any) -> TraceBuilder:
    return TraceBuilder().dispatch("gemm", start=0, duration=ms(10), **columns)


class TestHotLinesContract(AnalysisContract):
    analysis = HotLines

    def flagged(self, trace: TraceBuilder) -> TraceBuilder:
        trace.dispatch("gemm", start=0, duration=ms(10))
        sample(trace, 80, LOAD, **stalled("waitcnt", source="gemm.cpp:82"))
        spread(trace, 10, 12)
        return trace

    def healthy(self, trace: TraceBuilder) -> TraceBuilder:
        trace.dispatch("gemm", start=0, duration=ms(10))
        spread(trace, 20, 10)
        return trace


def test_the_line_that_waits_for_memory_is_named_with_a_bound() -> None:
    """Of 1000 samples 600 are at one line, so at most 63.0 % of 10 ms can be saved.

    Wilson's upper end by hand: (0.6 + 1.92/1000 + 1.96 * sqrt(0.24/1000 + 0.9604/1000000))
    / (1 + 3.8416/1000) = (0.60192 + 0.03043) / 1.00384 = 0.6299.
    """
    trace = kernel()
    sample(trace, 600, LOAD, **stalled("waitcnt", source="gemm.cpp:82"))
    spread(trace, 20, 20)
    [finding] = found(trace.profile())
    assert finding.rule == "hot-lines/line"
    assert finding.title == (
        "gemm: 60.0 % of 1,000 samples at gemm.cpp:82, waiting for global memory"
    )
    assert "Issue the load earlier" in finding.advice
    assert finding.saves_ns == pytest.approx(6_299_000, abs=1_000)


@pytest.mark.parametrize(
    ("reason", "instruction", "words"),
    [
        ("waitcnt", "s_waitcnt lgkmcnt(0)", "LDS or scalar memory"),
        ("waitcnt", "s_wait_loadcnt 0x0", "global memory"),
        ("waitcnt", "s_wait_dscnt 0x0", "LDS or scalar memory"),
        ("waitcnt", "v_mov_b32 v0, v1", "waiting for memory"),
        ("barrier_wait", "s_barrier", "at a barrier"),
        ("no_instruction_available", "s_branch 4", "waiting for instructions"),
        ("alu_dependency", "v_add_f32 v0, v0, v2", "results of the instruction before"),
        ("arbiter_not_win", "v_add_f32 v0, v0, v2", "other waves were issued"),
        ("arbiter_win_ex_stall", "ds_read_b32 v0, v2", "the unit was stalled"),
        ("sleep_wait", "s_sleep 1", "sleeping"),
    ],
)
def test_each_reason_has_its_words(reason: str, instruction: str, words: str) -> None:
    trace = kernel()
    sample(trace, 200, instruction, **stalled(reason))
    [finding] = found(trace.profile())
    assert words in finding.title


def test_a_reason_of_the_minority_speaks_for_nobody() -> None:
    trace = kernel()
    sample(trace, 60, "v_fma_f32 v0, v1, v2", issued=True)
    sample(trace, 40, "v_fma_f32 v0, v1, v2", **stalled("alu_dependency"))
    [finding] = found(trace.profile())
    assert finding.title.endswith("v_fma_f32 v0, v1, v2")
    assert "-g" in finding.advice  # nothing tells the source line


def test_host_trap_tells_no_reason_but_shows_a_wait() -> None:
    trace = kernel()
    sample(trace, 200, LOAD, method="host_trap")
    [finding] = found(trace.profile())
    assert "waiting for global memory" in finding.title
    assert finding.confidence == "medium"
    assert any("after the one that waits" in doubt for doubt in finding.doubts)
    assert finding.command is not None
    assert "--pc-sampling-method=stochastic" in finding.command  # an MI300X can


def test_arithmetic_under_host_trap_may_work_or_wait() -> None:
    trace = kernel()
    sample(trace, 200, "v_add_f32_e32 v0, v0, v2", method="host_trap")
    [finding] = found(trace.profile())
    assert "waiting" not in finding.title


def test_stochastic_samples_count_where_there_are_both() -> None:
    trace = kernel()
    sample(trace, 500, "v_nop", method="host_trap")
    sample(trace, 150, LOAD, **stalled("waitcnt"))
    [finding] = found(trace.profile())
    assert "of 150 samples" in finding.title


def test_few_samples_judge_nothing() -> None:
    trace = kernel()
    sample(trace, 99, LOAD, **stalled("waitcnt"))
    with pytest.raises(UnjudgedError, match=r"100 samples of a kernel \(there are 99"):
        found(trace.profile())
    assert len(found(trace.profile(), min_samples=99)) == 1


def test_samples_without_instruction_judge_nothing() -> None:
    trace = kernel()
    sample(trace, 200, None, source="Unrecognized code object id, physical virtual address of PC:7")
    with pytest.raises(UnjudgedError, match="instruction is known"):
        found(trace.profile())


def test_unknown_samples_dilute_and_are_said() -> None:
    trace = kernel()
    sample(trace, 100, LOAD, **stalled("waitcnt"))
    sample(trace, 100, None)
    [finding] = found(trace.profile())
    assert "50.0 % of 200 samples" in finding.title
    assert any(doubt.startswith("50.0 %") for doubt in finding.doubts)


def test_a_kernel_of_one_percent_is_left_out() -> None:
    trace = kernel().dispatch("tiny", start=ms(20), duration=us(1))
    spread(trace, 200, 60)
    sample(trace, 110, LOAD, dispatch_id=2, **stalled("waitcnt"))
    assert found(trace.profile()) == []
    assert len(found(trace.profile(), min_share=0.005)) == 1


def test_waiting_inside_rccl_is_nobodys_line() -> None:
    trace = TraceBuilder().dispatch("nccl", start=0, duration=ms(1), role="communication")
    sample(trace, 200, "s_sleep 1", **stalled("sleep_wait"))
    assert found(trace.profile()) == []


def test_samples_of_untraced_dispatches_have_no_kernel_and_no_bound() -> None:
    trace = TraceBuilder()
    sample(trace, 200, LOAD, **stalled("waitcnt"))
    profile = trace.profile()
    [finding] = found(profile)
    assert finding.subject.kind == "profile"
    assert finding.saves_ns is None
    queries = [each for each in finding.evidence if isinstance(each, Query)]
    assert [profile.sql(q.sql, q.params).height for q in queries] == [1, 1]


def test_without_samples_the_command_is_the_profilers() -> None:
    [outcome] = engine.analyze(kernel().profile(), {"hot-lines": HotLines(LineOptions())})
    assert isinstance(outcome, Skipped)
    assert "beta" in outcome.missing[0]
    assert outcome.command is not None
    assert outcome.command.startswith("rocprofv3 --kernel-trace --pc-sampling-beta-enabled")
    assert "--pc-sampling-method=stochastic" in outcome.command
    older = TraceBuilder("gfx90a").dispatch("k", start=0, duration=us(1))
    [outcome] = engine.analyze(older.profile(), {"hot-lines": HotLines(LineOptions())})
    assert isinstance(outcome, Skipped)
    assert "host_trap" in str(outcome.command)


def test_a_region_sees_its_own_samples(tmp_path: Path) -> None:
    trace = kernel().dispatch("gemm", start=ms(20), duration=ms(10))
    trace.marker("loop", start=0, duration=ms(15))
    sample(trace, 150, LOAD, **stalled("waitcnt"))
    sample(trace, 850, "v_nop", dispatch_id=2, issued=True)
    path = trace.save(tmp_path / "p.rocperf")
    with open_profile(path, region="loop") as profile:
        [finding] = found(profile)
    assert "100.0 % of 150 samples at s_waitcnt vmcnt(0)" in finding.title


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 10_000), st.floats(0, 1))
def test_the_bound_is_never_below_what_was_sampled(samples: int, share: float) -> None:
    hits = round(share * samples)
    assert hits / samples <= upper_share(hits, samples) + 1e-12 <= 1 + 1e-12


def test_the_recorded_samples_show_the_addition(ingested: Callable[[str], Path]) -> None:
    """All 731 host-trap samples: 720 on the addition that uses what was loaded before it."""
    with open_profile(ingested("rocprofv3_csv_gfx1201_pc_sampling")) as profile:
        [outcome] = engine.analyze(profile, {"hot-lines": HotLines(LineOptions())})
        assert isinstance(outcome, Completed)
        [ranked] = outcome.findings
        finding = ranked.finding
    assert "98.5 % of 731 samples at v_add_f32_e32 v0, v0, v2" in finding.title
    assert finding.saves_ns is None  # neither kernels nor times were recorded
    assert finding.confidence == "medium"
    assert finding.command is None  # this GPU cannot do better


def test_the_recorded_stochastic_samples_name_line_and_reason(
    recorded: Callable[[str], Path], tmp_path: Path
) -> None:
    """29 samples: the profiler's own documentation shows them."""
    file = recorded("rocprofv3_csv_samples_7.0/pc_sampling_stochastic_debug.csv")
    with open_profile(ingest([file], tmp_path / "p.rocperf")) as profile:
        assert profile.scalar("SELECT count(*) FROM pc_samples") >= 29
        with pytest.raises(UnjudgedError, match="there are"):
            found(profile)
        [finding] = found(profile, min_samples=20, min_line_share=0.1)
    assert "vector-ops.cpp:" in finding.title
    assert "waiting for global memory" in finding.title
