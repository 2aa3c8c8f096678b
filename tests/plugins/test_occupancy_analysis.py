"""The occupancy analysis on traces built by hand and on recordings."""

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
from rocperf.testing import AnalysisContract, TraceBuilder, ms, us
from rocperf_analyses.occupancy import OccupancyLimits, OccupancyOptions

#: A grid of 64 rounds of one workgroup a compute unit, so that neither fill nor tail matter.
LAUNCH: dict[str, Any] = {
    "workgroup_size": 256,
    "grid_size": 256 * 304 * 64,
    "lds_bytes": 0,
    "sgpr": 32,
    "vgpr": 32,
    "agpr": 0,
}


def found(profile: Profile, **options: float) -> list[Finding]:
    return list(OccupancyLimits(OccupancyOptions(**options)).run(profile))


def one(trace: TraceBuilder | None = None, **columns: Any) -> list[Finding]:
    """Return what is found of one kernel of 5 ms."""
    trace = trace or TraceBuilder()
    trace.dispatch("k", start=0, duration=ms(5), **(LAUNCH | columns))
    return found(trace.profile())


def busy(percent: float) -> dict[str, float]:
    """Return counters in which the vector ALUs of an MI300X are busy that much in 5 ms."""
    cycles = 0.005 * 2.1e9
    return {
        "GRBM_GUI_ACTIVE": 8 * cycles,
        "SQ_ACTIVE_INST_VALU": cycles * 304 * percent / 100,
        "SQ_WAVES": 1e6,
        "SQ_INSTS_VALU": 1e7,
    }


class TestOccupancyContract(AnalysisContract):
    analysis = OccupancyLimits

    def flagged(self, trace: TraceBuilder) -> TraceBuilder:
        return trace.dispatch("heavy", start=0, duration=ms(5), **(LAUNCH | {"vgpr": 264}))

    def healthy(self, trace: TraceBuilder) -> TraceBuilder:
        return trace.dispatch("light", start=0, duration=ms(5), **LAUNCH)


def test_registers_limit_and_the_next_step_is_named() -> None:
    """512 registers a lane: 264 leave room for one wave a SIMD, 256 for two."""
    [finding] = one(vgpr=264)
    assert finding.rule == "occupancy/vgpr"
    assert "1 of 8 waves a SIMD" in finding.title
    assert "vgpr from 264 to 256" in finding.advice
    assert "__launch_bounds__(256, 2)" in finding.advice
    # The third step is 5 workgroups of 4 waves, 5 of 8 waves a SIMD with at most 96 registers.
    assert finding.saves_ns is not None
    assert 0 < finding.saves_ns <= ms(5)
    assert finding.confidence == "low"
    assert finding.command == "rocperf collect --for occupancy -- ./app"


def test_lds_limits() -> None:
    """Of 64 KiB a workgroup of 40 KiB leaves no room for another; 32 KiB do."""
    [finding] = one(lds_bytes=40 * 1024)
    assert finding.rule == "occupancy/lds"
    assert "lds from 40960 to 32768" in finding.advice


def test_padded_registers_are_not_blamed() -> None:
    """LLVM raises 50 registers to 264 where 40 KiB of LDS allow one workgroup anyway."""
    [finding] = one(vgpr=52, agpr=212, lds_bytes=40 * 1024)
    assert finding.rule == "occupancy/lds"
    assert finding.title.endswith("lds limits")
    # Two workgroups need 256 registers, too: said as a doubt, not as something to do.
    assert "bring lds from 40960 to 32768:" in finding.advice
    assert any("264 vector registers may be the compiler's filling" in d for d in finding.doubts)


def test_registers_that_limit_on_their_own_are_to_be_brought_down() -> None:
    [finding] = one(vgpr=264)
    assert not any("filling" in doubt for doubt in finding.doubts)


@pytest.mark.parametrize(
    ("waves", "fitting", "doubted"),
    # 256 registers a lane of wave32: 5 waves a SIMD of 16, of which workgroups of 8 waves fill 4;
    # of wave64: 768 / 264 = 2, which workgroups of 4 waves fill.
    [(8, "4 of 16", False), (4, "2 of 16", False), (5, "4 of 16", True), (None, "4 of 16", True)],
)
def test_counted_waves_tell_the_wave_size_of_rdna(
    waves: int | None, fitting: str, doubted: bool
) -> None:
    groups = 64 * 64
    trace = TraceBuilder("gfx1201", cu_count=64, num_xcc=1)
    counters = None if waves is None else {"SQ_WAVES": float(waves * groups)}
    columns = LAUNCH | {"vgpr": 256, "sgpr": 128, "grid_size": 256 * groups}
    trace.dispatch("k", start=0, duration=ms(5), counters=counters, **columns)
    [finding] = found(trace.profile(), very_low=0.5)
    assert f"{fitting} waves a SIMD" in finding.title
    assert any("wave size was not recorded" in doubt for doubt in finding.doubts) is doubted


@pytest.mark.parametrize(
    ("vgpr", "percent", "flagged"),
    [
        (256, None, False),  # 25 %: what it waits for was not measured
        (256, 10.0, True),
        (256, 80.0, False),  # it would not gain
        (264, None, True),
        (264, 80.0, False),
        (128, 10.0, False),  # 50 % is enough
    ],
)
def test_what_would_not_gain_is_no_finding(vgpr: int, percent: float | None, flagged: bool) -> None:
    counters = None if percent is None else busy(percent)
    assert bool(one(vgpr=vgpr, counters=counters)) is flagged


