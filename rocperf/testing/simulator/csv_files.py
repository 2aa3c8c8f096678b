"""rocprofv3's CSV files: headers, quoting and number formats of three generations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from pathlib import Path

from rocperf.testing.simulator.gpus import AGENT_COLUMNS, host_agent
from rocperf.testing.simulator.kernels import reported_registers
from rocperf.testing.simulator.recording import Dispatch
from rocperf.testing.simulator.request import Observed

Row = Sequence[int | float | str]
_SIZES = "Workgroup_Size_X Workgroup_Size_Y Workgroup_Size_Z Grid_Size_X Grid_Size_Y Grid_Size_Z"
_API = "Domain Function Process_Id Thread_Id Correlation_Id Start_Timestamp End_Timestamp"


def write_csv(observed: Observed, prefix: Path) -> list[Path]:
    """Write every CSV file that has rows, and ``agent_info`` beside them.

    Parameters
    ----------
    observed
        What was recorded.
    prefix
        Files are named ``<prefix>_<kind>.csv``.

    Returns
    -------
    list of Path
        Files written; empty where nothing was recorded.
    """
    if observed.empty:
        return []
    prefix.parent.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for kind, build in _KINDS.items():
        header, rows = build(observed)
        lines = [_line(row) for row in rows]
        if lines:
            path = prefix.with_name(f"{prefix.name}_{kind}.csv")
            path.write_text("\n".join([_line(header.split()), *lines, ""]), encoding="utf-8")
            written.append(path)
    return written


def _line(row: Row) -> str:
    return ",".join(_cell(value) for value in row)


def _cell(value: float | str) -> str:
    """Texts are quoted and not escaped; floats have six decimals, or an exponent below 1."""
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, int):
        return str(value)
    return f"{value:.6f}" if value >= 1 else f"{value:.8e}"


def _agents(observed: Observed) -> tuple[str, Iterable[Row]]:
    rows = (host_agent(), observed.recording.gpu.agent)
    return " ".join(AGENT_COLUMNS), [[row[c] for c in AGENT_COLUMNS] for row in rows]


def _kernel_rows(observed: Observed) -> tuple[str, Iterable[Row]]:
    request = observed.request
    if request.modern:
        header = (
            "Kind Agent_Id Queue_Id Stream_Id Thread_Id Dispatch_Id Kernel_Id Kernel_Name "
            "Correlation_Id Start_Timestamp End_Timestamp LDS_Block_Size Scratch_Size VGPR_Count "
            f"Accum_VGPR_Count SGPR_Count {_SIZES}"
        )
    else:
        header = (
            "Kind Agent_Id Queue_Id Thread_Id Dispatch_Id Kernel_Id Kernel_Name Correlation_Id "
            f"Start_Timestamp End_Timestamp Private_Segment_Size Group_Segment_Size {_SIZES}"
        )
    return header, [_kernel_row(observed, d) for d in observed.dispatches]


def _kernel_row(observed: Observed, dispatch: Dispatch) -> Row:
    request, launch = observed.request, dispatch.launch
    row: list[int | float | str] = ["KERNEL_DISPATCH", request.agent(1), dispatch.queue]
    if request.modern:
        row.append(dispatch.stream)
    row += [observed.session.pid, dispatch.number, dispatch.kernel_id, launch.kernel.name]
    row += [dispatch.correlation, dispatch.start, dispatch.end]
    row += _resources(observed, dispatch) if request.modern else [launch.kernel.scratch, launch.lds]
    return [*row, *launch.workgroup, *launch.grid]


def _resources(observed: Observed, dispatch: Dispatch) -> list[int]:
    """Give static LDS rounded up to 512 bytes, scratch and registers, as 7.0 prints them."""
    kernel = dispatch.launch.kernel
    registers = reported_registers(kernel, observed.recording.gpu)
    static = -(-kernel.lds // 512) * 512
    return [static, kernel.scratch, registers.vgpr, registers.accum, registers.sgpr]


def _counters(observed: Observed) -> tuple[str, Iterable[Row]]:
    header = (
        "Correlation_Id Dispatch_Id Agent_Id Queue_Id Process_Id Thread_Id Grid_Size Kernel_Id "
        "Kernel_Name Workgroup_Size LDS_Block_Size Scratch_Size VGPR_Count Accum_VGPR_Count "
        "SGPR_Count Counter_Name Counter_Value Start_Timestamp End_Timestamp"
    )
    pid = observed.session.pid
    rows: list[Row] = []
    for counted in observed.counted:
        d = counted.dispatch
        head = [d.correlation, d.number, observed.request.agent(1), d.queue, pid, pid]
        head += [prod(d.launch.grid), d.kernel_id, d.launch.kernel.name, prod(d.launch.workgroup)]
        head += _resources(observed, d)
        rows += [[*head, c.name, float(value), d.start, d.end] for c, value in counted.counters]
    return header, rows


def _copies(observed: Observed) -> tuple[str, Iterable[Row]]:
    request = observed.request
    stream = " Stream_Id" if request.modern else ""
    header = (
        f"Kind Direction{stream} Source_Agent_Id Destination_Agent_Id Correlation_Id "
        "Start_Timestamp End_Timestamp"
    )
    rows: list[Row] = []
    for c in observed.copies:
        row: list[int | float | str] = ["MEMORY_COPY", f"MEMORY_COPY_{c.direction}"]
        row += [c.stream] if request.modern else []
        row += [request.agent(c.source), request.agent(c.destination), c.correlation]
        rows.append([*row, c.start, c.end])
    return header, rows


def _allocations(observed: Observed) -> tuple[str, Iterable[Row]]:
    header = (
        "Kind Operation Agent_Id Allocation_Size Address Correlation_Id Start_Timestamp "
        "End_Timestamp"
    )
    if "allocation" not in observed.request.traces:
        return header, []
    rows: list[Row] = []
    for a in observed.recording.allocations:
        operation = "MEMORY_ALLOCATION_" + ("FREE" if a.agent is None else "ALLOCATE")
        agent = "" if a.agent is None else observed.request.agent(a.agent)
        rows.append(["MEMORY_ALLOCATION", operation, agent, a.size, f"0x{a.address:016x}",
                     a.correlation, a.start, a.end])  # fmt: skip
    return header, rows


def _scratch(observed: Observed) -> tuple[str, Iterable[Row]]:
    size = observed.request.version == "7.13"
    header = "Kind Operation Agent_Id Queue_Id Thread_Id Alloc_Flags Start_Timestamp End_Timestamp"
    rows: list[Row] = [
        ["SCRATCH_MEMORY", "SCRATCH_MEMORY_ALLOC", observed.request.agent(1), s.queue,
         observed.session.pid, 0, s.start, s.end, *([s.size] if size else [])]
        for s in observed.recording.scratch
        if "scratch" in observed.request.traces
    ]  # fmt: skip
    return header + (" Allocation_Size" if size else ""), rows


def _hip(observed: Observed) -> tuple[str, Iterable[Row]]:
    traces, pid = observed.request.traces, observed.session.pid
    suffix = "_EXT" if observed.request.modern else ""
    rows: list[Row] = [
        [f"HIP_{'COMPILER' if c.compiler else 'RUNTIME'}_API{suffix}", c.name, pid, pid,
         c.correlation, c.start, c.end]
        for c in observed.recording.calls
        if ("hip_compiler" if c.compiler else "hip") in traces
    ]  # fmt: skip
    return _API, rows


def _markers(observed: Observed) -> tuple[str, Iterable[Row]]:
    pid = observed.session.pid
    if "marker" not in observed.request.traces:
        return _API, []
    rows: list[Row] = []
    for m in observed.recording.markers:
        control = m.domain == "MARKER_CONTROL_API"
        domain = m.domain if observed.request.modern or control else "MARKER_CORE_API"
        text = m.function if control else m.text
        rows.append([domain, text, pid, pid, m.correlation, m.start, m.end])
    return _API, rows


def _rccl(observed: Observed) -> tuple[str, Iterable[Row]]:
    pid = observed.session.pid
    rows: list[Row] = [
        ["RCCL_API", c.name, pid, pid, c.correlation, c.start, c.end]
        for c in observed.recording.rccl
        if "rccl" in observed.request.traces
    ]
    return _API, rows


_KINDS: dict[str, Callable[[Observed], tuple[str, Iterable[Row]]]] = {
    "agent_info": _agents,
    "kernel_trace": _kernel_rows,
    "hip_api_trace": _hip,
    "memory_copy_trace": _copies,
    "memory_allocation_trace": _allocations,
    "scratch_memory_trace": _scratch,
    "marker_api_trace": _markers,
    "rccl_api_trace": _rccl,
    "counter_collection": _counters,
}
