"""What happened in one simulated process, as plain records in host nanoseconds."""

from __future__ import annotations

from dataclasses import dataclass, field

from rocperf.testing.simulator.gpus import Gpu
from rocperf.testing.simulator.kernels import Kernel, Launch

#: Node numbers: the processor and its only GPU.
HOST, DEVICE = 0, 1


@dataclass(frozen=True, slots=True)
class ApiCall:
    """One HIP call. Arguments are (type, name, value) texts."""

    correlation: int
    name: str
    start: int
    end: int
    arguments: tuple[tuple[str, str, str], ...] = ()
    compiler: bool = False


@dataclass(frozen=True, slots=True)
class Dispatch:
    """One kernel launch as the GPU ran it."""

    number: int
    correlation: int
    kernel_id: int
    launch: Launch
    stream: int
    queue: int
    start: int
    end: int
    selected: bool


@dataclass(frozen=True, slots=True)
class Copy:
    """One piece of a copy: direction is ``HOST_TO_DEVICE``, ``DEVICE_TO_HOST`` or so."""

    correlation: int
    direction: str
    source: int
    destination: int
    source_address: int
    destination_address: int
    size: int
    stream: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Allocation:
    """One allocation (agent and size known) or one release (neither)."""

    correlation: int
    agent: int | None
    address: int
    size: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Marker:
    """One roctx range, mark or control call; a mark ends when it starts."""

    correlation: int
    function: str
    text: str
    start: int
    end: int
    domain: str = "MARKER_CORE_RANGE_API"


@dataclass(frozen=True, slots=True)
class Scratch:
    """One allocation of scratch memory for a queue."""

    queue: int
    size: int
    start: int
    end: int


@dataclass(slots=True)
class Recording:
    """Everything one process did.

    Parameters
    ----------
    gpu
        The GPU it ran on, node `DEVICE`.
    kernels
        Kernel by id.
    streams
        Streams it used; 0 is the default one.
    init, fini
        When the profiler was loaded and finished.
    """

    gpu: Gpu
    kernels: dict[int, Kernel] = field(default_factory=dict[int, Kernel])
    streams: list[int] = field(default_factory=lambda: [0])
    init: int = 0
    fini: int = 0
    calls: list[ApiCall] = field(default_factory=list[ApiCall])
    dispatches: list[Dispatch] = field(default_factory=list[Dispatch])
    copies: list[Copy] = field(default_factory=list[Copy])
    allocations: list[Allocation] = field(default_factory=list[Allocation])
    markers: list[Marker] = field(default_factory=list[Marker])
    scratch: list[Scratch] = field(default_factory=list[Scratch])
    rccl: list[ApiCall] = field(default_factory=list[ApiCall])