def test_matrix_kernels_need_few_waves() -> None:
    counters = {"SQ_INSTS_VALU_MFMA_MOPS_BF16": 1e9, "SQ_WAVES": 1e6}
    assert one(vgpr=264, counters=counters) == []
    assert len(one(vgpr=264, counters={"SQ_WAVES": 1e6})) == 1


def test_halved_counts_of_gfx950_are_doubled() -> None:
    """132 of an old profiler are 264: one wave a SIMD, not three."""
    [finding] = one(TraceBuilder("gfx950", cu_count=256, num_xcc=8), vgpr=132)
    assert "1 of 8 waves" in finding.title
    assert "doubled" in " ".join(finding.doubts)


@pytest.mark.parametrize("groups", [1, 2, 152])
def test_a_grid_that_leaves_half_of_the_gpu_idle(groups: int) -> None:
    [finding] = one(grid_size=256 * groups)
    assert finding.rule == "occupancy/grid"
    assert f"{304 - groups} of 304 compute units idle" in finding.title
    assert finding.saves_ns == round(ms(5) * (304 - groups) / 304)


def test_a_grid_that_fills_more_than_half_is_none() -> None:
    assert one(grid_size=256 * 153) == []


def test_the_tail_of_a_few_rounds() -> None:
    """1300 workgroups, 1216 resident: two rounds, 53.5 % full (a worked example of the rule)."""
    columns = {"vgpr": 128, "grid_size": 256 * 1300}
    [finding] = one(**columns)
    assert finding.rule == "occupancy/tail"
    assert "in 2 rounds that are 53 % full" in finding.title
    assert finding.saves_ns == pytest.approx(ms(5) * (1 - 1300 / 2432), abs=1)
    assert one(**columns | {"grid_size": 256 * 2400}) == []


def test_short_launches_lower_the_confidence_and_bound_nothing() -> None:
    trace = TraceBuilder().dispatch("k", start=0, duration=us(3), **(LAUNCH | {"grid_size": 256}))
    [finding] = found(trace.profile())
    assert finding.confidence == "low"
    assert finding.saves_ns is None  # the launch alone takes as long
    assert "3.0 µs" in finding.doubts[-1]


def test_only_the_launches_of_that_shape_count() -> None:
    trace = TraceBuilder()
    trace.dispatch("k", start=0, duration=ms(6), **(LAUNCH | {"grid_size": 256}))
    trace.dispatch("k", start=ms(6), duration=ms(4), **LAUNCH)
    [finding] = found(trace.profile())
    assert finding.saves_ns == round(ms(6) * 303 / 304)


def test_kernels_below_one_percent_and_not_of_the_user_are_left_out() -> None:
    trace = TraceBuilder().dispatch("main", start=0, duration=ms(1000), **LAUNCH)
    heavy = LAUNCH | {"vgpr": 264}
    trace.dispatch("small", start=ms(1000), duration=ms(5), **heavy)
    for number, role in enumerate(("copy", "fill", "communication")):
        trace.dispatch(role, start=ms(1100 + 100 * number), duration=ms(90), role=role, **heavy)
    assert found(trace.profile()) == []
    assert len(found(trace.profile(), min_share=0.001)) == 1


def test_of_an_unknown_gpu_it_says_that_it_cannot_judge() -> None:
    trace = TraceBuilder("gfx9999").dispatch("k", start=0, duration=ms(5), **LAUNCH)
    with pytest.raises(UnjudgedError, match="gfx9999"):
        found(trace.profile())


columns = st.fixed_dictionaries(
    {
        "vgpr": st.integers(1, 512),
        "agpr": st.sampled_from([0, 4, 128, 256]),
        "lds_bytes": st.integers(0, 65536),
        "workgroup_size": st.integers(1, 1024),
        "grid_size": st.integers(0, 2**32),
    }
)


@settings(max_examples=25, deadline=None)
@given(columns, st.sampled_from(["gfx90a", "gfx942", "gfx950", "gfx1151", "gfx1201", "gfx908"]))
def test_no_launch_raises_or_saves_more_than_it_takes(launch: dict[str, int], target: str) -> None:
    trace = TraceBuilder(target, cu_count=64, num_xcc=1)
    trace.dispatch("k", start=0, duration=ms(5), sgpr=48, **launch)
    findings = found(trace.profile())
    assert len({finding.rule for finding in findings}) == len(findings) <= 2
    for finding in findings:
        assert finding.saves_ns is not None
        assert 0 < finding.saves_ns < ms(5)


@pytest.mark.parametrize(
    ("folder", "rules"),
    [
        ("mi300x_ubench/bank_conflict/conflict", []),
        ("mi300x_ubench/coalescing/uncoalesced", []),
        ("compute_vcopy/MI200", []),
        # Matrix kernels with one and two waves a SIMD, as such kernels have.
        ("compute_gemm_mi325x/swizzle", []),
        ("rocprofv3_csv_gfx950_wave", ["occupancy/grid"]),
        # The seventh kernel is a fill of the runtime's.
        ("compute_multikernel/MI200", ["occupancy/grid"] * 6),
    ],
)
def test_recordings(ingested: Callable[[str], Path], folder: str, rules: list[str]) -> None:
    with open_profile(ingested(folder)) as profile:
        findings = found(profile)
    assert [finding.rule for finding in findings] == rules


@pytest.mark.parametrize(
    "folder", ["rocprofv3_csv_gfx1151_decode", "rocprofv3_csv_mi300x_training"]
)
def test_a_recording_without_agents_cannot_be_judged(
    ingested: Callable[[str], Path], folder: str
) -> None:
    with (
        open_profile(ingested(folder)) as profile,
        pytest.raises(UnjudgedError, match="not recorded"),
    ):
        found(profile)
