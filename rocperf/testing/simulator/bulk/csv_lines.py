"""Big CSV files, line by line from templates."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from rocperf.testing.simulator.bulk.workload import (
    CALLS,
    COPY_EVERY,
    COUNTERS,
    PERIOD,
    PIDS,
    START,
    Kind,
    begin,
    copy_beside,
    seed,
)
from rocperf.testing.simulator.csv_files import write_csv
from rocperf.testing.simulator.gpus import GPUS
from rocperf.testing.simulator.kernels import reported_registers
from rocperf.testing.simulator.program import Program
from rocperf.testing.simulator.request import observe

CHUNK = 8192  # lines written at a time


def write_lines(prefix: Path, run: str, count: int, kinds: list[Kind]) -> None:
    """Write the files of one run, ``timing`` or ``counters``, with `count` dispatches."""
    header = _csv_headers(prefix, run, kinds)
    if run == "counters":
        _write(header["counter_collection"], _counter_lines(count, kinds))
        return
    _write(header["kernel_trace"], _kernel_lines(count, kinds))
    _write(header["hip_api_trace"], _call_lines(count))
    _write(header["memory_copy_trace"], _copy_lines(count))


def _csv_headers(prefix: Path, run: str, kinds: list[Kind]) -> dict[str, Path]:
    """Let the ordinary writer make each file for one dispatch, and keep only its header."""
    small = Program(GPUS["gfx942"], START, counted=run == "counters")
    buffer, source = small.malloc(4096), small.host_malloc(4096)
    small.copy(buffer, source, 4096)
    small.launch(kinds[0].launch.kernel, kinds[0].launch.grid, kinds[0].launch.workgroup)
    empty = seed(run, kinds)
    files: dict[str, Path] = {}
    for path in write_csv(observe(small.finish(), empty.request, empty.session), prefix):
        kind = path.stem.removeprefix(f"{prefix.name}_")
        files[kind] = path
        if kind != "agent_info":
            header, _, _ = path.read_text(encoding="utf-8").partition("\n")
            path.write_text(header + "\n", encoding="utf-8")
    return files


def _write(path: Path, lines: Iterator[str]) -> None:
    with path.open("a", encoding="utf-8") as file:
        while chunk := "".join(islice(lines, CHUNK)):
            file.write(chunk)


def _kernel_lines(count: int, kinds: list[Kind]) -> Iterator[str]:
    pid = PIDS["timing"]
    templates: list[tuple[str, int]] = []
    for kind in kinds:
        launch, kernel = kind.launch, kind.launch.kernel
        r = reported_registers(kernel, GPUS["gfx942"])
        tail = [-(-kernel.lds // 512) * 512, kernel.scratch, r.vgpr, r.accum, r.sgpr]
        rest = ",".join(str(n) for n in [*tail, *launch.workgroup, *launch.grid])
        text = f'{pid},%d,{kind.kernel_id},"{kernel.name}",%d,%d,%d,{rest}\n'
        templates.append((text, kind.duration["timing"]))
    places = [f'"KERNEL_DISPATCH","Agent 1",{s + 1},{s},' for s in (0, 1)]
    for n in range(count):
        text, duration = templates[n % 8]
        start = START + n * PERIOD
        yield places[n & 1] + text % (n + 1, 4 * n + 2, start, start + duration)


def _call_lines(count: int) -> Iterator[str]:
    pid = PIDS["timing"]
    domain = "HIP_RUNTIME_API_EXT"
    templates = [f'"{domain}","{name}",{pid},{pid},%d,%d,%d\n' for name in CALLS]
    for n in range(count):
        start = START + n * PERIOD - 9_000
        for call, text in enumerate(templates):
            begin = start + call * 2_000
            yield text % (4 * n + call + 1, begin, begin + 1_500)


def _copy_lines(count: int) -> Iterator[str]:
    for n in range(0, count, COPY_EVERY):
        direction, source, target, _, start, end = copy_beside(n)
        yield (
            f'"MEMORY_COPY","MEMORY_COPY_{direction}",0,"Agent {source}","Agent {target}",'
            f"{4 * n + 1},{start},{end}\n"
        )


def _counter_lines(count: int, kinds: list[Kind]) -> Iterator[str]:
    pid = PIDS["counters"]
    templates: list[tuple[str, list[str], int]] = []
    for kind in kinds:
        launch, kernel = kind.launch, kind.launch.kernel
        r = reported_registers(kernel, GPUS["gfx942"])
        grid, group = launch.grid[0] * launch.grid[1], launch.workgroup[0] * launch.workgroup[1]
        rest = f"{-(-kernel.lds // 512) * 512},{kernel.scratch},{r.vgpr},{r.accum},{r.sgpr}"
        head = f'{pid},{pid},{grid},{kind.kernel_id},"{kernel.name}",{group},{rest}'
        pairs = zip(COUNTERS, kind.counters, strict=True)
        number = {v: f"{v:.6f}" if v >= 1 else f"{v:.8e}" for v in kind.counters}
        cells = [f'{head},"{name}",{number[v]},' for name, v in pairs]
        templates.append(('%d,%d,"Agent 1",%d,', cells, kind.duration["counters"]))
    for n in range(count):
        text, cells, duration = templates[n % 8]
        start = begin("counters", n)
        head = text % (4 * n + 2, n + 1, (n & 1) + 1)
        tail = f"{start},{start + duration}\n"
        for cell in cells:
            yield head + cell + tail
