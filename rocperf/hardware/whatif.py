"""What would have to change for more waves to fit, and what a whole grid makes of the chip."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rocperf.hardware.facts import BlockLimits, GpuFacts
from rocperf.hardware.occupancy import (
    KernelResources,
    Occupancy,
    allocated_vgprs,
    resident_occupancy,
    total_vgprs,
)

Resource = Literal["vgpr", "sgpr", "lds"]


@dataclass(frozen=True, slots=True)
class Change:
    """One resource brought down: from what the launch asks to the most that the step allows.

    ``now`` and ``at_most`` are registers a lane (``vgpr``: accumulation registers included,
    where they share a file), registers (``sgpr``) or bytes of a workgroup (``lds``).
    """

    resource: Resource
    now: int
    at_most: int


@dataclass(frozen=True, slots=True)
class Step:
    """A higher occupancy and everything that has to change to reach it."""

    workgroups: int
    waves_per_simd: float
    occupancy: float
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Fill:
    """How a grid fills the chip.

    Parameters
    ----------
    resident
        Workgroups that the whole chip holds at once.
    rounds
        Times the chip would be filled, the last perhaps in part.
    tail_efficiency
        Workgroups over all places of those rounds, 0 to 1.
    first_round
        The part of the resident places that the grid fills at best, 0 to 1: achieved occupancy
        cannot exceed this share of the kernel's own.
    idle_units
        CUs (WGPs) that never get a workgroup.
    uneven_xccs
        Whether XCCs, served in turn, get different numbers of workgroups.
    """

    resident: int
    rounds: int
    tail_efficiency: float
    first_round: float
    idle_units: int
    uneven_xccs: bool


def max_vgprs(limits: BlockLimits, waves_per_simd: int) -> int:
    """Return the most vector registers a lane with which that many waves fit a SIMD."""
    return min(_share(limits, waves_per_simd), limits.max_vgprs)


def _share(limits: BlockLimits, waves_per_simd: int) -> int:
    """Return the registers a lane that each of that many waves can be given, in whole granules."""
    return limits.vgprs // waves_per_simd // limits.vgpr_granule * limits.vgpr_granule


def max_sgprs(limits: BlockLimits, waves_per_simd: int) -> int | None:
    """Return the most scalar registers with which that many waves fit; None if no limit."""
    if limits.sgprs is None:
        return None
    share = limits.sgprs // waves_per_simd - limits.sgpr_reserve
    return share // limits.sgpr_granule * limits.sgpr_granule


def max_lds(limits: BlockLimits, workgroups: int) -> int:
    """Return the most LDS bytes a workgroup with which that many workgroups fit."""
    share = limits.lds_bytes // workgroups
    return min(share // limits.lds_granule * limits.lds_granule, limits.max_lds_bytes)


def next_steps(
    facts: GpuFacts,
    resources: KernelResources,
    wave_size: int | None = None,
    *,
    cu_mode: bool = False,
    steps: int = 3,
) -> tuple[Step, ...]:
    """Return the next higher occupancies with the counts at which each is reached.

    Parameters
    ----------
    facts, resources, wave_size, cu_mode
        As for `rocperf.hardware.resident_occupancy`.
    steps
        How many to return at most; fewer when wave slots or barriers end the way. Each differs
        from the one before in what has to change: the most workgroups for the same counts.

    Raises
    ------
    ValueError
        The target has no waves of that size.
    """
    now = resident_occupancy(facts, resources, wave_size, cu_mode=cu_mode)
    most = now.n_slots if now.n_barriers is None else min(now.n_slots, now.n_barriers)
    if resources.workgroup_size > now.limits.max_workgroup_size:
        most = 0
    found: list[Step] = []
    for n in range(now.workgroups + 1, most + 1):
        changes = _changes(now, resources, n)
        if found and changes == found[-1].changes:
            found.pop()
        elif len(found) == steps:
            break
        waves = n * now.waves_per_workgroup
        found.append(
            Step(n, waves / now.limits.simds, waves / now.limits.wave_slots, changes),
        )
    return tuple(found)


def _changes(now: Occupancy, resources: KernelResources, n: int) -> tuple[Change, ...]:
    limits = now.limits
    waves = math.ceil(n * now.waves_per_workgroup / limits.simds)
    changes: list[Change] = []
    vgprs = max_vgprs(limits, waves)
    asked = total_vgprs(limits, resources)
    # An allocation may end beyond what a wave can address: 264 for 241 of 256 in steps of 24.
    if asked > vgprs or allocated_vgprs(limits, resources) > _share(limits, waves):
        changes.append(Change("vgpr", asked, vgprs))
    sgprs = max_sgprs(limits, waves)
    if sgprs is not None and resources.sgpr is not None and resources.sgpr > sgprs:
        changes.append(Change("sgpr", resources.sgpr, sgprs))
    lds = max_lds(limits, n)
    if resources.lds_bytes > lds:
        changes.append(Change("lds", resources.lds_bytes, lds))
    return tuple(changes)


def headroom(
    facts: GpuFacts,
    resources: KernelResources,
    wave_size: int | None = None,
    *,
    cu_mode: bool = False,
) -> Mapping[Resource, int]:
    """Return the most of each resource that keeps as many workgroups resident as now.

    Parameters
    ----------
    facts, resources, wave_size, cu_mode
        As for `rocperf.hardware.resident_occupancy`.

    Returns
    -------
    Mapping[Resource, int]
        Registers a lane (``vgpr``, accumulation registers included where they share a file),
        registers (``sgpr``, absent where they limit nothing or are not known) and bytes of a
        workgroup (``lds``). Each holds while the others stay as they are. Empty when the launch
        cannot start.
    """
    now = resident_occupancy(facts, resources, wave_size, cu_mode=cu_mode)
    limits = now.limits
    if now.workgroups == 0:
        return {}
    waves = math.ceil(now.waves / limits.simds)
    kept: dict[Resource, int] = {"vgpr": max_vgprs(limits, waves)}
    sgprs = max_sgprs(limits, waves)
    if sgprs is not None and resources.sgpr is not None:
        kept["sgpr"] = min(sgprs, facts.whole("max_sgprs_with_extras"))
    kept["lds"] = max_lds(limits, now.workgroups)
    return kept


def fill(occupancy: Occupancy, workgroups: int, cu_count: int, num_xcc: int = 1) -> Fill | None:
    """Return how a grid fills the chip, or None when nothing can run.

    Parameters
    ----------
    occupancy
        What one CU or WGP holds.
    workgroups
        Workgroups of the grid, at least one.
    cu_count
        CUs of the agent.
    num_xcc
        XCCs of the agent; workgroups go round them in turn.
    """
    units = cu_count // occupancy.limits.cus
    resident = occupancy.workgroups * units
    if resident == 0 or workgroups < 1:
        return None
    rounds = math.ceil(workgroups / resident)
    return Fill(
        resident=resident,
        rounds=rounds,
        tail_efficiency=workgroups / (rounds * resident),
        first_round=min(1.0, workgroups / resident),
        idle_units=max(0, units - workgroups),
        uneven_xccs=workgroups % num_xcc != 0,
    )
