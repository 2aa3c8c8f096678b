"""From a launch to what the hardware does: the rules behind every simulated counter.

Each rule is stated where it is applied and was checked against recorded kernels on MI300X
(a copy with unit stride, a copy with stride, a transpose through LDS with and without padding) and
MI200 (a copy of 8-byte elements).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from rocperf.testing.simulator.gpus import Gpu
from rocperf.testing.simulator.kernels import Access, Launch, LdsAccess, Size

LINE = 128  # bytes of an L2 line
_SEGMENT = 64  # bytes that one L1 tag look-up or one L2 write covers at most
_SECTOR = 32  # bytes of the smallest write to memory


@dataclass(frozen=True, slots=True)
class Traffic:
    """Memory work of one launch, all of it in counts.

    Parameters
    ----------
    loads, stores
        Wave instructions.
    accesses, lines
        L1 accesses (four lanes each at best) and tag look-ups.
    read_requests, write_requests
        L1-to-L2 requests: whole lines read (64 B halves on gfx90a), up to 64 B written.
    l2_reads, read_lines, write_lines
        Line reads that L2 sees, and lines touched for the first time.
    writes_64, writes_32
        Writes to memory by size.
    lds_instructions, lds_active, lds_conflicts
        LDS wave instructions, busy cycles, and those of them lost to conflicts.
    """

    loads: int
    stores: int
    accesses: int
    lines: int
    read_requests: int
    write_requests: int
    l2_reads: int
    read_lines: int
    write_lines: int
    writes_64: int
    writes_32: int
    lds_instructions: int
    lds_active: int
    lds_conflicts: int


def traffic(launch: Launch, gpu: Gpu) -> Traffic:
    """Apply the memory rules to a launch.

    Every workgroup does what the first one does, shifted by whole lines.
    """
    groups = launch.workgroups
    waves = groups * launch.waves_per_workgroup(gpu)
    items = launch.grid[0] * launch.grid[1] * launch.grid[2]
    total: defaultdict[str, int] = defaultdict(int)
    for access in launch.kernel.accesses:
        times = groups * access.repeat
        shape = _shape(access, launch.workgroup, gpu.wave)
        total[f"{access.kind}s"] += waves * access.repeat
        total["accesses"] += shape.accesses * times
        total["lines"] += shape.lines * times
        touched = items * access.repeat // access.visits
        lines = _spread(touched, access, LINE)
        if access.kind == "load":
            total["l2_reads"] += shape.read_lines * times
            total["read_requests"] += shape.read_lines * times * LINE // gpu.read_request
            total["read_lines"] += lines
        else:
            total["write_requests"] += shape.segments * times
            total["write_lines"] += lines
            # A write to memory carries 64 B when both halves are dirty, else 32 B a dirty half.
            dense = access.spacing * access.width <= _SECTOR
            size = _SEGMENT if dense else _SECTOR
            total["writes_64" if dense else "writes_32"] += _spread(touched, access, size)
    for lds in launch.kernel.lds_accesses:
        active, phases = _lds(lds, launch.workgroup, gpu.wave, gpu.lds_banks)
        total["lds_instructions"] += waves * lds.repeat
        total["lds_active"] += active * groups * lds.repeat
        total["lds_conflicts"] += (active - phases) * groups * lds.repeat
    return Traffic(**{name: total[name] for name in Traffic.__slots__})


@dataclass(frozen=True, slots=True)
class _Shape:
    accesses: int
    lines: int
    read_lines: int
    segments: int


@lru_cache(maxsize=256)
def _shape(access: Access, workgroup: Size, wave: int) -> _Shape:
    """Count what one workgroup's execution of a global access asks of the caches.

    * L1 accesses: at 4 bytes a lane and below, four neighbouring lanes are one access when their
      addresses are consecutive, else one each; at 8 bytes every lane is one (recorded: 16 a wave
      for 4-byte unit stride, 64 for 8-byte unit stride and for a stride).
    * Tag look-ups: the distinct 64-byte segments among 16 neighbouring lanes, or among 4 at 8
      bytes (recorded: 4, 16 and 64).
    * L2 reads: the distinct lines of a wave, since L1 holds a line that one instruction touches
      twice (recorded: 2, 4 and 64). L2 writes: its distinct 64-byte segments (4, 8, 64).
    """
    quad, group = (4, 16) if access.width <= 4 else (1, 4)
    counts = [0, 0, 0, 0]
    for lanes in _waves(workgroup, wave):
        addresses = [access.width * (access.x * x + access.y * y) for x, y in lanes]
        for start in range(0, len(addresses), quad):
            part = addresses[start : start + quad]
            row = range(part[0], part[0] + access.width * len(part), access.width)
            counts[0] += 1 if part == list(row) else len(part)
        for start in range(0, len(addresses), group):
            counts[1] += len({a // _SEGMENT for a in addresses[start : start + group]})
        counts[2] += len({a // LINE for a in addresses})
        counts[3] += len({a // _SEGMENT for a in addresses})
    return _Shape(*counts)


def _spread(elements: int, access: Access, block: int) -> int:
    """Blocks of `block` bytes that `elements` addresses at the access's spacing touch."""
    spacing = access.spacing * access.width
    return elements if spacing >= block else -(-elements * spacing // block)


@lru_cache(maxsize=256)
def _lds(access: LdsAccess, workgroup: Size, wave: int, banks: int) -> tuple[int, int]:
    """LDS cycles of one workgroup's execution, and those it would take without conflicts.

    An access goes in phases of 32 lanes (16 at 8 bytes); a phase takes as many cycles as the most
    asked-for bank has distinct dwords (recorded: 64 + 2 cycles for a column and a row of a 32x32
    tile, 2 + 2 with rows padded to 33).
    """
    dwords = access.width // 4
    lanes_of_phase = 32 // dwords
    active = phases = 0
    for lanes in _waves(workgroup, wave):
        for start in range(0, len(lanes), lanes_of_phase):
            asked: defaultdict[int, set[int]] = defaultdict(set)
            for x, y in lanes[start : start + lanes_of_phase]:
                for dword in range(dwords):
                    address = access.x * x + access.y * y + dword
                    asked[address % banks].add(address)
            active += max(len(addresses) for addresses in asked.values())
            phases += 1
    return active, phases


def _waves(workgroup: Size, wave: int) -> Iterator[list[tuple[int, int]]]:
    """Thread coordinates (x, y) of each wave of a workgroup; z is folded into y."""
    threads = workgroup[0] * workgroup[1] * workgroup[2]
    for first in range(0, threads, wave):
        last = min(first + wave, threads)
        yield [(n % workgroup[0], n // workgroup[0]) for n in range(first, last)]
