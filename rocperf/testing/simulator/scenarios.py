"""Named programs whose faults, or whose lack of them, are known beforehand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rocperf.testing.simulator.gpus import GPUS
from rocperf.testing.simulator.host_programs import HOST_PROGRAMS
from rocperf.testing.simulator.kernels import Access, Kernel, LdsAccess
from rocperf.testing.simulator.program import Program
from rocperf.testing.simulator.recording import Recording

_SIDE = 4096  # rows and columns of the transposed matrices of 4-byte elements
_MIB = 1 << 20
_TILE = (32, 32, 1)
_SQUARE = (_SIDE, _SIDE, 1)

#: A transpose whose stores go down a column: neighbours are a row apart.
NAIVE_TRANSPOSE = Kernel(
    "transpose_naive(float*, float const*, int, int)", vgpr=8, sgpr=24, valu=10, salu=5, smem=2,
    accesses=(Access("load", 4, x=1, y=_SIDE), Access("store", 4, x=_SIDE, y=1)),
)  # fmt: skip
#: A transpose through a 32x32 tile of LDS that is read down a column: 32 lanes on one bank.
CONFLICTED_TRANSPOSE = Kernel(
    "transpose_lds_conflict(float*, float const*, int, int)", vgpr=8, sgpr=32, lds=4096, valu=24,
    salu=7, smem=2, code_lines=20,
    accesses=(Access("load", 4, x=1, y=_SIDE), Access("store", 4, x=1, y=_SIDE)),
    lds_accesses=(LdsAccess(4, x=1, y=32), LdsAccess(4, x=32, y=1)),
)  # fmt: skip
#: The same with rows padded to 33 elements: no conflict.
PADDED_TRANSPOSE = Kernel(
    "transpose_lds_padded(float*, float const*, int, int)", vgpr=8, sgpr=32, lds=4224, valu=24,
    salu=9, smem=2, code_lines=20,
    accesses=(Access("load", 4, x=1, y=_SIDE), Access("store", 4, x=1, y=_SIDE)),
    lds_accesses=(LdsAccess(4, x=1, y=33), LdsAccess(4, x=33, y=1)),
)  # fmt: skip
#: A copy of every 32nd element.
STRIDED_COPY = Kernel(
    "copy_strided(float*, float const*, int)", vgpr=4, sgpr=16, valu=27, trans=1, salu=5,
    accesses=(Access("load", 4, x=32, spacing=32), Access("store", 4, x=32, spacing=32)),
)  # fmt: skip
#: A copy of neighbouring elements.
UNIT_COPY = Kernel(
    "copy_unit_stride(float*, float const*, int)", vgpr=4, sgpr=16,
    accesses=(Access("load", 4), Access("store", 4)),
)  # fmt: skip
#: So many registers that one wave fits on a SIMD.
REGISTER_HEAVY = Kernel(
    "advect_all_species(double*, double const*, double const*, int)", vgpr=256, agpr=40, sgpr=96,
    valu=260, salu=40, smem=12, code_lines=120,
    operations=(("FMA_F64", 96), ("MUL_F64", 48), ("ADD_F64", 48)),
    accesses=(Access("load", 8, repeat=6), Access("store", 8, repeat=3)),
)  # fmt: skip
#: So much LDS that one workgroup of four waves fits on a compute unit.
LDS_HEAVY = Kernel(
    "smooth_big_tile(float*, float const*, int)", vgpr=40, sgpr=48, lds=65536, valu=90, salu=20,
    smem=4, code_lines=60, accesses=(Access("load", 4, repeat=8), Access("store", 4, repeat=4)),
    lds_accesses=(LdsAccess(4, repeat=8), LdsAccess(4, repeat=8)),
)  # fmt: skip
#: Much work in few workgroups.
TINY_GRID = Kernel(
    "reduce_few_blocks(float*, float const*, int)", vgpr=24, sgpr=32, lds=1024, valu=4200, salu=300,
    smem=4, code_lines=30, accesses=(Access("load", 4, repeat=512), Access("store", 4)),
    lds_accesses=(LdsAccess(4, repeat=8),),
)  # fmt: skip
#: A healthy kernel for the copy programs: it adds to neighbouring elements.
ADD = Kernel(
    "vector_add(float*, float const*, float const*, int)", vgpr=8, sgpr=16, valu=8,
    operations=(("ADD_F32", 1),),
    accesses=(Access("load", 4), Access("load", 4), Access("store", 4)),
)  # fmt: skip
#: The kernel of a collective; it would wait for its peers on other GPUs.
COLLECTIVE = Kernel(
    "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", vgpr=128, agpr=64, sgpr=112,
    lds=36000, scratch=64, valu=900, salu=200, smem=20, code_lines=400,
    accesses=(Access("load", 8, repeat=64), Access("store", 8, repeat=64)),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scenario:
    """A named program.

    Parameters
    ----------
    name
        Its key in `SCENARIOS`.
    shows
        One sentence: what is wrong in it, or that nothing is.
    play
        Runs it.
    """

    name: str
    shows: str
    play: Callable[[Program], None]


def _kernel(kernel: Kernel, grid: tuple[int, int, int], workgroup: tuple[int, int, int], size: int,
            times: int = 3) -> Callable[[Program], None]:  # fmt: skip
    """Copy `size` bytes in once, launch several times, copy out once; pinned memory."""

    def play(program: Program) -> None:
        host, source, target = (
            program.host_malloc(size), program.malloc(size), program.malloc(size),
        )  # fmt: skip
        program.copy(source, host, size)
        with program.region("main loop"), program.selected():
            for _ in range(times):
                program.launch(kernel, grid, workgroup)
            program.synchronize()
        program.copy(host, target, size)
        for buffer in (host, source, target):
            program.free(buffer)

    return play


def _copies(program: Program, *, pinned: bool, size: int, times: int) -> None:
    host = program.host_malloc(size) if pinned else program.pageable(size)
    source, target = program.malloc(size), program.malloc(size)
    for _ in range(times):
        with program.region("step"):
            program.copy_async(source, host, size, 0)
            program.launch(ADD, (size // 4, 1, 1), (256, 1, 1))
            program.copy_async(host, target, size, 0)
            program.synchronize(0)
    program.free(source)
    program.free(target)


def _pageable(program: Program) -> None:
    _copies(program, pinned=False, size=96 * _MIB, times=2)


def _pinned(program: Program) -> None:
    _copies(program, pinned=True, size=96 * _MIB, times=2)


def _many_small(program: Program) -> None:
    size = 4096
    host, device = program.host_malloc(size), program.malloc(size)
    for _ in range(16):
        program.copy(device, host, size)
    program.launch(ADD, (_MIB, 1, 1), (256, 1, 1))
    program.synchronize()


def _overlapped(program: Program) -> None:
    size = 32 * _MIB
    streams = [program.stream() for _ in range(2)]
    hosts = [program.host_malloc(size) for _ in streams]
    devices = [program.malloc(size) for _ in streams]
    for step in range(6):
        lane = step % 2
        program.copy_async(devices[lane], hosts[lane], size, streams[lane])
        program.launch(LDS_HEAVY, (size // 4, 1, 1), (256, 1, 1), stream=streams[lane])
        program.copy_async(hosts[lane], devices[lane], size, streams[lane])
    program.synchronize()


def _demo(program: Program) -> None:
    """Something for each analysis, and as many healthy kernels beside it."""
    size = 64 * _MIB
    host = program.pageable(192 * _MIB)
    source, target = program.malloc(192 * _MIB), program.malloc(192 * _MIB)
    program.mark("start")
    with program.region("load"):
        program.copy(source, host, 192 * _MIB)
    with program.region("solve"), program.selected():
        for _ in range(30):
            with program.region("step"):
                program.launch(CONFLICTED_TRANSPOSE, (2 * _SIDE, 2 * _SIDE, 1), _TILE)
                program.launch(PADDED_TRANSPOSE, _SQUARE, _TILE)
                program.launch(STRIDED_COPY, (2 * _MIB, 1, 1), (256, 1, 1))
                program.launch(UNIT_COPY, (size // 4, 1, 1), (256, 1, 1))
                program.launch(REGISTER_HEAVY, (2 * _MIB, 1, 1), (256, 1, 1))
                program.launch(ADD, (size // 4, 1, 1), (256, 1, 1))
                program.synchronize(0)
    with program.region("store"):
        program.copy(host, target, 192 * _MIB)
    program.free(source)
    program.free(target)


def _collective(program: Program) -> None:
    size = 64 * _MIB
    host, device = program.host_malloc(size), program.malloc(size)
    program.copy(device, host, size)
    for _ in range(6):
        program.launch(ADD, (size // 4, 1, 1), (256, 1, 1))
        program.all_reduce(COLLECTIVE, (112 * 256, 1, 1), (256, 1, 1))
        program.synchronize(0)


_LINE_OF_256 = (256, 1, 1)
#: Scenario by name: those of kernels and copies, those of the host, then ``demo`` (a mix) and
#: ``collective`` (RCCL kernels).
SCENARIOS: dict[str, Scenario] = {
    s.name: s
    for s in (
        Scenario("naive_transpose", "Stores down a column: each lane writes its own line.",
                 _kernel(NAIVE_TRANSPOSE, _SQUARE, _TILE, _SIDE * _SIDE * 4)),
        Scenario("lds_conflict_transpose", "LDS read down a column: 32 lanes on one bank.",
                 _kernel(CONFLICTED_TRANSPOSE, _SQUARE, _TILE, _SIDE * _SIDE * 4)),
        Scenario("padded_transpose", "The same transpose with padded rows: nothing is wrong.",
                 _kernel(PADDED_TRANSPOSE, _SQUARE, _TILE, _SIDE * _SIDE * 4)),
        Scenario("strided_copy", "A copy of every 32nd element: each lane reads its own line.",
                 _kernel(STRIDED_COPY, (_MIB, 1, 1), _LINE_OF_256, 128 * _MIB)),
        Scenario("unit_stride_copy", "A copy of neighbouring elements: nothing is wrong.",
                 _kernel(UNIT_COPY, (16 * _MIB, 1, 1), _LINE_OF_256, 64 * _MIB)),
        Scenario("register_heavy", "296 vector registers: one wave fits on a SIMD.",
                 _kernel(REGISTER_HEAVY, (2 * _MIB, 1, 1), _LINE_OF_256, 96 * _MIB)),
        Scenario("lds_heavy", "64 KiB of LDS: one workgroup fits on a compute unit.",
                 _kernel(LDS_HEAVY, (4 * _MIB, 1, 1), _LINE_OF_256, 128 * _MIB)),
        Scenario("tiny_grid", "32 workgroups: most compute units stay idle.",
                 _kernel(TINY_GRID, (32 * 256, 1, 1), _LINE_OF_256, 16 * _MIB)),
        Scenario("pageable_copies", "Copies from and to pageable memory, in staged pieces.",
                 _pageable),
        Scenario("pinned_copies", "The same copies from and to pinned memory: nothing is wrong.",
                 _pinned),
        Scenario("many_small_copies", "Sixteen copies of 4 KiB: each costs its latency.",
                 _many_small),
        Scenario("overlapped_copies", "Two streams: copies run beside kernels.", _overlapped),
        *(Scenario(*each) for each in HOST_PROGRAMS),
        Scenario("demo", "A conflicted transpose, a strided copy, a kernel with few waves and "
                 "pageable copies, beside healthy ones.", _demo),
        Scenario("collective", "Kernels of a collective library beside compute.", _collective),
    )
}  # fmt: skip


def simulate(
    name: str, *, gpu: str = "gfx942", counted: bool = False, start: int = 1_000_000_000_000_000
) -> Recording:
    """Play a scenario.

    Parameters
    ----------
    name
        A key of `SCENARIOS`.
    gpu
        A key of `rocperf.testing.simulator.GPUS`.
    counted
        Whether counters are measured: kernels are serialised and take longer.
    start
        Host nanoseconds at which the process starts.

    Raises
    ------
    KeyError
        No such scenario or GPU.
    """
    program = Program(GPUS[gpu], start, counted=counted)
    SCENARIOS[name].play(program)
    return program.finish()
