"""Columns of rocprofv3's files: which kind, which generation, which types.

Everything goes by the names of columns, never by their places: they moved between versions.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path

_U64 = (
    "Correlation_Id",
    "Dispatch_Id",
    "Queue_Id",
    "Stream_Id",
    "Process_Id",
    "Pid",
    "Thread_Id",
    "Kernel_Id",
    "Grid_Size",
    "Grid_Size_X",
    "Grid_Size_Y",
    "Grid_Size_Z",
    "Workgroup_Size",
    "Workgroup_Size_X",
    "Workgroup_Size_Y",
    "Workgroup_Size_Z",
    "LDS_Block_Size",
    "Group_Segment_Size",
    "Private_Segment_Size",
    "Scratch_Size",
    "VGPR_Count",
    "Accum_VGPR_Count",
    "SGPR_Count",
    "Allocation_Size",
    "Exec_Mask",
    "Wave_Issued_Instruction",
    "Wave_Count",
)
_I64 = ("Start_Timestamp", "End_Timestamp", "Sample_Timestamp")

#: SQL type by column; a column that is not here is text.
TYPES = {
    **dict.fromkeys(_U64, "UBIGINT"),
    **dict.fromkeys(_I64, "BIGINT"),
    "Counter_Value": "DOUBLE",
}

#: Columns of times: a spreadsheet may have rounded them.
TIMES = frozenset(_I64)

#: The column of free text that may hold quotes, by kind.
FREE_TEXT = ("Kernel_Name", "Function", "Instruction_Comment", "Instruction")

# A kind is known by columns that no other kind has together; the first that fits is it.
_KINDS: tuple[tuple[str, frozenset[str]], ...] = (
    ("agent_info", frozenset({"Node_Id", "Logical_Node_Id", "Agent_Type"})),
    ("counter_collection", frozenset({"Counter_Name", "Counter_Value", "Dispatch_Id"})),
    ("kernel_trace", frozenset({"Kernel_Name", "Kind", "Queue_Id", "Start_Timestamp"})),
    ("memory_copy_trace", frozenset({"Direction", "Source_Agent_Id", "Start_Timestamp"})),
    ("memory_allocation_trace", frozenset({"Operation", "Allocation_Size", "Address"})),
    ("memory_allocation_trace", frozenset({"Operation", "Allocation_Size", "Starting_Address"})),
    ("scratch_memory_trace", frozenset({"Operation", "Queue_Id", "Alloc_Flags"})),
    ("scratch_memory_trace", frozenset({"Operation", "Queue_Id", "Alloc_flags"})),
    ("pc_sampling_stochastic", frozenset({"Sample_Timestamp", "Exec_Mask", "Stall_Reason"})),
    ("pc_sampling_host_trap", frozenset({"Sample_Timestamp", "Exec_Mask"})),
    ("api_trace", frozenset({"Domain", "Function", "Correlation_Id", "Start_Timestamp"})),
)
_STATS = ("Name", "Calls", "TotalDurationNs", "AverageNs", "Percentage", "MinNs", "MaxNs")

#: Columns without which a file of that kind means nothing.
NEEDED = {
    "agent_info": ("Node_Id", "Agent_Type"),
    "counter_collection": ("Agent_Id", "Kernel_Name", "Counter_Name", "Counter_Value"),
    "kernel_trace": ("Agent_Id", "Kernel_Name", "Start_Timestamp", "End_Timestamp"),
    "memory_copy_trace": ("Destination_Agent_Id", "Start_Timestamp", "End_Timestamp"),
    "memory_allocation_trace": ("Agent_Id", "Start_Timestamp", "End_Timestamp"),
    "scratch_memory_trace": ("Agent_Id", "Start_Timestamp", "End_Timestamp"),
    "pc_sampling_stochastic": ("Dispatch_Id", "Instruction"),
    "pc_sampling_host_trap": ("Dispatch_Id", "Instruction"),
    "api_trace": ("Thread_Id", "End_Timestamp"),
}

_NAMES = re.compile(
    r"(?:(?P<stem>.+?)_)?(?P<kind>kernel_trace|counter_collection|agent_info|kernel_stats"
    r"|domain_stats|memory_copy_trace|memory_copy_stats|memory_allocation_trace"
    r"|memory_allocation_stats|scratch_memory_trace|scratch_memory_stats"
    r"|(?:hip|hsa|rccl|marker|rocdecode|rocjpeg|ompt|rocshmem|hipfile)_(?:[a-z]+_)*(?:trace|stats)"
    r"|hip_domain_stats|pc_sampling_host_trap|pc_sampling_stochastic)\.csv"
)


def header_of(head: bytes) -> tuple[str, ...]:
    """Split the first line of a file into names; a byte order mark is not part of the first."""
    line = head.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0]
    text = line.decode("utf-8", "replace").strip("\r")
    try:
        row = next(csv.reader(io.StringIO(text)), list[str]())
    except csv.Error:
        return ()
    return tuple(name.strip() for name in row)


def kind_of(header: Sequence[str], head: bytes) -> str | None:
    """Tell the kind of a file by its header, and of an API trace by its first domain."""
    if tuple(header[: len(_STATS)]) == _STATS:
        return "stats"
    names = set(header)
    kind = next((kind for kind, columns in _KINDS if columns <= names), None)
    if (
        kind == "api_trace"
        and b"MARKER_" in head
        and not re.search(rb"\b(?:HIP|HSA|RCCL|ROCDECODE|ROCJPEG)_", head)
    ):
        return "marker_api_trace"
    return kind


def generation(header: Sequence[str]) -> str | None:
    """Tell the oldest version of rocprofv3 that wrote such a header, where it can be told."""
    names = set(header)
    if "Guid" in names or "Pid" in names:
        return "rocpd-convert"
    if {"Kernel_Name", "Grid_Size_X"} <= names:
        if "LDS_Block_Size" in names:
            return "7.0"
        return "6.3" if "Dispatch_Id" in names else "6.2"
    if "Counter_Name" in names:
        if "Accum_VGPR_Count" in names:
            return "6.4"
        return "6.3" if "Start_Timestamp" in names else "6.2"
    if "Direction" in names:
        return "7.0" if "Stream_Id" in names else "6.2"
    return None


def name_parts(path: Path) -> tuple[str, str | None]:
    """Split a file's name into what its run is called and the kind it claims.

    Returns
    -------
    tuple
        ``("4242", "kernel_trace")`` for ``4242_kernel_trace.csv``; the stem is empty without a
        prefix, and the whole name when it is none of rocprofv3's.
    """
    name = path.name.removesuffix(".gz")
    found = _NAMES.fullmatch(name)
    if found is None:
        return Path(name).stem, None
    return found["stem"] or "", found["kind"]
