"""Counters whose clock stood still: no value rests on them, and their profile says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rocperf.ingest.load import ingest
from rocperf.profile import open_profile
from rocperf.testing import TraceBuilder, ms


def state(target: str, metric: str, counters: dict[str, float]) -> tuple[str, str]:
    trace = TraceBuilder(target).dispatch("k", start=0, duration=ms(1), counters=counters)
    [row] = trace.profile().metrics([metric]).to_dicts()
    return row["state"], row["reason"] or ""


@pytest.mark.parametrize("telling", ["SQ_INSTS_VALU", "SQ_BUSY_CYCLES", "SQ_WAVE_CYCLES"])
def test_a_ratio_of_nothing_is_not_trusted_where_every_counter_is_still(telling: str) -> None:
    """The metric itself needs none of the counters that tell."""
    still = {"SQ_LDS_BANK_CONFLICT": 0.0, "SQ_LDS_IDX_ACTIVE": 0.0, telling: 0.0}
    found, reason = state("gfx942", "lds-conflict-share", still | {"SQ_WAVES": 64})
    assert found == "not trustworthy"
    assert "clock gated" in reason
    assert "amd-smi" in reason


def test_a_kernel_without_lds_is_no_gated_one() -> None:
    counters = {"SQ_LDS_BANK_CONFLICT": 0.0, "SQ_LDS_IDX_ACTIVE": 0.0, "SQ_INSTS_VALU": 640.0}
    found, _ = state("gfx942", "lds-conflict-share", counters | {"SQ_WAVES": 64})
    assert found == "not applicable"


def test_zeros_of_counters_that_many_kernels_leave_at_zero_tell_nothing() -> None:
    counters = {"SQ_LDS_BANK_CONFLICT": 0.0, "SQ_LDS_IDX_ACTIVE": 0.0}
    found, _ = state("gfx942", "lds-conflict-share", counters | {"SQ_WAVES": 64})
    assert found == "not applicable"


def test_the_recorded_gated_run_is_noted_with_the_remedy(
    recorded: Callable[[str], Path], tmp_path: Path
) -> None:
    profile = ingest([recorded("rocprofv3_csv_gfx1201_clock_gated")], tmp_path / "g.rocperf")
    with open_profile(profile) as opened:
        [note] = opened.sql("SELECT message FROM notes WHERE code = 'counters-gated'").rows()
    assert "sudo amd-smi set --perf-level STABLE_STD" in note[0]


def test_a_healthy_run_is_not_noted(recorded: Callable[[str], Path], tmp_path: Path) -> None:
    source = recorded("rocprofv3_csv_gfx1201_bandwidth/rd_null")
    with open_profile(ingest([source], tmp_path / "h.rocperf")) as opened:
        assert opened.sql("SELECT 1 FROM notes WHERE code = 'counters-gated'").is_empty()


def test_cycles_of_a_busy_shader_go_on_while_other_clocks_stand_still() -> None:
    counters = {"SQ_WAVES": 64.0, "SQ_BUSY_CYCLES": 9000.0, "SQ_INSTS_VALU": 0.0}
    found, reason = state("gfx942", "valu-instructions", counters)
    assert found == "not trustworthy"
    assert "clock gated" in reason


def test_cycles_of_a_busy_shader_alone_tell_nothing() -> None:
    counters = {"SQ_WAVES": 64.0, "SQ_BUSY_CYCLES": 9000.0, "SQ_LDS_IDX_ACTIVE": 0.0}
    found, _ = state("gfx942", "lds-conflict-share", counters | {"SQ_LDS_BANK_CONFLICT": 0.0})
    assert found == "not applicable"
