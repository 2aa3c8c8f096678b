"""Kinds of records: which table they go to and how; samples and driver events themselves."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl

from rocperf.ingest.rocprofv3_json.names import (
    Names,
    Record,
    Row,
    address,
    agent,
    correlation,
    mapping,
    number,
    small,
    times,
)
from rocperf.ingest.rocprofv3_json.records import (
    DISPATCH_SCHEMA,
    allocation,
    call,
    copy,
    dispatch,
    marker,
    scratch,
)

_U, _I, _S = pl.UInt64, pl.Int64, pl.String
_SAMPLING = "ROCPROFILER_PC_SAMPLING_INSTRUCTION_"


def sample(row: int, outer: Record, names: Names, method: str) -> Row:
    """Turn a sample into a row of ``pc_samples``."""
    record = outer["record"]
    place = outer.get("inst_index")
    known = isinstance(place, int) and 0 <= place < len(names.instructions)
    comment = isinstance(place, int) and 0 <= place < len(names.comments)
    issued = record.get("wave_issued")
    reason = mapping(record.get("snapshot")).get("stall_reason")
    return (
        row,
        method,
        number(record.get("timestamp")),
        number(record.get("dispatch_id")),
        correlation(record),
        number(record.get("exec_mask")),
        (names.instructions[place] or None) if known and place is not None else None,
        (names.comments[place] or None) if comment and place is not None else None,
        bool(issued) if issued is not None else None,
        _word(record.get("inst_type"), "TYPE_"),
        None if issued else _word(reason, "NOT_ISSUED_REASON_"),
        small(record.get("wave_cnt", record.get("wave_count"))),
    )


def _word(value: Any, prefix: str) -> str | None:
    if not isinstance(value, str):
        return None
    return value.removeprefix(_SAMPLING + prefix).lower()


def kfd(row: int, record: Record, names: Names, key: str) -> Row:
    """Turn an event of the kernel driver into a row of ``kfd_events``."""
    kind = names.kind(record, key).upper().removeprefix("KFD_").removeprefix("EVENT_").lower()
    kind = {"unmap_from_gpu": "unmap", "dropped_events": "dropped"}.get(kind, kind)
    known = ("size", "kind", "operation", "start_timestamp", "end_timestamp", "timestamp")
    start, end = times(record)
    if start is None:
        start = end = number(record.get("timestamp"))
    first, last = address(record.get("start_address")), address(record.get("end_address"))
    length = last - first if first is not None and last is not None and last >= first else None
    rest = {name: value for name, value in record.items() if name not in known}
    return (
        row,
        kind,
        names.operation(record),
        agent(record.get("agent_id"), names),
        agent(record.get("src_agent", record.get("from_agent")), names),
        agent(record.get("dst_agent", record.get("to_agent")), names),
        first if first is not None else address(record.get("address")),
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
        return Kind("pc_samples", _SAMPLE_SCHEMA, lambda n, r, s: sample(n, r, s, method))
    if key.startswith("kfd_"):
        return Kind("kfd_events", _KFD_SCHEMA, lambda n, r, s: kfd(n, r, s, key))
    if key.endswith("_api") or key == "ompt":
        return Kind("api_calls", _CALL_SCHEMA, lambda n, r, s: call(n, r, s, key))
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
        copy,
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
        allocation,
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
        scratch,
    ),
    "marker_api": Kind("markers", {"row": _U, "kind": _S, "message": _S, **_WHO, **_SPAN}, marker),
}
