"""Resident occupancy against worked examples, break points and LLVM's own numbers.

The worked examples and break points were computed by hand from the rules that LLVM and the
instruction set manuals state; LLVM's numbers were printed by LLVM 22.1.8.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import pytest

from rocperf.hardware import (
    GpuFacts,
    KernelResources,
    Occupancy,
    compiler_waves_per_simd,
    fill,
    max_vgprs,
    next_steps,
    resident_occupancy,
    target_facts,
)
from rocperf.hardware.occupancy import vgpr_waves
from rocperf.hardware.whatif import max_sgprs

# target, wave, vgpr, agpr, sgpr, lds, workgroup | allocated, w_vgpr/w_sgpr,
# n_slot, n_bar, n_lds, n_vgpr, n_sgpr | workgroups, waves, waves a SIMD, percent, limiter
WORKED = """
gfx906 64 32 0 48 0 256 | 32 8/10 10,16,-,8,10 | 8 32 8 80.0 vgpr
gfx906 64 84 0 48 0 256 | 84 3/10 10,16,-,3,10 | 3 12 3 30.0 vgpr
gfx908 64 24 0 48 0 256 | 24 10/10 10,16,-,10,10 | 10 40 10 100.0 none
gfx908 64 24 0 48 0 1024 | 24 10/10 2,16,-,2,2 | 2 32 8 80.0 none
gfx908 64 64 128 48 0 256 | 128 2/10 10,16,-,2,10 | 2 8 2 20.0 vgpr
gfx908 64 32 0 96 0 64 | 32 8/7 40,-,-,32,28 | 28 28 7 70.0 sgpr
gfx90a 64 64 0 32 0 256 | 64 8/8 8,16,-,8,8 | 8 32 8 100.0 none
gfx90a 64 65 0 32 0 256 | 72 7/8 8,16,-,7,8 | 7 28 7 87.5 vgpr
gfx90a 64 122 0 76 0 256 | 128 4/8 8,16,-,4,8 | 4 16 4 50.0 vgpr
gfx90a 64 64 0 80 0 1024 | 64 8/8 2,16,-,2,2 | 2 32 8 100.0 none
gfx90a 64 32 0 96 0 256 | 32 8/7 8,16,-,8,7 | 7 28 7 87.5 sgpr
gfx90a 64 32 0 112 0 256 | 32 8/6 8,16,-,8,6 | 6 24 6 75.0 sgpr
gfx90a 64 96 0 80 65536 256 | 96 5/8 8,16,1,5,8 | 1 4 1 12.5 lds
gfx90a 64 50 0 30 40960 256 | 56 8/8 8,16,1,8,8 | 1 4 1 12.5 lds
gfx90a 64 100 0 48 0 512 | 104 4/8 4,16,-,2,4 | 2 16 4 50.0 vgpr
gfx942 64 72 0 48 0 256 | 72 7/8 8,16,-,7,8 | 7 28 7 87.5 vgpr
gfx942 64 100 30 48 0 256 | 136 3/8 8,16,-,3,8 | 3 12 3 37.5 vgpr
gfx942 64 128 128 48 0 256 | 256 2/8 8,16,-,2,8 | 2 8 2 25.0 vgpr
gfx942 64 5 128 48 0 256 | 136 3/8 8,16,-,3,8 | 3 12 3 37.5 vgpr
gfx942 64 256 256 96 0 256 | 512 1/7 8,16,-,1,7 | 1 4 1 12.5 vgpr
gfx942 64 96 0 48 0 1024 | 96 5/8 2,16,-,1,2 | 1 16 4 50.0 vgpr
gfx942 64 32 0 92 0 64 | 32 8/7 32,-,-,32,28 | 28 28 7 87.5 sgpr
gfx942 64 64 0 48 16385 128 | 64 8/8 16,16,3,16,16 | 3 6 1.5 18.8 lds
gfx942 64 24 0 32 0 128 | 24 8/8 16,16,-,16,16 | 16 32 8 100.0 none
gfx942 64 40 0 32 8192 64 | 40 8/8 32,-,8,32,32 | 8 8 2 25.0 lds
gfx950 64 250 0 48 0 64 | 256 2/8 32,-,-,8,32 | 8 8 2 25.0 vgpr
gfx950 64 168 0 48 0 64 | 168 3/8 32,-,-,12,32 | 12 12 3 37.5 vgpr
gfx950 64 64 0 48 65536 256 | 64 8/8 8,16,2,8,8 | 2 8 2 25.0 lds
gfx950 64 64 0 48 81920 256 | 64 8/8 8,16,2,8,8 | 2 8 2 25.0 lds
gfx950 64 32 0 48 13654 64 | 32 8/8 32,-,11,32,32 | 11 11 2.75 34.4 lds
gfx950 64 32 0 48 12800 64 | 32 8/8 32,-,12,32,32 | 12 12 3 37.5 lds
gfx1030 32 128 0 - 0 256 | 128 8/16 8,32,-,4,8 | 4 32 8 50.0 vgpr
gfx1030 32 64 0 - 0 256 | 64 16/16 8,32,-,8,8 | 8 64 16 100.0 none
gfx1030 32 65 0 - 0 256 | 80 12/16 8,32,-,6,8 | 6 48 12 75.0 vgpr
gfx1030 64 32 0 - 0 64 | 32 16/16 64,-,-,64,64 | 64 64 16 100.0 none
gfx1030 32 32 0 - 32769 256 | 32 16/16 8,32,3,8,8 | 3 24 6 37.5 lds
gfx1100 32 96 0 - 0 256 | 96 16/16 8,32,-,8,8 | 8 64 16 100.0 none
gfx1100 32 97 0 - 0 256 | 120 12/16 8,32,-,6,8 | 6 48 12 75.0 vgpr
gfx1100 32 256 0 - 0 256 | 264 5/16 8,32,-,2,8 | 2 16 4 25.0 vgpr
gfx1100 32 100 0 - 0 1024 | 120 12/16 2,32,-,1,2 | 1 32 8 50.0 vgpr
gfx1100 64 48 0 - 0 256 | 48 16/16 16,32,-,16,16 | 16 64 16 100.0 none
gfx1100 32 64 0 - 21846 256 | 72 16/16 8,32,5,8,8 | 5 40 10 62.5 lds
gfx1100 32 64 0 - 32768 256 | 72 16/16 8,32,4,8,8 | 4 32 8 50.0 lds
gfx1100-cu 32 64 0 - 32768 256 | 72 16/16 4,16,2,4,4 | 2 16 8 50.0 lds
gfx1102 32 96 0 - 0 256 | 96 10/16 8,32,-,5,8 | 5 40 10 62.5 vgpr
gfx1150 32 128 0 - 0 256 | 128 8/16 8,32,-,4,8 | 4 32 8 50.0 vgpr
gfx1151 32 128 0 - 0 256 | 144 10/16 8,32,-,5,8 | 5 40 10 62.5 vgpr
gfx1201 32 120 0 - 0 256 | 120 12/16 8,32,-,6,8 | 6 48 12 75.0 vgpr
gfx1201 32 24 0 - 0 64 | 24 16/16 32,32,-,32,32 | 32 64 16 100.0 none
gfx1200 32 96 0 - 0 32 | 96 16/16 64,-,-,64,64 | 64 64 16 100.0 none
""".strip().splitlines()

BREAK_POINTS = """
gfx906 64 10:24 9:28 8:32 7:36 6:40 5:48 4:64 3:84 2:128 1:256
gfx908 64 10:24 9:28 8:32 7:36 6:40 5:48 4:64 3:84 2:128 1:256
gfx90a 64 8:64 7:72 6:80 5:96 4:128 3:168 2:256 1:512
gfx942 64 8:64 7:72 6:80 5:96 4:128 3:168 2:256 1:512
gfx950 64 8:64 7:72 6:80 5:96 4:128 3:168 2:256 1:512
gfx1030 32 16:64 12:80 10:96 9:112 8:128 7:144 6:160 5:192 4:256
gfx1102 32 16:64 12:80 10:96 9:112 8:128 7:144 6:160 5:192 4:256
gfx1150 32 16:64 12:80 10:96 9:112 8:128 7:144 6:160 5:192 4:256
gfx1030 64 16:32 12:40 10:48 9:56 8:64 7:72 6:80 5:96 4:128 3:168 2:256
gfx1102 64 16:32 12:40 10:48 9:56 8:64 7:72 6:80 5:96 4:128 3:168 2:256
gfx1150 64 16:32 12:40 10:48 9:56 8:64 7:72 6:80 5:96 4:128 3:168 2:256
gfx1100 32 16:96 12:120 10:144 9:168 8:192 7:216 6:240 5:256
gfx1101 32 16:96 12:120 10:144 9:168 8:192 7:216 6:240 5:256
gfx1151 32 16:96 12:120 10:144 9:168 8:192 7:216 6:240 5:256
gfx1200 32 16:96 12:120 10:144 9:168 8:192 7:216 6:240 5:256
gfx1201 32 16:96 12:120 10:144 9:168 8:192 7:216 6:240 5:256
gfx1100 64 16:48 12:60 10:72 9:84 8:96 7:108 6:120 5:144 4:192 3:252 2:256
gfx1201 64 16:48 12:60 10:72 9:84 8:96 7:108 6:120 5:144 4:192 3:252 2:256
""".strip().splitlines()


def facts_of(target: str) -> GpuFacts:
    facts = target_facts(target)
    assert facts is not None
    return facts


def occupy(target: str, vgpr: int, workgroup: int, **more: int) -> Occupancy:
    return resident_occupancy(
        facts_of(target), KernelResources(vgpr=vgpr, workgroup_size=workgroup, **more)
    )


def maybe(text: str) -> int | None:
    return None if text == "-" else int(text)


@pytest.mark.parametrize("line", WORKED)
def test_worked_example(line: str) -> None:
    asked, found, result = (part.split() for part in line.split("|"))
    target, _, mode = asked[0].partition("-")
    wave, vgpr, agpr = (int(x) for x in asked[1:4])
    resources = KernelResources(
        vgpr=vgpr,
        agpr=agpr,
        sgpr=maybe(asked[4]),
        lds_bytes=int(asked[5]),
        workgroup_size=int(asked[6]),
    )
    got = resident_occupancy(facts_of(target), resources, wave, cu_mode=mode == "cu")
    assert got.allocated_vgprs == int(found[0])
    assert f"{got.vgpr_waves}/{got.sgpr_waves}" == found[1]
    slots, barriers, lds, by_vgpr, by_sgpr = (maybe(x) for x in found[2].split(","))
    assert (got.n_slots, got.n_barriers, got.n_lds, got.n_vgpr) == (slots, barriers, lds, by_vgpr)
    # RDNA's scalar registers limit nothing: we say so instead of repeating the slots.
    assert got.n_sgpr == (by_sgpr if asked[4] != "-" else None)
    assert (got.workgroups, got.waves) == (int(result[0]), int(result[1]))
    assert got.waves_per_simd == float(result[2])
    assert got.occupancy * 100 == pytest.approx(float(result[3]), abs=0.06)
    if result[4] == "none":
        assert got.limiters in (("wave slots",), ("workgroup granularity",))
    else:
        assert got.limiters == (result[4],)


def test_there_are_fifty_worked_examples() -> None:
    assert len(WORKED) == 50


@pytest.mark.parametrize("line", BREAK_POINTS)
def test_vgpr_break_points(line: str) -> None:
    target, wave, *steps = line.split()
    limits = facts_of(target).limits(int(wave))
    for step in steps:
        waves, most = (int(x) for x in step.split(":"))
        assert max_vgprs(limits, waves) == most
        at = KernelResources(vgpr=most, workgroup_size=64)
        assert vgpr_waves(limits, at) >= waves
        if most < limits.max_vgprs:
            above = KernelResources(vgpr=most + 1, workgroup_size=64)
            assert vgpr_waves(limits, above) < waves


@pytest.mark.parametrize(("sgpr", "waves"), [(64, 10), (80, 8), (96, 7), (112, 6)])
def test_sgpr_steps_with_the_trap_reserve(sgpr: int, waves: int) -> None:
    limits = facts_of("gfx908").limits()
    assert max_sgprs(limits, waves) == sgpr
    got = occupy("gfx908", 16, 64, sgpr=sgpr)
    assert got.sgpr_waves == waves


def test_no_waves_of_that_size() -> None:
    with pytest.raises(ValueError, match="gfx942 has waves of 64 lanes, not 32"):
        resident_occupancy(facts_of("gfx942"), KernelResources(vgpr=8, workgroup_size=64), 32)


@pytest.mark.parametrize(
    "bad", [{"vgpr": 8, "workgroup_size": 0}, {"vgpr": -1, "workgroup_size": 64}]
)
def test_impossible_resources_are_refused(bad: dict[str, int]) -> None:
    with pytest.raises(ValueError):
        KernelResources(**bad)


def test_what_cannot_launch() -> None:
    # LDS above the cap of a workgroup (RDNA: 64 KiB even of a 128 KiB pool), too many registers
    # for one workgroup's waves, too many work-items.
    assert occupy("gfx942", 32, 256, lds_bytes=65537).limiters == ("cannot launch",)
    assert occupy("gfx1100", 32, 256, lds_bytes=65537).limiters == ("cannot launch",)
    assert occupy("gfx942", 200, 1024).limiters == ("cannot launch",)
    assert occupy("gfx942", 32, 1025).workgroups == 0
    assert occupy("gfx950", 32, 256, lds_bytes=163840).workgroups == 1


def test_barriers_limit_two_wave_workgroups_of_gfx908() -> None:
    # 40 slots hold 20 workgroups of two waves, but a CU has 16 barriers: 32 waves of 40.
    got = occupy("gfx908", 16, 128)
    assert (got.workgroups, got.waves, got.limiters) == (16, 32, ("barriers",))


def test_whole_workgroups_only() -> None:
    # 320 work-items are 5 waves; 6 workgroups are 30 of 32 waves although registers allow 8.
    got = occupy("gfx942", 64, 320, sgpr=16)
    assert (got.waves_per_workgroup, got.workgroups, got.waves) == (5, 6, 30)
    assert got.occupancy == 0.9375
    assert got.limiters == ("workgroup granularity",)
    partial = occupy("gfx942", 8, 100, sgpr=16)
    assert (partial.waves_per_workgroup, partial.lane_use) == (2, 0.78125)
    assert partial.occupancy == 1.0


@pytest.mark.parametrize(
    ("target", "vgpr", "lds", "workgroup", "limiter"),
    [
        ("gfx942", 264, 40960, 256, "lds"),
        ("gfx942", 176, 8192, 64, "lds"),
        ("gfx950", 176, 65536, 256, "lds"),
        ("gfx1100", 248, 65536, 256, "lds"),
        ("gfx908", 32, 0, 1024, "workgroup granularity"),
    ],
)
def test_compiler_padding_is_not_named(
    target: str, vgpr: int, lds: int, workgroup: int, limiter: str
) -> None:
    # Register counts that LLVM 22.1 writes for kernels that need 20 to 50.
    got = occupy(target, vgpr, workgroup, lds_bytes=lds)
    assert got.vgpr_may_be_padded
    assert got.limiters == (limiter,)


def test_registers_well_above_the_other_limits_are_not_called_padded() -> None:
    assert not occupy("gfx942", 128, 256).vgpr_may_be_padded
    assert not occupy("gfx90a", 96, 256, lds_bytes=65536).vgpr_may_be_padded


def test_compiler_and_resident_differ() -> None:
    # LLVM prints 5 and 12 where only 4 and 8 fit: a workgroup of 1024 needs 16 (32) waves.
    a, b = (KernelResources(vgpr=v, workgroup_size=1024) for v in (96, 100))
    assert compiler_waves_per_simd(facts_of("gfx942"), a) == 5
    assert resident_occupancy(facts_of("gfx942"), a).waves_per_simd == 4
    assert compiler_waves_per_simd(facts_of("gfx1100"), b) == 12
    assert resident_occupancy(facts_of("gfx1100"), b).waves_per_simd == 8


@pytest.mark.parametrize(
    ("sgpr", "waves"), [(80, 10), (81, 9), (88, 9), (89, 8), (100, 8), (101, 7), (102, 7)]
)
def test_llvm22_sgpr_table(sgpr: int, waves: int) -> None:
    few = KernelResources(vgpr=8, workgroup_size=64, sgpr=sgpr)
    assert compiler_waves_per_simd(facts_of("gfx908"), few) == waves


def golden_cases() -> list[tuple[str, dict[str, int]]]:
    traces = Path(os.environ.get("ROCPERF_TRACES", "../shared/traces"))
    path = traces.parent / "golden" / "llvm22_occupancy.json"
    if not path.is_file():
        pytest.skip("LLVM's printed occupancies are not there")
    cases: dict[str, list[dict[str, int]]] = json.loads(path.read_text())["cases"]
    return [(key, case) for key, group in cases.items() for case in group]


def test_llvm22_prints_the_same() -> None:
    cases = golden_cases()
    wrong: list[str] = []
    for key, case in cases:
        target, _, variant = key.partition("-")
        facts = facts_of(target)
        resources = KernelResources(
            vgpr=case["vgpr"],
            agpr=case["agpr"],
            lds_bytes=case["lds"],
            workgroup_size=case["wg"],
        )
        wave = 64 if variant == "wave64" else None
        got = compiler_waves_per_simd(facts, resources, wave, cu_mode=variant == "cu")
        if got != case["Occupancy"]:
            wrong.append(f"{key} {case}: {got}")
        resident = resident_occupancy(facts, resources, wave, cu_mode=variant == "cu")
        if resident.waves_per_simd > max(got, 1):
            wrong.append(f"{key} {case}: resident {resident.waves_per_simd} above {got}")
    assert len(cases) == 1221
    assert wrong == []


def test_next_steps_by_registers() -> None:
    # 250 registers leave 2 waves a SIMD; 3 need at most 168, 4 at most 128, 5 at most 96.
    steps = next_steps(facts_of("gfx950"), KernelResources(vgpr=250, workgroup_size=64))
    assert [(s.waves_per_simd, s.changes[0].now, s.changes[0].at_most) for s in steps] == [
        (3.0, 250, 168),
        (4.0, 250, 128),
        (5.0, 250, 96),
    ]


def test_next_step_by_lds() -> None:
    # 40 KiB: a second workgroup needs 32768 B each.
    resources = KernelResources(vgpr=50, workgroup_size=256, lds_bytes=40960)
    first = next_steps(facts_of("gfx90a"), resources)[0]
    assert (first.workgroups, first.changes[0].resource, first.changes[0].at_most) == (
        2,
        "lds",
        32768,
    )
    # Twelve workgroups on gfx950 need 12800 B, a multiple of 1280, not 163840 / 12 = 13653.
    resources = KernelResources(vgpr=32, workgroup_size=64, lds_bytes=13654)
    assert next_steps(facts_of("gfx950"), resources)[0].changes[0].at_most == 12800


def test_next_step_names_everything_in_the_way() -> None:
    resources = KernelResources(vgpr=72, sgpr=92, workgroup_size=256)
    (step,) = next_steps(facts_of("gfx942"), resources)
    assert step.occupancy == 1.0
    assert [(c.resource, c.at_most) for c in step.changes] == [("vgpr", 64), ("sgpr", 80)]


def test_next_steps_reach_what_they_promise() -> None:
    facts = facts_of("gfx942")
    resources = KernelResources(vgpr=140, agpr=36, sgpr=100, lds_bytes=20000, workgroup_size=192)
    steps = next_steps(facts, resources, steps=9)
    assert len(steps) >= 3
    for step in steps:
        limit = {c.resource: c.at_most for c in step.changes}
        reduced = KernelResources(
            vgpr=limit.get("vgpr", 176),
            sgpr=limit.get("sgpr", 100),
            lds_bytes=limit.get("lds", 20000),
            workgroup_size=192,
        )
        assert resident_occupancy(facts, reduced).workgroups == step.workgroups


def test_no_next_step_when_full() -> None:
    assert next_steps(facts_of("gfx942"), KernelResources(vgpr=64, workgroup_size=256)) == ()


def test_fill_of_the_chip() -> None:
    # MI300X, 304 CUs with 4 workgroups each, 1300 of them: 1216 at once, a second round of 84.
    four = occupy("gfx942", 128, 256)
    assert four.workgroups == 4
    got = fill(four, 1300, 304, 8)
    assert got is not None
    assert (got.resident, got.rounds, got.idle_units) == (1216, 2, 0)
    assert math.isclose(got.tail_efficiency, 1300 / 2432)
    assert got.uneven_xccs  # 1300 is no multiple of 8
    small = fill(four, 76, 304, 8)
    assert small is not None
    assert (small.idle_units, small.first_round) == (228, 0.0625)


def test_fill_counts_wgps_on_rdna() -> None:
    eight = occupy("gfx1201", 96, 256)
    got = fill(eight, 256, 64)
    assert got is not None
    assert (got.resident, got.rounds, got.tail_efficiency) == (256, 1, 1.0)


def test_nothing_fills_what_cannot_launch() -> None:
    assert fill(occupy("gfx942", 200, 1024), 10, 304) is None
