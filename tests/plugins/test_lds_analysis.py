"""The LDS analysis on traces built by hand and on recordings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocperf import UnjudgedError
from rocperf.model import Finding, Measure
from rocperf.profile import Profile, open_profile
from rocperf.testing import AnalysisContract, TraceBuilder, ms
from rocperf_analyses.lds_bank_conflicts import ConflictOptions, LdsBankConflicts

#: 1 ms at the 2.1 GHz of an MI300X, over its 304 compute units.
CYCLES = 2_100_000
FULL_GRID: dict[str, Any] = {"grid_size": 256 * 304 * 10, "workgroup_size": 256}


def found(profile: Profile, **options: float) -> list[Finding]:
    return list(LdsBankConflicts(ConflictOptions(**options)).run(profile))


def lds(conflict: float, active: float | None, **other: float) -> dict[str, float]:
    """Return counters with cycles as shares of 1 ms on every compute unit."""
    whole = CYCLES * 304
    counters = {
        "SQ_LDS_BANK_CONFLICT": conflict * whole,
        "GRBM_GUI_ACTIVE": 8.0 * CYCLES,
        "SQ_INSTS_LDS": 1e6,
        "SQ_WAVES": 1e5,
        "SQ_INSTS_VALU": 1e6,
    }
    if active is not None:
        counters["SQ_LDS_IDX_ACTIVE"] = active * whole
    return counters | other


def one(counters: dict[str, float], **columns: Any) -> list[Finding]:
    launch = FULL_GRID | columns
    trace = TraceBuilder().dispatch("k", start=0, duration=ms(1), counters=counters, **launch)
    return found(trace.profile())


class TestLdsContract(AnalysisContract):
    analysis = LdsBankConflicts

    def flagged(self, trace: TraceBuilder) -> TraceBuilder:
        return trace.dispatch("k", start=0, duration=ms(1), counters=lds(0.4, 0.5), **FULL_GRID)

    def healthy(self, trace: TraceBuilder) -> TraceBuilder:
        return trace.dispatch("k", start=0, duration=ms(1), counters=lds(0.0, 0.5), **FULL_GRID)


def test_the_bound_is_the_time_that_conflicts_take() -> None:
    """80 % of the LDS's cycles are lost, but they are only 40 % of the kernel's time."""
    [finding] = one(lds(0.4, 0.5))
    assert finding.rule == "lds-bank-conflicts/conflict"
    assert "80.0 % of its LDS cycles" in finding.title
    assert finding.saves_ns == pytest.approx(ms(0.4), rel=1e-6)
    assert finding.confidence == "high"
    assert "tile[32][33]" in finding.advice


def test_a_quiet_lds_saves_little_and_is_still_reported() -> None:
    [finding] = one(lds(0.004, 0.005))
    assert finding.saves_ns == pytest.approx(ms(0.004), rel=1e-6)


@pytest.mark.parametrize(("groups", "factor"), [(152, 2.0), (305, 2 * 304 / 305), (3040, 1.0)])
def test_the_busiest_unit_decides(groups: int, factor: float) -> None:
    """152 workgroups leave half of the units idle: the others lose twice the mean."""
    [finding] = one(lds(0.2, 0.21), grid_size=256 * groups)
    assert finding.saves_ns == pytest.approx(ms(0.2) * factor, abs=1)


def test_no_more_than_the_lost_part_is_saved() -> None:
    """On one unit of 304 the mean says nothing any more; half of its LDS cycles are lost."""
    [finding] = one(lds(0.1, 0.2), grid_size=256)
    assert finding.saves_ns == pytest.approx(ms(0.5), rel=1e-6)


def test_without_a_grid_the_lost_part_bounds() -> None:
    [finding] = one(lds(0.1, 0.2), grid_size=None)
    assert finding.saves_ns == pytest.approx(ms(0.5), rel=1e-6)
    assert finding.confidence == "medium"


@pytest.mark.parametrize(("conflict", "flagged"), [(0.049, False), (0.051, True)])
def test_a_tenth_of_the_cycles_is_the_limit(conflict: float, flagged: bool) -> None:
    assert bool(one(lds(conflict, 0.5))) is flagged


@pytest.mark.parametrize(("each", "flagged"), [(0.24, False), (0.26, True), (60.0, True)])
def test_without_active_cycles_conflicts_an_instruction_decide(each: float, flagged: bool) -> None:
    counters = lds(0, None) | {"SQ_LDS_BANK_CONFLICT": each * 1e6}
    findings = one(counters)
    assert bool(findings) is flagged
    for finding in findings:
        assert finding.saves_ns is None
        assert "% of" not in finding.title
        assert f"{each:.3g} conflict cycles" in finding.title
        assert finding.command is not None


def test_a_kernel_without_lds_is_well() -> None:
    assert one(lds(0, 0, SQ_INSTS_LDS=0)) == []


def test_rdna_counts_under_another_name() -> None:
    counters = {"SQC_LDS_BANK_CONFLICT": 3e6, "SQC_LDS_IDX_ACTIVE": 4e6, "SQ_WAVES": 1.0}
    counters["SQ_INSTS_VALU"] = 5.0
    trace = TraceBuilder("gfx1201").dispatch("k", start=0, duration=ms(1), counters=counters)
    [finding] = found(trace.profile())
    assert "75.0 %" in finding.title
    assert finding.saves_ns == ms(0.75)


def test_counters_that_cannot_be_trusted_are_no_clean_bill() -> None:
    gated = dict.fromkeys(lds(0, 0), 0.0) | {"SQ_WAVES": 1e5}
    with pytest.raises(UnjudgedError, match="clock gated"):
        one(gated)


def test_kernels_below_one_percent_are_left_out() -> None:
    trace = TraceBuilder()
    trace.dispatch("main", start=0, duration=ms(1000), counters=lds(0, 0.5), **FULL_GRID)
    trace.dispatch("small", start=ms(1000), duration=ms(9), counters=lds(0.4, 0.5), **FULL_GRID)
    assert found(trace.profile()) == []
    assert len(found(trace.profile(), min_share=0.005)) == 1


@settings(max_examples=25, deadline=None)
@given(st.floats(0, 1), st.floats(0.001, 1), st.integers(1, 10_000))
def test_it_saves_no_less_than_the_mean_and_no_more_than_is_lost(
    lost: float, active: float, groups: int
) -> None:
    findings = one(lds(lost * active, active), grid_size=256 * groups)
    assert bool(findings) is (100 * lost * active / active >= 10)
    for finding in findings:
        assert finding.saves_ns is not None
        assert ms(1) * lost * active - 1 <= finding.saves_ns <= ms(1) * lost + 1


def test_the_recorded_pair(ingested: Callable[[str], Path]) -> None:
    """1015808 of 1081344 cycles are lost; the kernel takes 6249 ns, its padded twin 5649."""
    with open_profile(ingested("mi300x_ubench/bank_conflict/conflict")) as profile:
        [finding] = found(profile)
    lost = next(m.value for m in finding.evidence if isinstance(m, Measure))
    assert lost == pytest.approx(100 * 1015808 / 1081344)
    assert finding.saves_ns is not None
    assert 6249 - 5649 <= finding.saves_ns <= 6249
    with open_profile(ingested("mi300x_ubench/bank_conflict/no_conflict")) as profile:
        assert found(profile) == []


def test_the_recorded_attention(ingested: Callable[[str], Path]) -> None:
    with open_profile(ingested("rocprofv3_csv_gfx950_attention")) as profile:
        [finding] = found(profile)
    assert finding.subject.name.startswith("_attn_fwd")
    assert finding.saves_ns is None


def test_the_recorded_instruction(ingested: Callable[[str], Path]) -> None:
    """One ds_write_b64 with 60 conflict cycles, and no active cycles to hold them against."""
    with open_profile(ingested("rocprofv3_csv_gfx950_lds")) as profile:
        [finding] = found(profile)
    assert ": 60 conflict cycles for every LDS instruction" in finding.title
