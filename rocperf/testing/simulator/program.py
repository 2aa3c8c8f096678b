"""A model HIP program: calls advance a host clock, the GPU works beside it."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass

from rocperf.testing.simulator.clock import copy_pieces, kernel_ns
from rocperf.testing.simulator.gpus import Gpu
from rocperf.testing.simulator.kernels import Kernel, Launch, Size
from rocperf.testing.simulator.recording import (
    DEVICE,
    HOST,
    Allocation,
    ApiCall,
    Copy,
    Dispatch,
    Marker,
    Recording,
    Scratch,
)

#: Host time of calls in nanoseconds. Choices of ours, of the order of recorded ones.
_COST = {
    "hipMalloc": 62_000,
    "hipHostMalloc": 310_000,
    "hipFree": 48_000,
    "hipHostFree": 55_000,
    "hipLaunchKernel": 4_200,
    "hipGraphInstantiateWithFlags": 190_000,
    "hipGraphLaunch": 9_000,
    "hipMemcpyAsync": 6_500,
    "hipStreamCreateWithFlags": 230_000,
    "ncclAllReduce": 21_000,
    "__hipRegisterFatBinary": 9_000,
    "__hipRegisterFunction": 6_000,
}
#: Profiling counters makes kernels run one at a time, each longer. Choices of ours.
_COUNTED_SLOWER, _COUNTED_EXTRA, _COUNTED_GAP = 1.06, 900, 38_000
_FIRST_KERNEL_ID = 10  # the runtime's own kernels come before a program's


@dataclass(frozen=True, slots=True)
class Buffer:
    """Memory of the program: where it is, its size in bytes, and whether it is pinned."""

    address: int
    size: int
    agent: int
    pinned: bool


class Program:
    """Write a program against this and read its `recording`.

    Parameters
    ----------
    gpu
        GPU it runs on.
    start
        Host nanoseconds at which it starts.
    counted
        Whether counters are measured: kernels then run one at a time and take longer.
    """

    def __init__(self, gpu: Gpu, start: int, *, counted: bool = False) -> None:
        self.recording = Recording(gpu, init=start)
        self._counted = counted
        self._now = start + 180_000_000  # loading the runtime
        self._correlation = 0
        self._queue_free: dict[int, int] = {}
        self._engine_free: dict[str, int] = {}
        self._address = {HOST: 0x7F10_0000_0000, DEVICE: 0x7F40_0000_0000}
        self._ids: dict[Kernel, int] = {}
        self._selected = False
        self._scratch_ready = False
        for name in ("__hipRegisterFatBinary", "__hipRegisterFunction"):
            self._call(name, (), compiler=True)

    # -- memory -----------------------------------------------------------------------------

    def malloc(self, size: int) -> Buffer:
        """Allocate device memory."""
        return self._allocate("hipMalloc", size, DEVICE, pinned=True)

    def host_malloc(self, size: int) -> Buffer:
        """Allocate pinned host memory."""
        return self._allocate("hipHostMalloc", size, HOST, pinned=True)

    def pageable(self, size: int) -> Buffer:
        """Take ordinary host memory: the profiler does not see it."""
        address = self._address[HOST]
        self._address[HOST] += -(-size // 4096 + 1) * 4096
        return Buffer(address, size, HOST, pinned=False)

    def free(self, buffer: Buffer) -> None:
        """Release memory."""
        name = "hipFree" if buffer.agent == DEVICE else "hipHostFree"
        call = self._call(name, (("void*", "ptr", hex(buffer.address)),))
        row = Allocation(call.correlation, None, buffer.address, 0, call.start + 900, call.end)
        self.recording.allocations.append(row)

    def copy(self, target: Buffer, source: Buffer, size: int, stream: int = 0) -> None:
        """Copy and wait (``hipMemcpy``)."""
        self._copy("hipMemcpy", target, source, size, stream)

    def copy_async(self, target: Buffer, source: Buffer, size: int, stream: int) -> None:
        """Copy on a stream (``hipMemcpyAsync``); with pageable memory it blocks all the same."""
        self._copy("hipMemcpyAsync", target, source, size, stream)

    # -- work -------------------------------------------------------------------------------

    def stream(self) -> int:
        """Create a stream."""
        number = len(self.recording.streams)
        self.recording.streams.append(number)
        self._call("hipStreamCreateWithFlags", (("unsigned int", "flags", "1"),))
        return number

    def launch(
        self,
        kernel: Kernel,
        grid: Size,
        workgroup: Size,
        *,
        stream: int = 0,
        dynamic_lds: int = 0,
        times: float = 1.0,
    ) -> None:
        """Launch a kernel; `grid` counts work-items, `times` its usual duration."""
        launch = Launch(kernel, grid, workgroup, dynamic_lds)
        call = self._call("hipLaunchKernel", _launch_arguments(launch, stream))
        self._dispatch(launch, stream, call.correlation, times=times)

    def instantiate(self) -> None:
        """Make a graph that can be launched (``hipGraphInstantiateWithFlags``)."""
        self._call("hipGraphInstantiateWithFlags", ())

    def launch_graph(self, launches: Iterable[Launch], *, stream: int = 0) -> None:
        """Launch a graph of kernels, one after the other; all have the id of the one call."""
        call = self._call("hipGraphLaunch", ())
        for launch in launches:
            self._dispatch(launch, stream, call.correlation)

    def reclaim_scratch(self) -> None:
        """Take the scratch memory of queues back: the next kernel that needs some waits for it."""
        self._scratch_ready = False

    def all_reduce(self, kernel: Kernel, grid: Size, workgroup: Size, *, stream: int = 0) -> None:
        """Run a collective: an RCCL call that launches `kernel`."""
        start = self._now
        self._now += _COST["ncclAllReduce"]
        self._correlation += 1
        call = ApiCall(self._correlation, "ncclAllReduce", start, self._now)
        self.recording.rccl.append(call)
        self._dispatch(Launch(kernel, grid, workgroup), stream, call.correlation)

    def synchronize(self, stream: int | None = None) -> None:
        """Wait for a stream, or for the device."""
        if stream is None:
            until = max([*self._queue_free.values(), *self._engine_free.values(), self._now])
            self._call("hipDeviceSynchronize", (), until=until + 3_000)
            return
        until = max(self._queue_free.get(stream, 0), self._now)
        arguments = (("ihipStream_t*", "stream", hex(stream)),)
        self._call("hipStreamSynchronize", arguments, until=until + 2_500)

    def host_work(self, duration: int) -> None:
        """Spend nanoseconds on the host only."""
        self._now += duration

    # -- markers ----------------------------------------------------------------------------

    @contextmanager
    def region(self, text: str) -> Generator[None]:
        """Bracket what follows in a roctx range."""
        start = self._now
        self._now += 700
        self._correlation += 1
        correlation = self._correlation
        yield
        self._now += 700
        marker = Marker(correlation, "roctxRangePushA", text, start, self._now)
        self.recording.markers.append(marker)

    def mark(self, text: str) -> None:
        """Set a roctx mark."""
        self._correlation += 1
        marker = Marker(self._correlation, "roctxMarkA", text, self._now, self._now)
        self.recording.markers.append(marker)

    @contextmanager
    def selected(self) -> Generator[None]:
        """Bracket what follows in ``roctxProfilerResume`` and ``roctxProfilerPause``."""
        for name, inside in (("roctxProfilerResume", True), ("roctxProfilerPause", False)):
            self._selected = inside
            self._correlation += 1
            start = self._now
            self._now += 1_200
            marker = Marker(
                self._correlation, name, name, start, self._now, domain="MARKER_CONTROL_API"
            )
            self.recording.markers.append(marker)
            if inside:
                yield

    def finish(self) -> Recording:
        """End the program and hand out what happened."""
        self.synchronize()
        self.recording.fini = self._now + 25_000_000
        return self.recording

    # -- inside -----------------------------------------------------------------------------

    def _call(
        self,
        name: str,
        arguments: tuple[tuple[str, str, str], ...],
        *,
        until: int | None = None,
        compiler: bool = False,
    ) -> ApiCall:
        self._correlation += 1
        start = self._now + 400
        end = max(start + 800, until) if until is not None else start + _COST[name]
        self._now = end + 300
        call = ApiCall(self._correlation, name, start, end, arguments, compiler)
        self.recording.calls.append(call)
        return call

    def _allocate(self, name: str, size: int, agent: int, *, pinned: bool) -> Buffer:
        address = self._address[agent]
        self._address[agent] += -(-size // 0x20_0000 + 1) * 0x20_0000
        arguments = (("void**", "ptr", hex(address)), ("unsigned long", "size", str(size)))
        call = self._call(name, arguments)
        row = Allocation(
            call.correlation, agent, address, size, call.start + 2_000, call.end - 1_000
        )
        self.recording.allocations.append(row)
        return Buffer(address, size, agent, pinned)

    def _copy(self, name: str, target: Buffer, source: Buffer, size: int, stream: int) -> None:
        ends = {HOST: "HOST", DEVICE: "DEVICE"}
        direction = f"{ends[source.agent]}_TO_{ends[target.agent]}"
        pinned = target.pinned and source.pinned
        self._correlation += 1
        correlation = self._correlation
        start = self._now + 400
        ready = max(
            start + _COST["hipMemcpyAsync"],
            self._queue_free.get(stream, 0),
            self._engine_free.get(direction, 0),
        )
        offset = 0
        for piece, duration, host in copy_pieces(size, self.recording.gpu, pinned=pinned):
            first = ready + host
            row = Copy(
                correlation, direction, source.agent, target.agent, source.address + offset,
                target.address + offset, piece, stream, first, first + duration,
            )  # fmt: skip
            self.recording.copies.append(row)
            ready = row.end
            offset += piece
        self._queue_free[stream] = self._engine_free[direction] = ready
        waits = name == "hipMemcpy" or not pinned
        end = ready + 2_000 if waits else start + _COST["hipMemcpyAsync"]
        self._now = end + 300
        self.recording.calls.append(
            ApiCall(correlation, name, start, end, _copy_arguments(target, source, size, stream))
        )

    def _dispatch(
        self, launch: Launch, stream: int, correlation: int, *, times: float = 1.0
    ) -> None:
        recording, kernel = self.recording, launch.kernel
        kernel_id = self._ids.setdefault(kernel, _FIRST_KERNEL_ID + len(self._ids))
        recording.kernels[kernel_id] = kernel
        number = len(recording.dispatches) + 1
        duration = round(kernel_ns(launch, recording.gpu) * _jitter(number) * times)
        ready = max(self._now + 2_600, self._queue_free.get(stream, 0) + 700)
        if self._counted:
            duration = round(duration * _COUNTED_SLOWER) + _COUNTED_EXTRA
            ready = max([self._now, *self._queue_free.values()]) + _COUNTED_GAP
        if kernel.scratch and not self._scratch_ready:
            self._scratch_ready = True
            size = kernel.scratch * 64 * 32 * recording.gpu.cus
            recording.scratch.append(Scratch(stream + 1, size, ready, ready + 410_000))
            ready += 420_000
        self._queue_free[stream] = ready + duration
        recording.dispatches.append(
            Dispatch(number, correlation, kernel_id, launch, stream, stream + 1, ready,
                     ready + duration, self._selected)
        )  # fmt: skip


def _jitter(number: int) -> float:
    """Return a factor within 1 % of 1 that looks random and is the same every time."""
    return 1 + ((number * 2_654_435_761) % 2_003 - 1_001) / 100_100


def _launch_arguments(launch: Launch, stream: int) -> tuple[tuple[str, str, str], ...]:
    blocks = [-(-g // w) for g, w in zip(launch.grid, launch.workgroup, strict=True)]
    return (
        ("void const*", "function_address", "0x207310"),
        ("rocprofiler_dim3_t", "numBlocks", _dim3(blocks)),
        ("rocprofiler_dim3_t", "dimBlocks", _dim3(launch.workgroup)),
        ("void**", "args", "0x7ffc00005ee0"),
        ("unsigned long", "sharedMemBytes", str(launch.dynamic_lds)),
        ("ihipStream_t*", "stream", hex(stream)),
    )


def _dim3(size: Size | list[int]) -> str:
    return f"{{z={size[2]}, y={size[1]}, x={size[0]}}}"


def _copy_arguments(
    target: Buffer, source: Buffer, size: int, stream: int
) -> tuple[tuple[str, str, str], ...]:
    ends = {HOST: "Host", DEVICE: "Device"}
    return (
        ("void*", "dst", hex(target.address)),
        ("void const*", "src", hex(source.address)),
        ("unsigned long", "sizeBytes", str(size)),
        ("hipMemcpyKind", "kind", f"{ends[source.agent]}To{ends[target.agent]}"),
        ("ihipStream_t*", "stream", hex(stream)),
    )
