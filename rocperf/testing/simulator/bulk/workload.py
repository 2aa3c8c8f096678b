"""The program behind the big sets: which kernel runs when, and what is copied beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rocperf.testing.simulator.clock import kernel_ns
from rocperf.testing.simulator.counters import values
from rocperf.testing.simulator.gpus import GPUS
from rocperf.testing.simulator.kernels import Kernel, Launch
from rocperf.testing.simulator.program import Program
from rocperf.testing.simulator.recording import Recording
from rocperf.testing.simulator.request import Observed, Request, Session, observe
from rocperf.testing.simulator.scenarios import (
    ADD,
    CONFLICTED_TRANSPOSE,
    LDS_HEAVY,
    NAIVE_TRANSPOSE,
    PADDED_TRANSPOSE,
    REGISTER_HEAVY,
    STRIDED_COPY,
    UNIT_COPY,
)

COUNTERS = (
    "SQ_LDS_BANK_CONFLICT", "SQ_LDS_IDX_ACTIVE", "TA_TOTAL_WAVEFRONTS_sum",
    "TCP_TOTAL_CACHE_ACCESSES_sum",
)  # fmt: skip
CALLS = ("hipSetDevice", "hipLaunchKernel", "hipGetLastError", "hipStreamQuery")
#: A dispatch starts this long after the one before it, in nanoseconds; a copy every tenth.
PERIOD, COPY_EVERY = 20_000, 10
START = 1_000_000_000_000_000
PIDS = {"timing": 4242, "counters": 4343}
_COPY_SIZES = (4096, 65536, 1 << 20, 4 << 20)
DIRECTIONS = (("HOST_TO_DEVICE", 0, 1), ("DEVICE_TO_HOST", 1, 0))
_KERNELS = (
    CONFLICTED_TRANSPOSE, PADDED_TRANSPOSE, STRIDED_COPY, UNIT_COPY, REGISTER_HEAVY, ADD,
    LDS_HEAVY, NAIVE_TRANSPOSE,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Kind:
    """One of the kernels: its id, its launch, and what each of its dispatches has in common."""

    kernel_id: int
    launch: Launch
    duration: dict[str, int]
    counters: tuple[float, ...]


def kinds() -> list[Kind]:
    """Make the kernels and what their dispatches have in common."""
    gpu = GPUS["gfx942"]
    made: list[Kind] = []
    for number, kernel in enumerate(_KERNELS):
        square = kernel.name.startswith("transpose")
        launch = Launch(kernel, (512, 512, 1), (32, 32, 1)) if square else _line(kernel)
        # Kernels must end before the next one starts, in both runs.
        duration = min(kernel_ns(launch, gpu), PERIOD // 2)
        found = values(launch, gpu, duration, COUNTERS)
        durations = {"timing": duration, "counters": round(duration * 1.06) + 900}
        made.append(Kind(10 + number, launch, durations, tuple(v for _, v in found)))
    return made


def _line(kernel: Kernel) -> Launch:
    return Launch(kernel, (65536, 1, 1), (256, 1, 1))


def seed(run: str, workload: Sequence[Kind]) -> Observed:
    """Make a recording with the kernels but no events: for agents, code objects and tables."""
    recording: Recording = Program(GPUS["gfx942"], START).recording
    recording.kernels = {kind.kernel_id: kind.launch.kernel for kind in workload}
    recording.calls = []
    recording.streams = [0, 1]
    counted = run == "counters"
    request = Request(
        traces=frozenset() if counted else frozenset({"kernel", "copy", "hip"}),
        counters=COUNTERS if counted else (),
    )
    return observe(recording, request, Session(pid=PIDS[run]))


def begin(run: str, number: int) -> int:
    """Return the start of dispatch `number` (from 0); the counters run is ten times slower."""
    return START + (number * PERIOD if run == "timing" else 10**12 + number * PERIOD * 10)


def copy_beside(number: int) -> tuple[str, int, int, int, int, int]:
    """Return direction, source, destination, bytes, start and end of the copy beside a dispatch."""
    turn = number // COPY_EVERY
    direction, source, target = DIRECTIONS[turn % 2]
    size = _COPY_SIZES[turn % 4]
    start = begin("timing", number) + 1_000
    return direction, source, target, size, start, start + 8_000 + size // 50
