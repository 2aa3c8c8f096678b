"""Records of rocprofv3's JSON, one at a time, into tuples of a table's columns."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

Record = Mapping[str, Any]
Row = tuple[Any, ...]

_U, _I, _S = pl.UInt64, pl.Int64, pl.String
_MOST = 2**64

# Operation numbers of rocprofiler-sdk, for files that do not name them.
_DIRECTIONS = ("none", "host_to_host", "host_to_device", "device_to_host", "device_to_device")
_ALLOCATIONS = ("none", "allocate", "vmem_allocate", "free", "vmem_free")
_SCRATCH = ("none", "alloc", "free", "async_reclaim")
_SAMPLING = "ROCPROFILER_PC_SAMPLING_INSTRUCTION_"


@dataclass
class Names:
    """What records name by number.

    Parameters
    ----------
    kinds
        Name and operations of each kind of record, by its number.
    nodes
        Node of each agent's handle.
    kernels
        Name, static LDS, registers of each kernel.
    counters
        Counter of each handle.
    messages
        Text of a marker, by correlation id.
    instructions, comments
        Of sampled code, by place.
    """

    kinds: list[tuple[str, list[str]]] = field(default_factory=list[tuple[str, list[str]]])
    nodes: dict[int, int] = field(default_factory=dict[int, int])
    kernels: dict[int, Row] = field(default_factory=dict[int, Row])
    counters: dict[int, str] = field(default_factory=dict[int, str])
    messages: dict[int, str] = field(default_factory=dict[int, str])
    instructions: list[str] = field(default_factory=list[str])
    comments: list[str] = field(default_factory=list[str])

    def kind(self, record: Record, otherwise: str) -> str:
        """Name the kind of a record, such as ``HIP_RUNTIME_API_EXT``."""
        number = record.get("kind")
        known = isinstance(number, int) and 0 <= number < len(self.kinds)
        return self.kinds[number][0] if known and number is not None else otherwise

    def operation(self, record: Record, otherwise: tuple[str, ...] = ()) -> str:
        """Name the operation of a record, such as ``hipMalloc``."""
        kind, number = record.get("kind"), record.get("operation")
        if not isinstance(number, int) or number < 0:
            return "unknown"
        if isinstance(kind, int) and 0 <= kind < len(self.kinds):
            names = self.kinds[kind][1]
            if number < len(names):
                return names[number]
        return otherwise[number] if number < len(otherwise) else f"operation {number}"


def handle(value: Any) -> int | None:
    """Read ``{"handle": 5}`` and ``5``; None when it is neither."""
    if isinstance(value, dict):
        value = value.get("handle")
    return value if isinstance(value, int) and 0 <= value < _MOST else None


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and 0 <= value < _MOST else None


def _small(value: Any) -> int | None:
    return value if isinstance(value, int) and 0 <= value < 2**32 else None


def _times(record: Record) -> tuple[int | None, int | None]:
    start, end = _number(record.get("start_timestamp")), _number(record.get("end_timestamp"))
    if not start or end is None or not start <= end < 2**63:
        return None, None
    return start, end


def _correlation(record: Record) -> int | None:
    value = record.get("correlation_id")
    return _number(value.get("internal")) if isinstance(value, dict) else _number(value)


def _sizes(value: Any) -> Row:
    if not isinstance(value, dict):
        return None, None, None
    return tuple(_small(value.get(axis)) for axis in "xyz")


def _product(sizes: Row) -> int | None:
    if any(size is None for size in sizes):
        return None
    return sizes[0] * sizes[1] * sizes[2] or None


DISPATCH_SCHEMA: dict[str, Any] = {
    "row": _U,
    "dispatch_id": _U,
    "kernel": _S,
    "static_lds_bytes": _U,
    "vgpr": _U,
    "agpr": _U,
    "sgpr": _U,
    "agent_id": _U,
    "queue_id": _U,
    "stream_id": _U,
    "thread_id": _U,
    "correlation_id": _U,
    "start_ns": _I,
    "end_ns": _I,
    "grid_x": _U,
    "grid_y": _U,
    "grid_z": _U,
    "grid_size": _U,
    "workgroup_x": _U,
    "workgroup_y": _U,
    "workgroup_z": _U,
    "workgroup_size": _U,
    "lds_bytes": _U,
    "scratch_bytes": _U,
}


def dispatch(row: int, record: Record, names: Names, outer: Record | None = None) -> Row:
    """Turn a dispatch, traced or counted, into a row of ``all_dispatches``.

    Parameters
    ----------
    row
        Number of the record.
    record
        The record with ``dispatch_info`` and times.
    names
        What it names by number.
    outer
        The record around it, which has thread and stream, when it was counted.
    """
    info = record["dispatch_info"]
    around = record if outer is None else outer
    kernel_id = _number(info.get("kernel_id"))
    kernel = names.kernels.get(-1 if kernel_id is None else kernel_id)
    if kernel is None:
        kernel = (f"kernel {kernel_id} without a symbol", None, None, None, None)
    grid, group = _sizes(info.get("grid_size")), _sizes(info.get("workgroup_size"))
    return (
        row,
        _number(info["dispatch_id"]),
        *kernel,
        agent(info.get("agent_id"), names),
        handle(info.get("queue_id")),
        handle(around.get("stream_id")),
        _number(around.get("thread_id")),
        _correlation(record),
        *_times(record),
        *grid,
        _product(grid),
        *group,
        _product(group),
        _small(info.get("group_segment_size")),
        _small(info.get("private_segment_size")),
    )


def agent(value: Any, names: Names) -> int | None:
    """Return the node of an agent; the handle itself when the file does not list it."""
    number = handle(value)
    return None if number is None else names.nodes.get(number, number)


def symbol(record: Record) -> tuple[int, Row] | None:
    """Read a kernel symbol: its id; name, static LDS, VGPRs, AGPRs and SGPRs."""
    number = _number(record.get("kernel_id"))
    if number is None:
        return None
    name = next(
        (
            str(record[key])
            for key in ("formatted_kernel_name", "demangled_kernel_name", "kernel_name")
            if record.get(key)
        ),
        f"kernel {number} without a name",
    )
    resources = ("group_segment_size", "arch_vgpr_count", "accum_vgpr_count", "sgpr_count")
    return number, (name, *(_small(record.get(key)) for key in resources))


def _copy(row: int, record: Record, names: Names) -> Row:
    direction = names.operation(record, _DIRECTIONS).lower().removeprefix("memory_copy_")
    return (
        row,
        direction,
        agent(record.get("src_agent_id"), names),
        agent(record.get("dst_agent_id"), names),
        _number(record.get("bytes")),
        _address(record.get("src_address")),
        _address(record.get("dst_address")),
        handle(record.get("stream_id")),
        _number(record.get("thread_id")),
        _correlation(record),
        *_times(record),
    )


def _allocation(row: int, record: Record, names: Names) -> Row:
    operation = names.operation(record, _ALLOCATIONS).lower()
    operation = operation.removeprefix("memory_allocation_").replace("allocate", "alloc")
    release = operation.endswith("free")
    return (
        row,
        operation,
        None if release else agent(record.get("agent_id"), names),
        _address(record.get("address")),
        None if release else _number(record.get("allocation_size")),
        _number(record.get("thread_id")),
        _correlation(record),
        *_times(record),
    )


def _scratch(row: int, record: Record, names: Names) -> Row:
    return (
        row,
        names.operation(record, _SCRATCH).lower().removeprefix("scratch_memory_"),
        agent(record.get("agent_id"), names),
        handle(record.get("queue_id")),
        _number(record.get("allocation_size")),
        _small(record.get("flags")),
        _number(record.get("thread_id")),
        *_times(record),
    )


def _address(value: Any) -> int | None:
    if isinstance(value, dict):
        value = value.get("handle", value.get("value"))
    if isinstance(value, str):
        try:
            value = int(value, 0)
        except ValueError:
            return None
    return _number(value)


def _call(row: int, record: Record, names: Names, key: str) -> Row:
    return (
        row,
        domain(names.kind(record, key)),
        names.operation(record),
        _number(record.get("thread_id")),
        _correlation(record),
        *_times(record),
        _arguments(record.get("args")),
    )


def domain(kind: str) -> str:
    """Name the interface of a kind of record: ``HIP_RUNTIME_API_EXT`` is ``hip``."""
    upper = kind.upper()
    if upper.startswith("HIP_RUNTIME"):
        return "hip"
    if upper.startswith("HIP_COMPILER"):
        return "hip_compiler"
    if upper.startswith("HSA_"):
        return "hsa"
    return upper.partition("_CORE_API")[0].partition("_API")[0].lower()


def _arguments(value: Any) -> str | None:
    if not isinstance(value, list) or not value:
        return None
    pairs = {
        str(each.get("name") or place): each.get("value")
        for place, each in enumerate(value)
        if isinstance(each, dict)
    }
    return json.dumps(pairs, ensure_ascii=False, separators=(",", ":")) if pairs else None


def _marker(row: int, record: Record, names: Names) -> Row:
    start, end = _times(record)
    kind = "mark" if start is not None and start == end else "range"
    if "CONTROL" in names.kind(record, ""):
        kind = "control"
    correlation = _correlation(record)
    text = names.messages.get(-1 if correlation is None else correlation)
    return (
        row,
        kind,
        names.operation(record) if text is None else text,
        _number(record.get("thread_id")),
        correlation,
        start,
        end,
    )


def _sample(row: int, outer: Record, names: Names, method: str) -> Row:
    record = outer["record"]
    place = outer.get("inst_index")
    known = isinstance(place, int) and 0 <= place < len(names.instructions)
    comment = isinstance(place, int) and 0 <= place < len(names.comments)
    issued = record.get("wave_issued")
    snapshot = record.get("snapshot")
    reason = snapshot.get("stall_reason") if isinstance(snapshot, dict) else None
    return (
        row,
        method,
        _number(record.get("timestamp")),
        _number(record.get("dispatch_id")),
        _correlation(record),
        _number(record.get("exec_mask")),
        (names.instructions[place] or None) if known and place is not None else None,
        (names.comments[place] or None) if comment and place is not None else None,
        bool(issued) if issued is not None else None,
        _word(record.get("inst_type"), "TYPE_"),
        None if issued else _word(reason, "NOT_ISSUED_REASON_"),
        _small(record.get("wave_cnt", record.get("wave_count"))),
    )


def _word(value: Any, prefix: str) -> str | None:
    if not isinstance(value, str):
        return None
    return value.removeprefix(_SAMPLING + prefix).lower()


def _kfd(row: int, record: Record, names: Names, key: str) -> Row:
    kind = names.kind(record, key).upper().removeprefix("KFD_").removeprefix("EVENT_").lower()
    kind = {"unmap_from_gpu": "unmap", "dropped_events": "dropped"}.get(kind, kind)
    known = ("size", "kind", "operation", "start_timestamp", "end_timestamp", "timestamp")
    start, end = _times(record)
    if start is None:
        start = end = _number(record.get("timestamp"))
    first, last = _address(record.get("start_address")), _address(record.get("end_address"))
    length = last - first if first is not None and last is not None and last >= first else None
    rest = {name: value for name, value in record.items() if name not in known}
    return (
        row,
        kind,
        names.operation(record),
        agent(record.get("agent_id"), names),
        agent(record.get("src_agent", record.get("from_agent")), names),
        agent(record.get("dst_agent", record.get("to_agent")), names),
        first if first is not None else _address(record.get("address")),
        length,
        start,
        end,
        json.dumps(rest, separators=(",", ":")) if rest else None,
    )


_SPAN: dict[str, Any] = {"start_ns": _I, "end_ns": _I}
_WHO: dict[str, Any] = {"thread_id": _U, "correlation_id": _U}


@dataclass(frozen=True)
class Kind:
    """One kind of record: its table, the columns of its tuples, and how one is made."""

    table: str
    schema: dict[str, Any]
    build: Callable[[int, Record, Names], Row]


def kind_of(key: str) -> Kind | None:
    """Say how the records under a key of ``buffer_records`` are read; None when they are not.

    Parameters
    ----------
    key
        Such as ``hip_api``.
    """
    simple = _SIMPLE.get(key)
    if simple is not None:
        return simple
    if key.startswith("pc_sample_"):
        method = key.removeprefix("pc_sample_")
        return Kind("pc_samples", _SAMPLE_SCHEMA, lambda n, r, s: _sample(n, r, s, method))
    if key.startswith("kfd_"):
        return Kind("kfd_events", _KFD_SCHEMA, lambda n, r, s: _kfd(n, r, s, key))
    if key.endswith("_api") or key == "ompt":
        return Kind("api_calls", _CALL_SCHEMA, lambda n, r, s: _call(n, r, s, key))
    return None


_CALL_SCHEMA = {"row": _U, "domain": _S, "name": _S, **_WHO, **_SPAN, "args": _S}
_SAMPLE_SCHEMA: dict[str, Any] = {
    "row": _U,
    "method": _S,
    "timestamp_ns": _I,
    "dispatch_id": _U,
    "correlation_id": _U,
    "exec_mask": _U,
    "instruction": _S,
    "source": _S,
    "issued": pl.Boolean,
    "instruction_type": _S,
    "stall_reason": _S,
    "wave_count": _U,
}
_KFD_SCHEMA: dict[str, Any] = {
    "row": _U,
    "kind": _S,
    "operation": _S,
    "agent_id": _U,
    "src_agent_id": _U,
    "dst_agent_id": _U,
    "address": _U,
    "bytes": _U,
    **_SPAN,
    "args": _S,
}
_PLACES = {"src_address": _U, "dst_address": _U, "stream_id": _U}
_SIMPLE = {
    "kernel_dispatch": Kind("all_dispatches", DISPATCH_SCHEMA, dispatch),
    "memory_copy": Kind(
        "copies",
        {
            "row": _U,
            "direction": _S,
            "src_agent_id": _U,
            "dst_agent_id": _U,
            "bytes": _U,
            **_PLACES,
            **_WHO,
            **_SPAN,
        },
        _copy,
    ),
    "memory_allocation": Kind(
        "allocations",
        {
            "row": _U,
            "operation": _S,
            "agent_id": _U,
            "address": _U,
            "bytes": _U,
            **_WHO,
            **_SPAN,
        },
        _allocation,
    ),
    "scratch_memory": Kind(
        "scratch_events",
        {
            "row": _U,
            "operation": _S,
            "agent_id": _U,
            "queue_id": _U,
            "bytes": _U,
            "flags": _U,
            "thread_id": _U,
            **_SPAN,
        },
        _scratch,
    ),
    "marker_api": Kind("markers", {"row": _U, "kind": _S, "message": _S, **_WHO, **_SPAN}, _marker),
}
