"""What profilers write of registers, LDS and waves, and what it means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from rocperf.hardware import (
    GpuFacts,
    Reported,
    halved_counts,
    proven_wave_size,
    reported_resources,
    resident_occupancy,
    target_facts,
)
from rocperf.hardware.reported import Halved


def facts_of(target: str) -> GpuFacts:
    facts = target_facts(target)
    assert facts is not None
    return facts


def report(target: str, halved: Halved | None = None, **row: object) -> Reported:
    full: Mapping[str, object] = {"workgroup_size": 256, "lds_bytes": 0, "sgpr": 16} | row
    return reported_resources(facts_of(target), full, halved=halved)


def waves(target: str, halved: Halved | None = None, **row: object) -> float:
    got = report(target, halved, **row)
    assert got.resources is not None
    return resident_occupancy(facts_of(target), got.resources, got.wave_size).waves_per_simd


def codes(got: Reported) -> list[str]:
    return [caveat.code for caveat in got.caveats]


@pytest.mark.parametrize(
    ("target", "a", "b", "c"),
    # 64 + 64, 128 + 0 and 256 + 256 registers: one file of 512 on gfx942, two of 256 on gfx908.
    [("gfx942", 4, 4, 1), ("gfx90a", 4, 4, 1), ("gfx908", 4, 2, 1)],
)
def test_one_register_file_or_two(target: str, a: int, b: int, c: int) -> None:
    assert waves(target, vgpr=64, agpr=64) == a
    assert waves(target, vgpr=128, agpr=0) == b
    assert waves(target, vgpr=256, agpr=256) == c


def test_the_sum_is_the_allocation_on_mi200() -> None:
    # 122 used registers are written as 124 and 4: 128 allocated, four waves.
    got = report("gfx90a", vgpr=124, agpr=4)
    assert got.resources is not None
    assert resident_occupancy(facts_of("gfx90a"), got.resources).allocated_vgprs == 128
    assert waves("gfx90a", vgpr=124, agpr=4) == 4
    assert got.confidence == "high"


def test_gfx908_copies_the_count() -> None:
    got = report("gfx908", vgpr=64, agpr=64)
    assert got.resources is not None
    assert resident_occupancy(facts_of("gfx908"), got.resources).allocated_vgprs == 64


def test_unknown_accumulation_registers_give_an_upper_bound() -> None:
    got = report("gfx942", vgpr=64, agpr=None)
    assert codes(got) == ["accumulation registers unknown"]
    assert got.upper_bound
    assert waves("gfx942", vgpr=64, agpr=None) == 8
    assert codes(report("gfx906", vgpr=64, agpr=None)) == []


def test_whole_profile_rule_of_gfx950() -> None:
    assert halved_counts([(64, 0), (84, 0)]) == "yes"
    assert halved_counts([(64, 0), (128, 0)]) == "likely"
    assert halved_counts([(64, 0), (124, 4)]) == "no"
    assert halved_counts([(64, None), (None, 0)]) == "no"
    assert halved_counts([]) == "no"


def test_halved_counts_are_doubled() -> None:
    got = report("gfx950", vgpr=84, agpr=0)
    assert got.resources is not None
    assert (got.resources.vgpr, got.resources.agpr) == (168, 0)
    assert codes(got) == ["register counts halved"]
    assert waves("gfx950", vgpr=84, agpr=0) == 3
    # 64 alone does not prove it; another kernel of the profile may.
    alone = report("gfx950", vgpr=64, agpr=0)
    assert (codes(alone), alone.confidence) == (["register counts perhaps halved"], "low")
    assert waves("gfx950", "yes", vgpr=64, agpr=0) == 4
    assert waves("gfx950", "no", vgpr=64, agpr=0) == 8
    assert codes(report("gfx942", vgpr=84, agpr=0)) == []


def test_rdna_wave_size() -> None:
    # An odd multiple of 4 can only be encoded with wave64.
    proven = report("gfx1201", vgpr=60, sgpr=128)
    assert proven.wave_size == 64
    assert "wave size assumed" not in codes(proven)
    assumed = report("gfx1201", vgpr=96, sgpr=128)
    assert assumed.wave_size == 32
    assert "wave size assumed" in codes(assumed)
    told = reported_resources(
        facts_of("gfx1201"), {"vgpr": 96, "workgroup_size": 256, "lds_bytes": 0}, wave_size=64
    )
    assert told.wave_size == 64
    assert "wave size assumed" not in codes(told)


def test_rdna_is_not_counted_with_cdna_rules() -> None:
    # 96 registers, 256 work-items on gfx1151: 8 waves of 32 lanes, 16 waves a SIMD; counted as
    # CDNA it would be floor(512 / 96) = 5.
    got = report("gfx1151", vgpr=96, agpr=0, sgpr=128)
    assert got.resources is not None
    assert got.resources.sgpr is None
    occupancy = resident_occupancy(facts_of("gfx1151"), got.resources, got.wave_size)
    assert occupancy.waves_per_workgroup == 8
    assert (occupancy.waves_per_simd, occupancy.occupancy) == (16.0, 1.0)


def test_static_lds_is_an_upper_bound() -> None:
    got = report("gfx942", vgpr=32, agpr=0, lds_bytes=None, static_lds_bytes=0)
    assert codes(got) == ["static LDS only"]
    assert got.upper_bound
    assert "static LDS only" in got.caveats[0].text
    # The launch's 32768 B let two workgroups of four waves on a CU: 8 of 32 waves.
    assert waves("gfx942", vgpr=32, agpr=0, lds_bytes=32768, static_lds_bytes=0) == 2
    assert codes(report("gfx942", vgpr=32, agpr=0, lds_bytes=32768)) == []


def test_lds_rounded_to_the_wrong_granule() -> None:
    # 1280 B of gfx950 are written as 1536, which would take two granules of 1280.
    got = report("gfx950", "no", vgpr=32, agpr=0, lds_bytes=None, static_lds_bytes=1536)
    assert "LDS rounded" in codes(got)
    clear = report("gfx950", "no", vgpr=32, agpr=0, lds_bytes=None, static_lds_bytes=13824)
    assert "LDS rounded" not in codes(clear)
    same = report("gfx942", vgpr=32, agpr=0, lds_bytes=None, static_lds_bytes=1536)
    assert "LDS rounded" not in codes(same)


def test_missing_columns_are_said() -> None:
    assert "LDS unknown" in codes(report("gfx942", vgpr=32, agpr=0, lds_bytes=None))
    assert codes(report("gfx942", vgpr=32, agpr=0, sgpr=None)) == ["scalar registers unknown"]
    assert report("gfx942", vgpr=0, agpr=0).resources is None
    assert "register counts" in report("gfx942", vgpr=None).reason
    assert "workgroup size" in report("gfx942", vgpr=32, workgroup_size=None).reason


@pytest.mark.parametrize(
    ("workgroup", "grid", "waves", "size"),
    [
        # 100 workgroups of 256 work-items: 8 waves of 32 or 4 of 64 lanes each.
        (256, 25600, 800, 32),
        (256, 25600, 400, 64),
        # 48 work-items are two waves of 32, or one of 64 that is not full.
        (48, 4800, 200, 32),
        (48, 4800, 100, 64),
        # 32 are one wave of either size.
        (32, 3200, 100, None),
        # A count that neither gives, a last workgroup that is not full, nothing counted.
        (256, 25600, 500, None),
        (256, 25700, 804, None),
        (256, 25600, None, None),
        (256, 25600, 0, None),
        (None, 25600, 800, None),
        (256, None, 800, None),
    ],
)
def test_counted_waves_prove_the_wave_size(
    workgroup: int | None, grid: int | None, waves: float | None, size: int | None
) -> None:
    assert proven_wave_size(facts_of("gfx1201"), workgroup, grid, waves) == size


def test_a_gpu_of_one_wave_size_is_proven_only_by_the_right_count() -> None:
    assert proven_wave_size(facts_of("gfx942"), 256, 25600, 400) == 64
    assert proven_wave_size(facts_of("gfx942"), 256, 25600, 800) is None


def test_rdna_scalar_registers_are_ignored_and_said_nowhere() -> None:
    # rocprofv3 writes 128 for every RDNA kernel; counted as on gfx9 it would leave 5 of 8 waves.
    got = report("gfx1030", vgpr=64, sgpr=128)
    assert got.resources is not None
    assert got.resources.sgpr is None
    assert "scalar registers unknown" not in codes(got)


@pytest.mark.parametrize(
    ("row", "confidence", "upper_bound"),
    [
        # What a trap costs: a lower confidence, and whether fewer waves may fit.
        ({"target": "gfx942", "vgpr": 64, "agpr": 0}, "high", False),
        ({"target": "gfx908", "vgpr": 64, "agpr": 64}, "high", False),
        ({"target": "gfx950", "vgpr": 84, "agpr": 0}, "high", False),
        ({"target": "gfx950", "vgpr": 64, "agpr": 0}, "low", False),
        ({"target": "gfx942", "vgpr": 64, "agpr": None}, "medium", True),
        ({"target": "gfx942", "vgpr": 64, "agpr": 0, "sgpr": None}, "medium", True),
        (
            {"target": "gfx942", "vgpr": 64, "agpr": 0, "lds_bytes": None, "static_lds_bytes": 512},
            "medium",
            True,
        ),
        ({"target": "gfx942", "vgpr": 64, "agpr": 0, "lds_bytes": None}, "low", True),
        ({"target": "gfx1201", "vgpr": 96, "workgroup_size": 32}, "medium", False),
        ({"target": "gfx1201", "vgpr": 60, "workgroup_size": 64}, "high", False),
        ({"target": "gfx1201", "vgpr": 60, "workgroup_size": 256}, "medium", False),
    ],
)
def test_what_each_trap_costs(row: dict[str, Any], confidence: str, upper_bound: bool) -> None:
    got = report(**row)
    assert (got.confidence, got.upper_bound) == (confidence, upper_bound)
