"""What a kernel of the model does: its resources, memory instructions and launch shape."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal

from rocperf.testing.simulator.gpus import Gpu

Size = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Access:
    """One global load or store instruction: the address of a lane is affine in its thread id.

    Parameters
    ----------
    kind
        ``load`` or ``store``.
    width
        Bytes a lane moves: 1, 2, 4 or 8. (16 was never measured, so it is not modelled.)
    x, y
        Elements between neighbours in thread x and thread y of one workgroup.
    repeat
        Times each wave executes it.
    spacing
        Elements between neighbouring addresses of the whole launch; 1 where it covers a range
        without holes, however the lanes of one wave are spread.
    visits
        Times the launch touches each address (a modulo or a tiled re-read).
    """

    kind: Literal["load", "store"]
    width: int
    x: int = 1
    y: int = 0
    repeat: int = 1
    spacing: int = 1
    visits: int = 1

    def __post_init__(self) -> None:
        if self.width not in (1, 2, 4, 8):
            message = f"An access of {self.width} bytes a lane is not modelled; take 1, 2, 4 or 8."
            raise ValueError(message)


@dataclass(frozen=True, slots=True)
class LdsAccess:
    """One LDS instruction: the address of a lane, in dwords, is affine in its thread id.

    Parameters
    ----------
    width
        Bytes a lane moves: 4 or 8.
    x, y
        Dwords between neighbours in thread x and thread y.
    repeat
        Times each wave executes it.
    """

    width: int = 4
    x: int = 1
    y: int = 0
    repeat: int = 1

    def __post_init__(self) -> None:
        if self.width not in (4, 8):
            message = f"An LDS access of {self.width} bytes a lane is not modelled; take 4 or 8."
            raise ValueError(message)


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel of the model, as its code object describes it.

    Parameters
    ----------
    name
        Demangled name with parameters.
    vgpr, agpr, sgpr, lds, scratch
        Registers used (vector, accumulation, scalar), static LDS of a workgroup and scratch of a
        work-item in bytes.
    valu, trans, salu, smem
        Instructions a wave executes; `trans` of the `valu` ones are transcendental.
    lanes
        Lanes of a wave that take part in a vector instruction, on average.
    operations
        Of the `valu` instructions those on floating point, such as ``("FMA_F64", 16)``.
    code_lines
        64-byte lines of its code.
    accesses, lds_accesses
        Its memory instructions.
    """

    name: str
    vgpr: int = 8
    agpr: int = 0
    sgpr: int = 16
    lds: int = 0
    scratch: int = 0
    valu: int = 6
    trans: int = 0
    salu: int = 3
    smem: int = 3
    code_lines: int = 18
    lanes: int = 64
    operations: tuple[tuple[str, int], ...] = ()
    accesses: tuple[Access, ...] = ()
    lds_accesses: tuple[LdsAccess, ...] = ()

    @property
    def symbol(self) -> str:
        """Name of its symbol in the code object: not mangled as a compiler would, but unique."""
        stem = self.name.split("(", 1)[0].removeprefix("void ").strip()
        plain = "".join(c if c.isalnum() else "_" for c in stem)
        return f"_Z{len(plain)}{plain}v.kd"


@dataclass(frozen=True, slots=True)
class Registers:
    """Register counts as rocprofv3 prints them."""

    vgpr: int
    accum: int
    sgpr: int


def reported_registers(kernel: Kernel, gpu: Gpu) -> Registers:
    """Register counts in rocprofv3's manner.

    gfx90a and gfx942: vector registers rounded up to 4, and the rest of the allocation (a multiple
    of 8) as accumulation registers. gfx950 of ROCm 7.0 to 7.13: half of the allocation and 0.
    RDNA: blocks of 8, and 128 scalar registers whatever the kernel uses.
    """
    arch = _up(max(kernel.vgpr, 1), 4)
    total = _up(arch + kernel.agpr if kernel.agpr else max(kernel.vgpr, 1), 8)
    sgpr = _up(max(kernel.sgpr, 1), 16)
    if gpu.rdna:
        return Registers(_up(max(kernel.vgpr, 1), 8), 0, 128)
    if gpu.gfx == "gfx950":
        return Registers(total // 2, 0, sgpr)
    return Registers(arch, total - arch, sgpr)


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch: a kernel, its grid and workgroup in work-items, and dynamic LDS in bytes."""

    kernel: Kernel
    grid: Size
    workgroup: Size
    dynamic_lds: int = 0

    @property
    def workgroups(self) -> int:
        """How many workgroups it has."""
        pairs = zip(self.grid, self.workgroup, strict=True)
        return prod(-(-grid // group) for grid, group in pairs)

    def waves_per_workgroup(self, gpu: Gpu) -> int:
        """Waves of one workgroup."""
        return -(-prod(self.workgroup) // gpu.wave)

    @property
    def lds(self) -> int:
        """LDS of a workgroup, dynamic included, in bytes."""
        return self.kernel.lds + self.dynamic_lds

    def resident(self, gpu: Gpu) -> int:
        """Workgroups that fit on one compute unit (one WGP on RDNA) at a time; at least 1.

        The least of what wave slots, barriers, LDS, vector and scalar registers allow, each
        rounded up to its granule.
        """
        simds = 4
        waves = self.waves_per_workgroup(gpu)
        kernel = self.kernel
        total = _up(kernel.vgpr, 4) + kernel.agpr if kernel.agpr else kernel.vgpr
        by_vgpr = min(gpu.waves_per_simd, gpu.vgprs // _up(max(total, 1), gpu.vgpr_granule))
        limits = [gpu.waves_per_simd * simds // waves, by_vgpr * simds // waves]
        if waves > 1:
            limits.append(32 if gpu.rdna else 16)
        if self.lds:
            pool = gpu.lds_pool * (2 if gpu.rdna else 1)
            limits.append(pool // _up(self.lds, gpu.lds_granule))
        if not gpu.rdna:
            by_sgpr = min(gpu.waves_per_simd, 800 // (_up(max(kernel.sgpr, 1), 16) + 16))
            limits.append(by_sgpr * simds // waves)
        return max(1, min(limits))


def _up(value: int, granule: int) -> int:
    return -(-value // granule) * granule
