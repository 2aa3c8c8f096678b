"""How many waves fit: resident occupancy by whole workgroups, and what limits it.

Two numbers go by the name of occupancy. The compiler's is a bound per SIMD; the *resident* one
counts whole workgroups on a CU (on RDNA a WGP) and is what the hardware can hold. This module
computes the latter, and the former only for comparison. Rules of registers, barriers and LDS:
LLVM's AMDGPUBaseInfo.cpp and AMDGPUSubtarget.cpp; the SGPR reserve: LLVM pull request 201342,
and 28 resident one-wave workgroups seen on gfx942 at 92 SGPRs (rocm-systems pull request 10618).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

from rocperf.hardware.facts import BlockLimits, GpuFacts, round_up

Limiter = Literal[
    "vgpr", "sgpr", "lds", "barriers", "wave slots", "workgroup granularity", "cannot launch"
]

LLVM22_SGPR_STEPS: Final = ((80, 10), (88, 9), (100, 8))
"""LLVM up to 22 on gfx9: SGPRs up to the first number allow that many waves a SIMD, else 7."""

_LLVM22_SGPR_FLOOR: Final = 7


@dataclass(frozen=True, slots=True)
class KernelResources:
    """What one launch of a kernel asks for.

    Parameters
    ----------
    vgpr, agpr
        Ordinary and accumulation vector registers a lane.
    sgpr
        Scalar registers, those for VCC, XNACK and flat scratch included, the trap handler's not;
        None when not known, which leaves SGPRs out of the limits.
    lds_bytes
        LDS of a workgroup, static and dynamic.
    workgroup_size
        Work-items of a workgroup.
    """

    vgpr: int
    workgroup_size: int
    agpr: int = 0
    sgpr: int | None = None
    lds_bytes: int = 0

    def __post_init__(self) -> None:
        if self.workgroup_size < 1:
            raise ValueError(f"a workgroup has at least one work-item, not {self.workgroup_size}")
        if min(self.vgpr, self.agpr, self.sgpr or 0, self.lds_bytes) < 0:
            raise ValueError("registers and LDS cannot be negative")


@dataclass(frozen=True, slots=True)
class Occupancy:
    """How many workgroups of a launch one CU (RDNA: WGP) holds, and why not more.

    Parameters
    ----------
    limits
        The block that the workgroups share.
    workgroups
        Resident workgroups of the block; 0 when the launch cannot start.
    waves
        Resident waves of the block.
    waves_per_workgroup
        Waves of one workgroup, the last perhaps not full.
    waves_per_simd
        ``waves`` over the SIMDs; fractional when they spread unevenly.
    occupancy
        ``waves`` over wave slots, 0 to 1.
    lane_use
        Work-items over the lanes of their waves, 0 to 1; no part of the occupancy.
    allocated_vgprs
        Vector registers a lane after rounding up.
    vgpr_waves, sgpr_waves
        Waves that registers allow a SIMD.
    n_slots, n_barriers, n_lds, n_vgpr, n_sgpr
        Workgroups that each resource alone would allow; None where it does not limit.
    limiters
        What gives out first, several on a tie. ``wave slots`` means the block is full;
        ``workgroup granularity`` that free slots are fewer than one more workgroup needs.
    vgpr_may_be_padded
        LDS or workgroup size allows no more either and the register step is next to it: then
        compilers raise the register count to the end of the step for nothing, so the count does
        not say what the kernel uses.
    """

    limits: BlockLimits
    workgroups: int
    waves: int
    waves_per_workgroup: int
    waves_per_simd: float
    occupancy: float
    lane_use: float
    allocated_vgprs: int
    vgpr_waves: int
    sgpr_waves: int
    n_slots: int
    n_barriers: int | None
    n_lds: int | None
    n_vgpr: int
    n_sgpr: int | None
    limiters: tuple[Limiter, ...]
    vgpr_may_be_padded: bool


def resident_occupancy(
    facts: GpuFacts,
    resources: KernelResources,
    wave_size: int | None = None,
    *,
    cu_mode: bool = False,
) -> Occupancy:
    """Return how much of a CU or WGP the launch can fill.

    Parameters
    ----------
    facts
        The target, see `rocperf.hardware.target_facts`.
    resources
        What the launch asks for.
    wave_size
        Lanes of a wave; the target's default when None.
    cu_mode
        RDNA only: workgroups stay on one CU.

    Raises
    ------
    ValueError
        The target has no waves of that size.
    """
    limits = facts.limits(wave_size, cu_mode=cu_mode)
    wpw = math.ceil(resources.workgroup_size / limits.wave_size)
    w_vgpr, w_sgpr = vgpr_waves(limits, resources), sgpr_waves(limits, resources.sgpr)
    n_slots = limits.wave_slots // wpw
    n_barriers = None if wpw == 1 else limits.workgroup_slots
    lds = round_up(resources.lds_bytes, limits.lds_granule)
    n_lds = None if lds == 0 else limits.lds_bytes // lds
    n_vgpr = w_vgpr * limits.simds // wpw
    limited_by_sgpr = limits.sgprs is not None and resources.sgpr is not None
    n_sgpr = w_sgpr * limits.simds // wpw if limited_by_sgpr else None
    counts = {"vgpr": n_vgpr, "sgpr": n_sgpr, "lds": n_lds, "barriers": n_barriers}
    n = min(n_slots, *(count for count in counts.values() if count is not None))
    if resources.lds_bytes > limits.max_lds_bytes or (
        resources.workgroup_size > limits.max_workgroup_size
    ):
        n = 0
    waves = n * wpw
    padded = _may_be_padded(limits, n, wpw, w_vgpr, (n_slots, n_barriers, n_lds))
    return Occupancy(
        limits=limits,
        workgroups=n,
        waves=waves,
        waves_per_workgroup=wpw,
        waves_per_simd=waves / limits.simds,
        occupancy=waves / limits.wave_slots,
        lane_use=resources.workgroup_size / (wpw * limits.wave_size),
        allocated_vgprs=allocated_vgprs(limits, resources),
        vgpr_waves=w_vgpr,
        sgpr_waves=w_sgpr,
        n_slots=n_slots,
        n_barriers=n_barriers,
        n_lds=n_lds,
        n_vgpr=n_vgpr,
        n_sgpr=n_sgpr,
        limiters=_limiters(limits, n, wpw, n_slots, counts, padded=padded),
        vgpr_may_be_padded=padded,
    )


def _limiters(
    limits: BlockLimits,
    n: int,
    wpw: int,
    n_slots: int,
    counts: dict[str, int | None],
    *,
    padded: bool,
) -> tuple[Limiter, ...]:
    if n == 0:
        return ("cannot launch",)
    if n == n_slots:
        # No resource is short: asking for fewer registers or less LDS would gain nothing.
        return ("wave slots" if n * wpw == limits.wave_slots else "workgroup granularity",)
    names: tuple[Limiter, ...] = ("vgpr", "sgpr", "lds", "barriers")
    return tuple(x for x in names if counts[x] == n and not (padded and x == "vgpr"))


def _may_be_padded(
    limits: BlockLimits,
    n: int,
    wpw: int,
    w_vgpr: int,
    others: tuple[int, int | None, int | None],
) -> bool:
    """Say whether the register count may be the compiler's filling (seen with LLVM 22.1)."""
    if n == 0 or w_vgpr >= limits.max_waves_per_simd:
        return False
    if n != min(count for count in others if count is not None):
        return False
    # The compiler pads to its own bound, waves a SIMD rounded up; one step of slack, because
    # register blocks can leave a gap in the steps (gfx1100: 248 registers give 5, not 4).
    return w_vgpr <= math.ceil(n * wpw / limits.simds) + 1


