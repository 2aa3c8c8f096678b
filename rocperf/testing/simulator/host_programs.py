"""Programs whose fault is how the host feeds the GPU, each beside one that does it well."""

from __future__ import annotations

from collections.abc import Callable

from rocperf.testing.simulator.kernels import Access, Kernel, Launch
from rocperf.testing.simulator.program import Program

_MIB = 1 << 20
_GROUP = (256, 1, 1)
_STEPS = 24

#: A healthy kernel that fills the GPU.
STEP = Kernel(
    "advance(float*, float const*, float const*, int)", vgpr=8, sgpr=16, valu=8,
    accesses=(Access("load", 4), Access("load", 4), Access("store", 4)),
)  # fmt: skip
#: A kernel that is over as soon as it was launched.
TINY = Kernel("scale(float*, float)", vgpr=4, sgpr=16, accesses=(Access("store", 4),))
#: Two kernels of few workgroups that do not need one another.
LEFT = Kernel(
    "reduce_left(float*, float const*, int)", vgpr=24, sgpr=32, valu=2000, salu=60,
    accesses=(Access("load", 4, repeat=64), Access("store", 4)),
)  # fmt: skip
RIGHT = Kernel(
    "reduce_right(float*, float const*, int)", vgpr=24, sgpr=32, valu=2000, salu=60,
    accesses=(Access("load", 4, repeat=64), Access("store", 4)),
)  # fmt: skip
#: A kernel with a private array.
STACK = Kernel(
    "sort_private(float*, int)", vgpr=64, sgpr=32, scratch=512, valu=400,
    accesses=(Access("load", 4, repeat=4), Access("store", 4, repeat=4)),
)  # fmt: skip
_WHOLE, _FEW, _ONE = (16 * _MIB, 1, 1), (64 * 256, 1, 1), (64 * 64, 1, 1)


def _wait_each_step(program: Program) -> None:
    for _ in range(_STEPS):
        program.launch(STEP, _WHOLE, _GROUP)
        program.synchronize(0)


def _queued_steps(program: Program) -> None:
    for _ in range(_STEPS):
        program.launch(STEP, _WHOLE, _GROUP)
    program.synchronize(0)


def _host_bound_steps(program: Program) -> None:
    for _ in range(_STEPS):
        program.launch(STEP, _WHOLE, _GROUP)
        program.host_work(300_000)
    program.synchronize(0)


def _tiny_steps(program: Program) -> None:
    for _ in range(2 * _STEPS):
        program.launch(TINY, _ONE, _GROUP)
        program.host_work(3_000)
    program.synchronize(0)


def _graph_steps(program: Program) -> None:
    program.instantiate()
    for _ in range(4):
        program.launch_graph([Launch(TINY, _ONE, _GROUP)] * (_STEPS // 2))
    program.synchronize(0)


def _graph_each_step(program: Program) -> None:
    for _ in range(6):
        program.instantiate()
        program.launch_graph([Launch(TINY, _ONE, _GROUP)] * 4)
        for _ in range(4):
            program.launch(TINY, _ONE, _GROUP)
    program.synchronize(0)


def _allocating_steps(program: Program) -> None:
    for _ in range(_STEPS // 2):
        scratch = program.malloc(64 * _MIB)
        program.launch(STEP, _WHOLE, _GROUP)
        program.free(scratch)
    program.synchronize(0)


def _exposed_copies(program: Program) -> None:
    size = 32 * _MIB
    host, source, target = (
        program.host_malloc(size), program.malloc(size), program.malloc(size),
    )  # fmt: skip
    for _ in range(4):
        program.copy_async(source, host, size, 0)
        for _ in range(12):
            program.launch(STEP, _WHOLE, _GROUP)
        program.copy_async(host, target, size, 0)
    program.synchronize(0)


def _ping_pong_copies(program: Program) -> None:
    size = 16 * _MIB
    host, device = program.host_malloc(size), program.malloc(size)
    program.copy_async(device, host, size, 0)
    for _ in range(6):
        program.launch(STEP, (size // 4, 1, 1), _GROUP)
        program.copy_async(host, device, size, 0)
        program.copy_async(device, host, size, 0)
    program.synchronize(0)


def _branches(*, streams: int) -> Callable[[Program], None]:
    def play(program: Program) -> None:
        lanes = [program.stream() for _ in range(streams)]
        for _ in range(_STEPS // 2):
            for number, kernel in enumerate((LEFT, RIGHT)):
                program.launch(kernel, _FEW, _GROUP, stream=lanes[number % streams])
        program.synchronize()

    return play


def _cold_start(program: Program) -> None:
    for number in range(_STEPS):
        program.launch(STEP, _WHOLE, _GROUP, times=1.0 if number else 40.0)
    program.synchronize(0)


def _scratch_again(program: Program) -> None:
    for number in range(_STEPS):
        if number % 4 == 0:
            program.reclaim_scratch()
        program.launch(STACK, _WHOLE, _GROUP)
    program.synchronize(0)


def _scratch_kept(program: Program) -> None:
    for _ in range(_STEPS):
        program.launch(STACK, _WHOLE, _GROUP)
    program.synchronize(0)


#: Name, what it shows, and the program.
HOST_PROGRAMS: tuple[tuple[str, str, Callable[[Program], None]], ...] = (
    ("wait_each_step", "The host waits for each kernel before it launches the next.",
     _wait_each_step),
    ("queued_steps", "The same kernels launched ahead: nothing is wrong.", _queued_steps),
    ("host_bound_steps", "The host works 300 µs between launches of 50 µs.", _host_bound_steps),
    ("tiny_steps", "Kernels of 3 µs, each launched by itself.", _tiny_steps),
    ("graph_steps", "Such kernels in a graph that is made once: nothing is wrong.", _graph_steps),
    ("graph_each_step", "A graph made anew for each launch, and as many kernels beside it.",
     _graph_each_step),
    ("allocating_steps", "Memory allocated and released around each kernel.", _allocating_steps),
    ("exposed_copies", "Copies and kernels of one stream, one after the other.", _exposed_copies),
    ("ping_pong_copies", "A buffer that goes to the host and comes back each step.",
     _ping_pong_copies),
    ("serial_branches", "Two small kernels in turn on one stream.", _branches(streams=1)),
    ("parallel_branches", "The same kernels on two streams: nothing is wrong.",
     _branches(streams=2)),
    ("cold_start", "A first launch that takes forty times the others.", _cold_start),
    ("scratch_again", "Scratch memory that is taken back and given again.", _scratch_again),
    ("scratch_kept", "Scratch memory that is given once: nothing is wrong.", _scratch_kept),
)  # fmt: skip
