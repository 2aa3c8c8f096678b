"""How long things take on the model GPU, and what its clocks count meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from rocperf.testing.simulator.gpus import Gpu
from rocperf.testing.simulator.kernels import Launch
from rocperf.testing.simulator.rules import LINE, Traffic, traffic

#: Waves a compute unit must hold to keep the memory busy. A choice of ours.
_WAVES_TO_FILL = 12
#: Part of the shorter of LDS and memory time that the longer one does not hide. With it the
#: recorded transposes (6249 and 5649 ns) are met within 10 %.
_NOT_HIDDEN = 0.35
#: Cycles before the first wave starts and after the last one ends: 4118 and 4333 by
#: SQ_BUSY_CYCLES of the recorded transpose and copy on MI300X.
_FRONT_CYCLES = 4200
#: Cycles that one request occupies an L2 channel, of which a die has 16. A choice of ours, by which
#: a transpose that stores down a column takes twice the time of one that does not.
_REQUEST_CYCLES = 2
#: Average share of its wave slots that a kernel holds while it runs: waves come and go. A choice.
_RAMP = 0.75

#: Largest piece of a copy from or to pageable memory: 32 MiB in the recorded MI308X trace.
STAGING = 32 << 20
#: Pinned over pageable rate, of AMD's measurements on MI200 (about three).
_PINNED_GAIN = 3.0
#: Fixed time of one copy, as the 8 to 9 us of small copies in the recorded MI300X training step.
_COPY_NS = 8_000


@lru_cache(maxsize=1024)
def kernel_ns(launch: Launch, gpu: Gpu) -> int:
    """Duration of a launch that has the GPU to itself, in nanoseconds.

    A fixed launch time, plus the longest of memory, vector and LDS time, plus a part of LDS or
    memory time that is not hidden. Few resident waves lower the memory rate in proportion.
    """
    work = traffic(launch, gpu)
    used = units_used(launch, gpu)
    filled = used * min(waves_held(launch, gpu), _WAVES_TO_FILL) / (gpu.cus * _WAVES_TO_FILL)
    memory = fabric_bytes(work) / (gpu.memory_gbs * min(1.0, filled))
    look_ups = work.lines / (used * gpu.clock_ghz)
    requests = (work.read_requests + work.write_requests) * _REQUEST_CYCLES
    channels = requests / (l2_channels(gpu) * gpu.clock_ghz)
    lds = work.lds_active / (used * gpu.clock_ghz)
    vector = quad_cycles(launch, gpu) / (used * gpu.clock_ghz)
    longest = max(memory, look_ups, channels)
    body = max(longest, vector, lds) + _NOT_HIDDEN * min(longest, lds)
    return round(gpu.launch_ns + body)


def l2_channels(gpu: Gpu) -> int:
    """L2 channels of the device: 16 a die, 32 on the single-die ones."""
    return 16 * max(gpu.xccs, 2)


def fabric_bytes(work: Traffic) -> int:
    """Bytes between L2 and memory: first touches, and what is written back."""
    return work.read_lines * LINE + work.writes_64 * 64 + work.writes_32 * 32


def quad_cycles(launch: Launch, gpu: Gpu) -> int:
    """Vector work in units of four cycles of one SIMD.

    One an instruction, four for a transcendental one (recorded: 30720 for 27648 instructions, 1024
    of them transcendental).
    """
    waves = launch.workgroups * launch.waves_per_workgroup(gpu)
    return waves * (launch.kernel.valu + 3 * launch.kernel.trans)


def units_used(launch: Launch, gpu: Gpu) -> int:
    """Compute units that get a workgroup."""
    return min(launch.workgroups, gpu.cus)


def waves_held(launch: Launch, gpu: Gpu) -> float:
    """Waves of the launch that a used compute unit holds at a time, at most."""
    waves = launch.waves_per_workgroup(gpu)
    resident = launch.resident(gpu) * waves / (2 if gpu.rdna else 1)
    return min(resident, launch.workgroups * waves / units_used(launch, gpu))


@dataclass(frozen=True, slots=True)
class Cycles:
    """Clock counts of one dispatch, summed over the device.

    Parameters
    ----------
    gui
        Cycles the graphics pipe was active, once for each die.
    engines
        Cycles with a wave in a shader engine.
    units
        Cycles with a wave in a compute unit.
    waves
        Wave lifetimes, in cycles.
    """

    gui: int
    engines: int
    units: int
    waves: int


def cycles(launch: Launch, gpu: Gpu, duration_ns: int) -> Cycles:
    """Say what the clock counters read after a dispatch of `duration_ns`."""
    whole = duration_ns * gpu.clock_ghz
    busy = max(whole - _FRONT_CYCLES, 0.3 * whole)
    units = round(busy) * units_used(launch, gpu)
    return Cycles(
        gui=round(whole + gpu.idle_cycles) * gpu.xccs,
        engines=round(busy) * min(gpu.engines, launch.workgroups),
        units=units,
        waves=round(units * waves_held(launch, gpu) * _RAMP),
    )


def copy_pieces(size: int, gpu: Gpu, *, pinned: bool) -> list[tuple[int, int, int]]:
    """Cut a copy over the host link into what the profiler records.

    Returns
    -------
    list of (bytes, duration_ns, host_ns)
        One piece for pinned memory; pieces of at most 32 MiB for pageable memory, each after
        `host_ns` in which the runtime prepares it.
    """
    if pinned:
        return [(size, _COPY_NS + round(size / gpu.host_gbs), 0)]
    rate = gpu.host_gbs / _PINNED_GAIN
    pieces: list[tuple[int, int, int]] = []
    while size > 0:
        piece = min(size, STAGING)
        pieces.append((piece, _COPY_NS + round(piece / rate), 20_000 + piece // 200))
        size -= piece
    return pieces
