"""Occupancy of a launch that is described by hand: checked, computed and explained."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from rocperf.errors import UsageError
from rocperf.hardware.facts import GpuFacts, known_targets, target_facts
from rocperf.hardware.occupancy import (
    KernelResources,
    Occupancy,
    compiler_waves_per_simd,
    resident_occupancy,
    total_vgprs,
)
from rocperf.hardware.whatif import Resource, Step, headroom, next_steps

MAX_ARCH_VGPRS: Final = 256
"""Ordinary, and likewise accumulation, registers that one instruction can name (8 bits)."""

REPORTED_RDNA_SGPRS: Final = 128
"""What rocprofv3 writes for every RDNA kernel (rocprofiler-sdk 1.0.0, code_object.cpp)."""

_ALL_STEPS: Final = 1000


@dataclass(frozen=True, slots=True)
class Calculation:
    """What the calculator says of one launch.

    Parameters
    ----------
    facts
        The target.
    resources
        What was asked.
    cu_mode
        RDNA: whether workgroups stay on one CU.
    occupancy
        What is resident, and why not more.
    compiler_waves_per_simd
        LLVM 22's number.
    steps
        Every higher occupancy and what it takes.
    headroom
        The most of each resource that costs nothing.
    notes
        What was assumed or should be known.
    """

    facts: GpuFacts
    resources: KernelResources
    cu_mode: bool
    occupancy: Occupancy
    compiler_waves_per_simd: int
    steps: tuple[Step, ...]
    headroom: Mapping[Resource, int]
    notes: tuple[str, ...]

    @property
    def block(self) -> str:
        """What the workgroups share: ``CU``, or ``WGP`` of two CUs."""
        return "WGP" if self.occupancy.limits.cus == 2 else "CU"


def find_gpu(name: str) -> GpuFacts:
    """Return what is known of a GPU named by target or by product.

    Parameters
    ----------
    name
        Such as ``gfx942`` or ``MI300X``.

    Raises
    ------
    UsageError
        It is not described.
    """
    facts = target_facts(name)
    if facts is not None:
        return facts
    wanted = name.strip().casefold()
    for target in known_targets():
        facts = target_facts(target)
        if facts is not None and wanted in _product_names(facts):
            return facts
    near = difflib.get_close_matches(name.lower(), known_targets(), 1)
    hint = f"did you mean {near[0]}? " if near else ""
    known = ", ".join(known_targets())
    raise UsageError(f"there is no GPU {name!r} in the table", hint=f"{hint}known: {known}")


def _product_names(facts: GpuFacts) -> set[str]:
    return {name.casefold() for product in facts.products for name in product.names}


def calculate(
    facts: GpuFacts,
    resources: KernelResources,
    wave_size: int | None = None,
    *,
    cu_mode: bool = False,
) -> Calculation:
    """Return the occupancy of a launch described by hand.

    Parameters
    ----------
    facts
        The target.
    resources
        What the launch asks for, as the compiler prints it.
    wave_size
        Lanes of a wave; the target's default when None.
    cu_mode
        RDNA only: workgroups stay on one CU.

    Raises
    ------
    UsageError
        No launch of that GPU can have such resources.
    """
    _check_wave(facts, wave_size, cu_mode=cu_mode)
    _check_registers(facts, resources)
    _check_workgroup(facts, resources)
    occupancy = resident_occupancy(facts, resources, wave_size, cu_mode=cu_mode)
    return Calculation(
        facts=facts,
        resources=resources,
        cu_mode=cu_mode,
        occupancy=occupancy,
        compiler_waves_per_simd=compiler_waves_per_simd(
            facts, resources, wave_size, cu_mode=cu_mode
        ),
        steps=next_steps(facts, resources, wave_size, cu_mode=cu_mode, steps=_ALL_STEPS),
        headroom=headroom(facts, resources, wave_size, cu_mode=cu_mode),
        notes=tuple(_notes(facts, resources, occupancy, wave_size, cu_mode=cu_mode)),
    )


def _check_wave(facts: GpuFacts, wave_size: int | None, *, cu_mode: bool) -> None:
    if wave_size is not None and wave_size not in facts.wave_sizes:
        sizes = " or ".join(map(str, facts.wave_sizes))
        raise UsageError(
            f"{facts.target} has waves of {sizes} lanes, not {wave_size}", hint="leave --wave out"
        )
    if cu_mode and not facts.is_rdna:
        raise UsageError(
            f"{facts.target} has no CU mode: only RDNA shares a WGP of two CUs",
            hint="leave --cu-mode out",
        )


def _check_registers(facts: GpuFacts, resources: KernelResources) -> None:
    vgpr, agpr, sgpr = resources.vgpr, resources.agpr, resources.sgpr or 0
    target, most = facts.target, facts.whole("max_vgprs_per_wave")
    _most(vgpr, most, f"vector registers of a {target} wave", "--vgpr")
    if facts.registers == "single" and agpr:
        raise UsageError(f"{target} has no accumulation registers", hint="leave --agpr out")
    _most(agpr, MAX_ARCH_VGPRS, f"accumulation registers of a {target} wave", "--agpr")
    if agpr:
        _most(vgpr, MAX_ARCH_VGPRS, f"ordinary vector registers of a {target} wave", "--vgpr")
    most = REPORTED_RDNA_SGPRS if facts.is_rdna else facts.whole("max_sgprs_with_extras")
    _most(sgpr, most, f"scalar registers of a {target} wave", "--sgpr")


def _check_workgroup(facts: GpuFacts, resources: KernelResources) -> None:
    most = facts.whole("max_workgroup_size")
    _most(
        resources.workgroup_size, most, f"work-items of a {facts.target} workgroup", "--workgroup"
    )
    most = facts.whole("lds_bytes_per_workgroup")
    _most(resources.lds_bytes, most, f"LDS bytes of a {facts.target} workgroup", "--lds")


def _most(value: int, most: int, what: str, option: str) -> None:
    if value > most:
        raise UsageError(f"{value} is too many {what}: at most {most}", hint=f"lower {option}")


def _notes(
    facts: GpuFacts,
    resources: KernelResources,
    occupancy: Occupancy,
    wave_size: int | None,
    *,
    cu_mode: bool,
) -> list[str]:
    notes: list[str] = []
    if len(facts.wave_sizes) > 1 and wave_size is None:
        notes.append(f"--wave was not given: {facts.wave_sizes[0]} is what HIP takes by default.")
    if facts.is_rdna and not cu_mode:
        notes.append("A workgroup may use both CUs of a WGP, the compiler's default; --cu-mode.")
    if "sgprs_per_simd" not in facts.figures:
        if resources.sgpr is not None:
            notes.append("Scalar registers limit nothing on RDNA: --sgpr has no effect.")
    elif resources.sgpr is None:
        notes.append("--sgpr was not given: scalar registers may limit more.")
    if facts.registers == "unified" and resources.vgpr > MAX_ARCH_VGPRS:
        notes.append("--vgpr above 256 is taken as ordinary and accumulation registers together.")
    if occupancy.vgpr_may_be_padded:
        notes.append(
            f"{total_vgprs(occupancy.limits, resources)} vector registers allow hardly more, but "
            "where something else limits, compilers raise the count to the end of its step for "
            "nothing: it does not say what the kernel uses."
        )
    uneven = occupancy.waves_per_workgroup % occupancy.limits.simds != 0
    by_registers = bool({"vgpr", "sgpr"} & set(occupancy.limiters))
    if uneven and by_registers and occupancy.waves_per_workgroup > 1:
        notes.append(
            f"Workgroups of {occupancy.waves_per_workgroup} waves spread unevenly over "
            f"{occupancy.limits.simds} SIMDs; one workgroup less may fit (unconfirmed)."
        )
    return notes
