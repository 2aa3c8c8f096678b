"""Records of rocprofv3's JSON, one at a time, into tuples of a table's columns."""

from __future__ import annotations

import json
from typing import Any

import polars as pl

from rocperf.ingest.rocprofv3_json.names import (
    Names,
    Record,
    Row,
    address,
    agent,
    correlation,
    handle,
    listing,
    mapping,
    number,
    small,
    times,
)

_U, _I, _S = pl.UInt64, pl.Int64, pl.String

# Operation numbers of rocprofiler-sdk, for files that do not name them.
_DIRECTIONS = ("none", "host_to_host", "host_to_device", "device_to_host", "device_to_device")
_ALLOCATIONS = ("none", "allocate", "vmem_allocate", "free", "vmem_free")
_SCRATCH = ("none", "alloc", "free", "async_reclaim")


def _sizes(value: Any) -> Row:
    stated = mapping(value)
    return small(stated.get("x")), small(stated.get("y")), small(stated.get("z"))


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
    kernel_id = number(info.get("kernel_id"))
    kernel = names.kernels.get(-1 if kernel_id is None else kernel_id)
    if kernel is None:
        kernel = (f"kernel {kernel_id} without a symbol", None, None, None, None)
    grid, group = _sizes(info.get("grid_size")), _sizes(info.get("workgroup_size"))
    return (
        row,
        number(info["dispatch_id"]),
        *kernel,
        agent(info.get("agent_id"), names),
        handle(info.get("queue_id")),
        handle(around.get("stream_id")),
        number(around.get("thread_id")),
        correlation(record),
        *times(record),
        *grid,
        _product(grid),
        *group,
        _product(group),
        small(info.get("group_segment_size")),
        small(info.get("private_segment_size")),
    )


def symbol(record: Record) -> tuple[int, Row] | None:
    """Read a kernel symbol: its id; name, static LDS, VGPRs, AGPRs and SGPRs."""
    kernel_id = number(record.get("kernel_id"))
    if kernel_id is None:
        return None
    name = next(
        (
            str(record[key])
            for key in ("formatted_kernel_name", "demangled_kernel_name", "kernel_name")
            if record.get(key)
        ),
        f"kernel {kernel_id} without a name",
    )
    resources = ("group_segment_size", "arch_vgpr_count", "accum_vgpr_count", "sgpr_count")
    return kernel_id, (name, *(small(record.get(key)) for key in resources))


def copy(row: int, record: Record, names: Names) -> Row:
    """Turn a copy into a row of ``copies``."""
    direction = names.operation(record, _DIRECTIONS).lower().removeprefix("memory_copy_")
    return (
        row,
        direction,
        agent(record.get("src_agent_id"), names),
        agent(record.get("dst_agent_id"), names),
        number(record.get("bytes")),
        address(record.get("src_address")),
        address(record.get("dst_address")),
        handle(record.get("stream_id")),
        number(record.get("thread_id")),
        correlation(record),
        *times(record),
    )


def allocation(row: int, record: Record, names: Names) -> Row:
    """Turn an allocation or a release into a row of ``allocations``."""
    operation = names.operation(record, _ALLOCATIONS).lower()
    operation = operation.removeprefix("memory_allocation_").replace("allocate", "alloc")
    release = operation.endswith("free")
    return (
        row,
        operation,
        None if release else agent(record.get("agent_id"), names),
        address(record.get("address")),
        None if release else number(record.get("allocation_size")),
        number(record.get("thread_id")),
        correlation(record),
        *times(record),
    )


def scratch(row: int, record: Record, names: Names) -> Row:
    """Turn a change of scratch memory into a row of ``scratch_events``."""
    return (
        row,
        names.operation(record, _SCRATCH).lower().removeprefix("scratch_memory_"),
        agent(record.get("agent_id"), names),
        handle(record.get("queue_id")),
        number(record.get("allocation_size")),
        small(record.get("flags")),
        number(record.get("thread_id")),
        *times(record),
    )


def call(row: int, record: Record, names: Names, key: str) -> Row:
    """Turn a call into a row of ``api_calls``; the key names its interface at need."""
    return (
        row,
        domain(names.kind(record, key)),
        names.operation(record),
        number(record.get("thread_id")),
        correlation(record),
        *times(record),
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
    pairs = {
        str(each.get("name") or place): each.get("value")
        for place, each in enumerate(map(mapping, listing(value)))
    }
    return json.dumps(pairs, ensure_ascii=False, separators=(",", ":")) if pairs else None


def marker(row: int, record: Record, names: Names) -> Row:
    """Turn a roctx record into a row of ``markers``."""
    start, end = times(record)
    kind = "mark" if start is not None and start == end else "range"
    if "CONTROL" in names.kind(record, ""):
        kind = "control"
    cause = correlation(record)
    text = names.messages.get(-1 if cause is None else cause)
    return (
        row,
        kind,
        names.operation(record) if text is None else text,
        number(record.get("thread_id")),
        cause,
        start,
        end,
    )