def total_vgprs(limits: BlockLimits, resources: KernelResources) -> int:
    """Return the vector registers a lane that count against the file, before rounding up."""
    if limits.registers == "separate":
        return max(resources.vgpr, resources.agpr)
    if limits.registers == "unified" and resources.agpr:
        # Accumulation registers start at a multiple of four.
        return round_up(resources.vgpr, 4) + resources.agpr
    return resources.vgpr


def allocated_vgprs(limits: BlockLimits, resources: KernelResources) -> int:
    """Return the vector registers a lane that the hardware sets aside."""
    return round_up(max(total_vgprs(limits, resources), 1), limits.vgpr_granule)


def vgpr_waves(limits: BlockLimits, resources: KernelResources) -> int:
    """Return the waves that vector registers allow one SIMD."""
    return min(limits.max_waves_per_simd, limits.vgprs // allocated_vgprs(limits, resources))


def sgpr_waves(limits: BlockLimits, sgpr: int | None) -> int:
    """Return the waves that scalar registers allow one SIMD."""
    if limits.sgprs is None or sgpr is None:
        return limits.max_waves_per_simd
    block = round_up(max(sgpr, 1), limits.sgpr_granule) + limits.sgpr_reserve
    return min(limits.max_waves_per_simd, limits.sgprs // block)


def compiler_waves_per_simd(
    facts: GpuFacts,
    resources: KernelResources,
    wave_size: int | None = None,
    *,
    cu_mode: bool = False,
) -> int:
    """Return the occupancy that LLVM 22 prints, in waves per SIMD, for comparison.

    It rounds a workgroup's waves up per SIMD, does not round LDS to its blocks, and knows
    neither blocks of SGPRs nor the trap handler's share. What fits is `resident_occupancy`.
    """
    limits = facts.limits(wave_size, cu_mode=cu_mode)
    wpw = math.ceil(resources.workgroup_size / limits.wave_size)
    groups = limits.wave_slots // wpw
    if wpw > 1:
        groups = min(groups, limits.workgroup_slots)
    if resources.lds_bytes:
        groups = min(groups, limits.lds_bytes // resources.lds_bytes)
        if resources.lds_bytes > limits.max_lds_bytes:
            return 1
    by_workgroup = max(1, min(limits.max_waves_per_simd, math.ceil(groups * wpw / limits.simds)))
    return min(vgpr_waves(limits, resources), _llvm22_sgpr_waves(limits, resources), by_workgroup)


def _llvm22_sgpr_waves(limits: BlockLimits, resources: KernelResources) -> int:
    if limits.sgprs is None or resources.sgpr is None:
        return limits.max_waves_per_simd
    for most, waves in LLVM22_SGPR_STEPS:
        if resources.sgpr <= most:
            return min(limits.max_waves_per_simd, waves)
    return min(limits.max_waves_per_simd, _LLVM22_SGPR_FLOOR)
