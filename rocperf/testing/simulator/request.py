"""What a profiling run was asked for, who it was, and what it therefore saw."""

from __future__ import annotations

import hashlib
import re
from collections import Counter as Tally
from collections.abc import Mapping
from dataclasses import dataclass, field

from rocperf.testing.simulator.counters import Counter, values
from rocperf.testing.simulator.recording import Copy, Dispatch, Recording

#: rocprofv3 generations that can be played, oldest first, by the ROCm release that holds them.
VERSIONS: tuple[str, ...] = ("6.4", "7.0", "7.13")
#: Kinds of records that can be asked for.
TRACES: tuple[str, ...] = (
    "kernel", "copy", "hip", "hip_compiler", "marker", "rccl", "allocation", "scratch",
)  # fmt: skip
SELECTED_START, SELECTED_STOP = "roctxProfilerResume", "roctxProfilerPause"


@dataclass(frozen=True, slots=True)
class Session:
    """One profiled process.

    Parameters
    ----------
    pid, ppid
        Process ids; the only thread has the id of the process.
    hostname
        Name of its host.
    command, environment
        How it was started. rocprofv3 stores the whole environment in databases.
    """

    pid: int = 4242
    ppid: int = 4200
    hostname: str = "synthetic-node"
    command: tuple[str, ...] = ("./app",)
    environment: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def machine_id(self) -> str:
        """32 hex digits that stay the same for a host."""
        return hashlib.sha256(self.hostname.encode()).hexdigest()[:32]

    @property
    def node(self) -> int:
        """Number of the host in databases: 63 bits."""
        return int(self.machine_id[:15], 16)


@dataclass(frozen=True, slots=True)
class Request:
    """What rocprofv3 was asked for.

    Parameters
    ----------
    version
        One of `VERSIONS`.
    traces
        A subset of `TRACES`.
    counters
        Counters, in the order asked for.
    include, exclude
        Regular expressions searched in kernel names; they limit counters only.
    launches
        Which launches of each kernel to count, from 1; None for all.
    selected_regions
        Record only between the program's resume and pause calls.
    agent_index
        ``absolute``, ``relative`` or ``type-relative``.
    gated
        Every counter but SQ_WAVES reads 0: a GPU whose counter clock is gated.
    """

    version: str = "7.0"
    traces: frozenset[str] = frozenset({"kernel"})
    counters: tuple[str, ...] = ()
    include: str = ""
    exclude: str = ""
    launches: frozenset[int] | None = None
    selected_regions: bool = False
    agent_index: str = "relative"
    gated: bool = False

    @property
    def modern(self) -> bool:
        """Whether it is of the 7.x generation: other headers, streams, rocpd."""
        return self.version != "6.4"

    def agent(self, node: int) -> int | str:
        """Name of an agent as CSV files print it."""
        if not self.modern:
            return node
        if self.agent_index == "type-relative":
            return f"GPU {node - 1}" if node else "CPU 0"
        return f"Agent {node}"


@dataclass(frozen=True, slots=True)
class Counted:
    """Counters of one dispatch."""

    dispatch: Dispatch
    counters: tuple[tuple[Counter, float], ...]


@dataclass(frozen=True, slots=True)
class Observed:
    """What a run recorded: the part of a recording that was asked for."""

    session: Session
    request: Request
    recording: Recording
    dispatches: tuple[Dispatch, ...]
    copies: tuple[Copy, ...]
    counted: tuple[Counted, ...]

    @property
    def empty(self) -> bool:
        """Whether nothing was recorded, in which case rocprofv3 writes no file."""
        record, traces = self.recording, self.request.traces
        return not (
            self.dispatches or self.copies or self.counted
            or (traces & {"hip", "hip_compiler"} and record.calls)
            or ("marker" in traces and record.markers)
            or ("allocation" in traces and record.allocations)
        )  # fmt: skip


def observe(recording: Recording, request: Request, session: Session) -> Observed:
    """Keep what a run with this request would have recorded.

    Parameters
    ----------
    recording
        All that the process did; if counters are asked for, played with ``counted=True``.
    request, session
        What was asked for, and who ran.
    """
    dispatches = tuple(
        d for d in recording.dispatches if d.selected or not request.selected_regions
    )
    if not request.traces <= set(TRACES):
        message = f"Unknown traces: {sorted(request.traces - set(TRACES))}; known are {TRACES}."
        raise ValueError(message)
    windows = _windows(recording) if request.selected_regions else None
    copies = tuple(c for c in recording.copies if windows is None or _within(c.start, windows))
    counted = tuple(_count(d, recording, request) for d in _targets(dispatches, request))
    return Observed(
        session,
        request,
        recording,
        dispatches if "kernel" in request.traces else (),
        copies if "copy" in request.traces else (),
        tuple(c for c in counted if c.counters),
    )


def _targets(dispatches: tuple[Dispatch, ...], request: Request) -> list[Dispatch]:
    if not request.counters:
        return []
    seen: Tally[int] = Tally()
    targets: list[Dispatch] = []
    for dispatch in dispatches:
        name = dispatch.launch.kernel.name
        if request.include and not re.search(request.include, name):
            continue
        if request.exclude and re.search(request.exclude, name):
            continue
        seen[dispatch.kernel_id] += 1
        if request.launches is None or seen[dispatch.kernel_id] in request.launches:
            targets.append(dispatch)
    return targets


def _count(dispatch: Dispatch, recording: Recording, request: Request) -> Counted:
    found = values(dispatch.launch, recording.gpu, dispatch.end - dispatch.start, request.counters)
    if request.gated:
        found = [(c, v if c.name == "SQ_WAVES" else 0.0) for c, v in found]
    return Counted(dispatch, tuple(found))


def _windows(recording: Recording) -> list[tuple[int, int]]:
    starts = [m.end for m in recording.markers if m.function == SELECTED_START]
    stops = [m.start for m in recording.markers if m.function == SELECTED_STOP]
    return list(zip(starts, stops, strict=True))


def _within(time: int, windows: list[tuple[int, int]]) -> bool:
    return any(start <= time <= stop for start, stop in windows)


def missing(request: Request, known: Mapping[str, object]) -> list[str]:
    """Counters asked for that the GPU does not have."""
    return [name for name in request.counters if name not in known]
