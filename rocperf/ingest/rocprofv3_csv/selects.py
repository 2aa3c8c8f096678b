"""Per kind of file, the query that turns its columns into those of a profile's table.

Each is written over a relation ``f`` with the file's own columns and ``row``. Only columns that
the file has are named; what a generation lacks is not made up.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

Expressions = dict[str, str]

#: What has no name is kept under this one.
UNNAMED = "(unnamed)"

#: By kind: columns without which a row means nothing.
ESSENTIAL = {
    "kernel_trace": ("Dispatch_Id",),
    "counter_collection": ("Dispatch_Id", "Counter_Name"),
    "memory_allocation_trace": ("Operation",),
    "scratch_memory_trace": ("Operation",),
}


def agent(column: str, nodes: Mapping[str, int]) -> str:
    """Read ``4``, ``"Agent 4"`` and ``"GPU 0"`` as a node number.

    Parameters
    ----------
    column
        The column.
    nodes
        Node of each label, for labels that do not already state it.
    """
    plain = f"TRY_CAST(ltrim(f.\"{column}\", 'AgentGPUC ') AS UBIGINT)"
    if not nodes:
        return plain
    cases = " ".join(f"WHEN '{label}' THEN {node}" for label, node in nodes.items())
    return f'CASE f."{column}" {cases} ELSE {plain} END'


def _times(has: Collection[str], rounded: bool) -> Expressions:
    if "Start_Timestamp" not in has or "End_Timestamp" not in has or rounded:
        return {}
    start, end = 'f."Start_Timestamp"', 'f."End_Timestamp"'
    usable = f"{start} > 0 AND {end} >= {start}"
    return {
        "start_ns": f"CASE WHEN {usable} THEN {start} END",
        "end_ns": f"CASE WHEN {usable} THEN {end} END",
    }


def _plain(has: Collection[str], columns: Mapping[str, str]) -> Expressions:
    return {ours: f'f."{theirs}"' for ours, theirs in columns.items() if theirs in has}


_IDS = {
    "queue_id": "Queue_Id",
    "stream_id": "Stream_Id",
    "thread_id": "Thread_Id",
    "correlation_id": "Correlation_Id",
}
_RESOURCES = {"vgpr": "VGPR_Count", "agpr": "Accum_VGPR_Count", "sgpr": "SGPR_Count"}


def _dispatch(has: Collection[str], nodes: Mapping[str, int], rounded: bool) -> Expressions:
    found = {
        "kernel": f"coalesce(f.\"Kernel_Name\", '{UNNAMED}')",
        "dispatch_id": 'f."Dispatch_Id"' if "Dispatch_Id" in has else "f.row",
        "agent_id": agent("Agent_Id", nodes),
        **_plain(has, _IDS),
        **_plain(has, _RESOURCES),
        **_times(has, rounded),
        "row": "f.row",
    }
    scratch = next((c for c in ("Scratch_Size", "Private_Segment_Size") if c in has), None)
    if scratch:
        found["scratch_bytes"] = f'f."{scratch}"'
    # Since 7.0 it is what the code object declares; dynamic LDS is in no CSV.
    if "LDS_Block_Size" in has:
        found["static_lds_bytes"] = 'f."LDS_Block_Size"'
    elif "Group_Segment_Size" in has:
        found["lds_bytes"] = 'f."Group_Segment_Size"'
    return found


def kernels(has: Collection[str], nodes: Mapping[str, int], rounded: bool) -> Expressions:
    """Columns of ``all_dispatches`` of a kernel trace."""
    found = _dispatch(has, nodes, rounded)
    for axis in "XYZ":
        for ours, theirs in (("grid", "Grid_Size"), ("workgroup", "Workgroup_Size")):
            if f"{theirs}_{axis}" in has:
                found[f"{ours}_{axis.lower()}"] = f'f."{theirs}_{axis}"'
    if {f"{name}_Size_{axis}" for name in ("Grid", "Workgroup") for axis in "XYZ"} <= set(has):
        grid = " * ".join(f'f."Grid_Size_{axis}"' for axis in "XYZ")
        group = " * ".join(f'f."Workgroup_Size_{axis}"' for axis in "XYZ")
        found["grid_size"] = f"nullif({grid}, 0)"
        found["workgroup_size"] = f"nullif({group}, 0)"
    return found


def counted(has: Collection[str], nodes: Mapping[str, int], rounded: bool) -> Expressions:
    """Columns of ``all_dispatches`` of a counter file; one row a dispatch is to be chosen."""
    found = _dispatch(has, nodes, rounded)
    if "Grid_Size" in has:
        found["grid_size"] = 'nullif(f."Grid_Size", 0)'
    if "Workgroup_Size" in has:
        found["workgroup_size"] = 'nullif(f."Workgroup_Size", 0)'
    return found


def api_calls(has: Collection[str], nodes: Mapping[str, int], rounded: bool) -> Expressions:
    """Columns of ``api_calls``; rows of markers keep their domain and are moved later."""
    del nodes
    domain = 'f."Domain"'
    return {
        "domain": f"CASE WHEN starts_with({domain}, 'HIP_RUNTIME') THEN 'hip'"
        f" WHEN starts_with({domain}, 'HIP_COMPILER') THEN 'hip_compiler'"
        f" WHEN starts_with({domain}, 'HSA_') THEN 'hsa'"
        f" WHEN starts_with({domain}, 'MARKER_') THEN {domain}"
        f" ELSE lower(regexp_replace({domain}, '_(CORE_)?API.*$', '')) END",
        "name": f"coalesce(f.\"Function\", '{UNNAMED}')",
        **_plain(has, {k: _IDS[k] for k in ("thread_id", "correlation_id")}),
        **_times(has, rounded),
        "row": "f.row",
    }


def copies(has: Collection[str], nodes: Mapping[str, int], rounded: bool) -> Expressions:
    """Columns of ``copies``; no CSV tells how many bytes were copied."""
    return {
        "direction": "lower(regexp_replace(f.\"Direction\", '^MEMORY_COPY_', ''))",
        "src_agent_id": agent("Source_Agent_Id", nodes),
        "dst_agent_id": agent("Destination_Agent_Id", nodes),
        **_plain(has, {k: _IDS[k] for k in ("thread_id", "correlation_id", "stream_id")}),
        **_times(has, rounded),
        "row": "f.row",
    }


def allocations(has: Collection[str], nodes: Mapping[str, int], rounded: bool) -> Expressions:
    """Columns of ``allocations``; a release has neither agent nor size."""
    address = next((c for c in ("Address", "Starting_Address") if c in has), None)
    operation = "lower(regexp_replace(f.\"Operation\", '^MEMORY_ALLOCATION_', ''))"
    found = {
        "operation": f"replace({operation}, 'allocate', 'alloc')",
        "agent_id": agent("Agent_Id", nodes),
        "bytes": f"CASE WHEN NOT ends_with({operation}, 'free') THEN f.\"Allocation_Size\" END",
        **_plain(has, {k: _IDS[k] for k in ("thread_id", "correlation_id")}),
        **_times(has, rounded),
        "row": "f.row",
    }
    if address:
        found["address"] = f'TRY_CAST(f."{address}" AS UBIGINT)'
    return found


def scratch(has: Collection[str], nodes: Mapping[str, int], rounded: bool) -> Expressions:
    """Columns of ``scratch_events``; only 7.1 and later tell the size."""
    flags = next(c for c in ("Alloc_Flags", "Alloc_flags") if c in has)
    return {
        "operation": "lower(regexp_replace(f.\"Operation\", '^SCRATCH_MEMORY_', ''))",
        "agent_id": agent("Agent_Id", nodes),
        "flags": f'TRY_CAST(f."{flags}" AS UINTEGER)',
        **_plain(has, {"queue_id": "Queue_Id", "thread_id": "Thread_Id"}),
        **_plain(has, {"bytes": "Allocation_Size"}),
        **_times(has, rounded),
        "row": "f.row",
    }


def samples(has: Collection[str], nodes: Mapping[str, int], rounded: bool) -> Expressions:
    """Columns of ``pc_samples``, of either method."""
    del nodes
    found = {
        "method": "'stochastic'" if "Stall_Reason" in has else "'host_trap'",
        **_plain(
            has,
            {
                "dispatch_id": "Dispatch_Id",
                "correlation_id": "Correlation_Id",
                "exec_mask": "Exec_Mask",
                "wave_count": "Wave_Count",
            },
        ),
        "instruction": "nullif(f.\"Instruction\", '')",
        "row": "f.row",
    }
    if not rounded:
        found["timestamp_ns"] = 'f."Sample_Timestamp"'
    if "Instruction_Comment" in has:
        found["source"] = "nullif(f.\"Instruction_Comment\", '')"
    if "Stall_Reason" in has:
        prefix = "^ROCPROFILER_PC_SAMPLING_INSTRUCTION_"
        issued = 'f."Wave_Issued_Instruction" = 1'
        found["issued"] = issued
        found["instruction_type"] = (
            f"lower(regexp_replace(f.\"Instruction_Type\", '{prefix}TYPE_', ''))"
        )
        # The reason of a wave that did issue is left over from before.
        found["stall_reason"] = (
            f"CASE WHEN NOT ({issued}) THEN"
            f" lower(regexp_replace(f.\"Stall_Reason\", '{prefix}NOT_ISSUED_REASON_', '')) END"
        )
    return found


#: Table and expressions by kind, for kinds whose rows go to one table.
SIMPLE: dict[str, tuple[str, Callable[[Collection[str], Mapping[str, int], bool], Expressions]]] = {
    "kernel_trace": ("all_dispatches", kernels),
    "memory_copy_trace": ("copies", copies),
    "memory_allocation_trace": ("allocations", allocations),
    "scratch_memory_trace": ("scratch_events", scratch),
    "pc_sampling_stochastic": ("pc_samples", samples),
    "pc_sampling_host_trap": ("pc_samples", samples),
    "api_trace": ("api_calls", api_calls),
    "marker_api_trace": ("api_calls", api_calls),
}


def select(expressions: Expressions, relation: str) -> str:
    """Write the query."""
    columns = ", ".join(f'{sql} AS "{name}"' for name, sql in expressions.items())
    return f"SELECT {columns} FROM {relation} f"
