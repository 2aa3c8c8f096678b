"""The calculator takes every launch there can be, and its steps are exact."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocperf.errors import UsageError
from rocperf.hardware import (
    GpuFacts,
    KernelResources,
    calculate,
    find_gpu,
    known_targets,
    resident_occupancy,
    target_facts,
)


def facts_of(target: str) -> GpuFacts:
    facts = target_facts(target)
    assert facts is not None
    return facts


@st.composite
def launches(draw: st.DrawFn) -> tuple[GpuFacts, KernelResources, int, bool]:
    facts = facts_of(draw(st.sampled_from(known_targets())))
    agpr = draw(st.integers(0, 256)) if facts.registers != "single" else 0
    resources = KernelResources(
        vgpr=draw(st.integers(0, 256)),
        agpr=agpr,
        sgpr=draw(st.none() | st.integers(0, 108)),
        lds_bytes=draw(st.just(0) | st.integers(0, facts.whole("lds_bytes_per_workgroup"))),
        workgroup_size=draw(st.integers(1, 1024)),
    )
    wave = draw(st.sampled_from(facts.wave_sizes))
    return facts, resources, wave, facts.is_rdna and draw(st.booleans())


def with_changes(resources: KernelResources, changes: dict[str, int]) -> KernelResources:
    """Return the resources with the counts of a step; registers as one count."""
    told: dict[str, Any] = {}
    if "vgpr" in changes:
        told |= {"vgpr": changes["vgpr"], "agpr": 0}
    if "sgpr" in changes:
        told["sgpr"] = changes["sgpr"]
    if "lds" in changes:
        told["lds_bytes"] = changes["lds"]
    return replace(resources, **told)


@given(launches())
@settings(max_examples=300, deadline=None)
def test_steps_are_reached_and_not_with_one_more(
    launch: tuple[GpuFacts, KernelResources, int, bool],
) -> None:
    facts, resources, wave, cu_mode = launch
    got = calculate(facts, resources, wave, cu_mode=cu_mode)
    before = got.occupancy.workgroups
    for step in got.steps:
        assert step.workgroups > before
        before = step.workgroups
        counts: dict[str, int] = {change.resource: change.at_most for change in step.changes}
        assert all(change.at_most < change.now for change in step.changes)
        reached = resident_occupancy(facts, with_changes(resources, counts), wave, cu_mode=cu_mode)
        assert reached.workgroups >= step.workgroups
        for name in counts:
            more = with_changes(resources, counts | {name: counts[name] + 1})
            missed = resident_occupancy(facts, more, wave, cu_mode=cu_mode)
            assert missed.workgroups < step.workgroups


def test_registers_that_fit_are_no_change_of_a_step() -> None:
    """gfx1100 gives 1,536 registers in steps of 24: five waves of 241 take 5 * 264 = 1,320."""
    resources = KernelResources(vgpr=241, sgpr=None, lds_bytes=6145, workgroup_size=1)
    step = calculate(facts_of("gfx1100"), resources, 32, cu_mode=False).steps[0]
    # 128 KiB of a WGP in steps of 1 KiB: 18 workgroups of 7 KiB, 21 of 6, of which 5 * 4 fit.
    assert (step.workgroups, [change.resource for change in step.changes]) == (20, ["lds"])
    assert step.changes[0].at_most == 6144


@given(launches())
@settings(max_examples=300, deadline=None)
def test_headroom_costs_nothing_and_one_more_does(
    launch: tuple[GpuFacts, KernelResources, int, bool],
) -> None:
    facts, resources, wave, cu_mode = launch
    got = calculate(facts, resources, wave, cu_mode=cu_mode)
    limits, now = got.occupancy.limits, got.occupancy.workgroups
    most = {
        "vgpr": limits.max_vgprs,
        "sgpr": facts.whole("max_sgprs_with_extras"),
        "lds": limits.max_lds_bytes,
    }
    for name, count in got.headroom.items():
        full = with_changes(resources, {name: count})
        assert resident_occupancy(facts, full, wave, cu_mode=cu_mode).workgroups == now
        if count < most[name]:
            more = with_changes(resources, {name: count + 1})
            assert resident_occupancy(facts, more, wave, cu_mode=cu_mode).workgroups < now


@given(launches())
@settings(max_examples=200, deadline=None)
def test_occupancy_is_within_bounds_and_its_limiters_say_why(
    launch: tuple[GpuFacts, KernelResources, int, bool],
) -> None:
    facts, resources, wave, cu_mode = launch
    got = calculate(facts, resources, wave, cu_mode=cu_mode)
    occupancy = got.occupancy
    assert 0 <= occupancy.occupancy <= 1
    assert occupancy.limiters
    if occupancy.workgroups and occupancy.limiters != ("cannot launch",):
        assert occupancy.waves_per_simd <= got.compiler_waves_per_simd
    if not got.steps:
        assert occupancy.limiters[0] in ("wave slots", "workgroup granularity", "barriers")


def test_gpus_are_found_by_target_and_by_product() -> None:
    assert find_gpu("gfx90a").target == "gfx90a"
    assert find_gpu("gfx90a:sramecc+:xnack-").target == "gfx90a"
    assert find_gpu("mi250x").target == "gfx90a"
    assert find_gpu("RX 9070 XT").target == "gfx1201"
    for name in ("", "gfx", "MI", "RX", "gfx9999"):
        with pytest.raises(UsageError, match="in the table"):
            find_gpu(name)


def test_every_target_is_calculated_at_its_limits() -> None:
    for target in known_targets():
        facts = facts_of(target)
        most = KernelResources(
            vgpr=256,
            agpr=0 if facts.registers == "single" else 256,
            sgpr=facts.whole("max_sgprs_with_extras"),
            lds_bytes=facts.whole("lds_bytes_per_workgroup"),
            workgroup_size=64,
        )
        for wave in facts.wave_sizes:
            assert calculate(facts, most, wave).occupancy.workgroups >= 1, (target, wave)
