"""Every generation of rocprofv3's headers is read to the right columns, whatever their order.

Each value of a row is a number of its own, so that a column that slips into another's place is
seen. What a generation does not tell stays NULL.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import rocperf
from rocperf.ingest.load import ingest
from rocperf.ingest.rocprofv3_csv.headers import generation, header_of, kind_of

#: One value for each column that has ever been in a file, as the file writes it.
CELLS: dict[str, str] = {
    "Guid": '"0197"', "Pid": "42", "Process_Id": "42", "Kind": '"KIND"', "Agent_Id": "4",
    "Queue_Id": "11", "Stream_Id": "12", "Thread_Id": "13", "Dispatch_Id": "14",
    "Kernel_Id": "15", "Kernel_Name": '"k(int, float)"', "Correlation_Id": "16",
    "Start_Timestamp": "1017", "End_Timestamp": "2018", "Private_Segment_Size": "19",
    "Group_Segment_Size": "1024", "LDS_Block_Size": "512", "Scratch_Size": "21",
    "VGPR_Count": "22", "Accum_VGPR_Count": "23", "SGPR_Count": "24", "Workgroup_Size_X": "32",
    "Workgroup_Size_Y": "2", "Workgroup_Size_Z": "1", "Grid_Size_X": "320", "Grid_Size_Y": "6",
    "Grid_Size_Z": "5", "Grid_Size": "9600", "Workgroup_Size": "64",
    "Counter_Name": '"SQ_WAVES"', "Counter_Value": "150.000000", "Domain": '"HIP_RUNTIME_API"',
    "Function": '"hipLaunchKernel"', "Direction": '"MEMORY_COPY_HOST_TO_DEVICE"',
    "Source_Agent_Id": "1", "Destination_Agent_Id": "4",
    "Operation": '"MEMORY_ALLOCATION_ALLOCATE"', "Allocation_Size": "4096",
    "Address": '"0x7f00"', "Starting_Address": '"0x7f00"', "Alloc_flags": "1",
    "Alloc_Flags": "1", "Sample_Timestamp": "1500", "Exec_Mask": "18446744073709551615",
    "Instruction": '"s_waitcnt vmcnt(0), lgkmcnt(0)"', "Instruction_Comment": '"a.hip:7"',
    "Wave_Issued_Instruction": "0",
    "Instruction_Type": '"ROCPROFILER_PC_SAMPLING_INSTRUCTION_TYPE_VALU"',
    "Stall_Reason": '"ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_WAITCNT"',
    "Wave_Count": "3", "Duration": "1001",
}  # fmt: skip

_SIZES = "Workgroup_Size_X Workgroup_Size_Y Workgroup_Size_Z Grid_Size_X Grid_Size_Y Grid_Size_Z"
_K62 = (
    "Kind Agent_Id Queue_Id {}Kernel_Id Kernel_Name Correlation_Id Start_Timestamp End_Timestamp"
    f" Private_Segment_Size Group_Segment_Size {_SIZES}"
)
_K70 = (
    "Kind Agent_Id Queue_Id Stream_Id Thread_Id Dispatch_Id Kernel_Id Kernel_Name Correlation_Id"
    f" Start_Timestamp End_Timestamp LDS_Block_Size Scratch_Size VGPR_Count Accum_VGPR_Count"
    f" SGPR_Count {_SIZES}"
)
_COUNTER = (
    "Correlation_Id Dispatch_Id Agent_Id Queue_Id Process_Id Thread_Id Grid_Size {}Kernel_Name"
    " Workgroup_Size LDS_Block_Size Scratch_Size VGPR_Count {}SGPR_Count Counter_Name"
    " Counter_Value{}"
)
_TIMES = " Start_Timestamp End_Timestamp"
_API = "Domain Function Process_Id Thread_Id Correlation_Id" + _TIMES
_COPY = "Kind Direction {}Source_Agent_Id Destination_Agent_Id Correlation_Id" + _TIMES
_ALLOC = "Kind Operation Agent_Id Allocation_Size {} Correlation_Id" + _TIMES
_SCRATCH = "Kind Operation Agent_Id Queue_Id Thread_Id {}" + _TIMES
_PC = "Sample_Timestamp Exec_Mask Dispatch_Id Instruction Instruction_Comment Correlation_Id"
_STALLS = " Wave_Issued_Instruction Instruction_Type Stall_Reason Wave_Count"

_TIMED = {"correlation_id": 16, "start_ns": 1017, "end_ns": 2018}
_LAUNCH = {
    "agent_id": 4, "queue_id": 11, "grid_x": 320, "grid_y": 6, "grid_z": 5, "workgroup_x": 32,
    "workgroup_y": 2, "workgroup_z": 1, "grid_size": 9600, "workgroup_size": 64, **_TIMED,
}  # fmt: skip
_OLD_KERNEL = {
    **_LAUNCH, "scratch_bytes": 19, "lds_bytes": 1024, "static_lds_bytes": None, "vgpr": None,
    "agpr": None, "sgpr": None,
}  # fmt: skip
_NEW_KERNEL = {
    **_LAUNCH, "dispatch_id": 14, "thread_id": 13, "stream_id": 12, "lds_bytes": None,
    "static_lds_bytes": 512, "scratch_bytes": 21, "vgpr": 22, "agpr": 23, "sgpr": 24,
}  # fmt: skip
_COUNTED = {
    "dispatch_id": 14, "agent_id": 4, "queue_id": 11, "thread_id": 13, "stream_id": None,
    "correlation_id": 16, "grid_size": 9600, "grid_x": None, "workgroup_size": 64,
    "static_lds_bytes": 512, "scratch_bytes": 21, "vgpr": 22, "sgpr": 24,
}  # fmt: skip
_CALL = {"domain": "hip", "name": "hipLaunchKernel", "thread_id": 13, **_TIMED}
_COPIED = {"direction": "host_to_device", "src_agent_id": 1, "dst_agent_id": 4, "bytes": None}
_ALLOCATED = {"operation": "alloc", "agent_id": 4, "bytes": 4096, "address": 0x7F00, **_TIMED}
_SCRATCHED = {
    "operation": "alloc", "agent_id": 4, "queue_id": 11, "thread_id": 13, "flags": 1,
    "start_ns": 1017, "end_ns": 2018,
}  # fmt: skip
_SAMPLED = {
    "timestamp_ns": 1500, "exec_mask": 2**64 - 1, "dispatch_id": 14, "correlation_id": 16,
    "instruction": "s_waitcnt vmcnt(0), lgkmcnt(0)", "source": "a.hip:7",
}  # fmt: skip

#: Name of the file, its columns, cells that differ, the table, and what must be in it.
Case = tuple[str, str, dict[str, str], str, dict[str, Any]]
GENERATIONS: dict[str, Case] = {
    "kernels of 6.2": (
        "kernel_trace", _K62.format(""), {}, "all_dispatches",
        {**_OLD_KERNEL, "thread_id": None, "stream_id": None},
    ),
    "kernels of 6.3 and 6.4": (
        "kernel_trace", _K62.format("Thread_Id Dispatch_Id "), {}, "all_dispatches",
        {**_OLD_KERNEL, "dispatch_id": 14, "thread_id": 13, "stream_id": None},
    ),
    "kernels of a build in 2025": (
        "kernel_trace", _K62.format("Stream_Id Thread_Id Dispatch_Id "),
        {"Agent_Id": '"Agent 4"'}, "all_dispatches",
        {**_OLD_KERNEL, "dispatch_id": 14, "thread_id": 13, "stream_id": 12},
    ),
    "kernels of 7.0": (
        "kernel_trace", _K70, {"Agent_Id": '"Agent 4"'}, "all_dispatches", _NEW_KERNEL,
    ),
    "kernels of 7.0 with an unknown column": (
        "kernel_trace", _K70.replace(" LDS", " Duration Future LDS"), {"Future": '"x"'},
        "all_dispatches", _NEW_KERNEL,
    ),
    "kernels converted from rocpd": (
        "kernel_trace", "Guid " + _K70, {"Agent_Id": '"Agent 4"'}, "all_dispatches", _NEW_KERNEL,
    ),
    "kernels converted later": (
        "kernel_trace",
        "Guid " + _K70.replace("End_Timestamp", "End_Timestamp Duration")
        + " Graph_Exec_Id Graph_Node_Id",
        {"Graph_Exec_Id": "0", "Graph_Node_Id": "0"}, "all_dispatches", _NEW_KERNEL,
    ),
    "counters of 6.2": (
        "counter_collection", _COUNTER.format("", "", ""), {"Counter_Value": "150"},
        "all_dispatches", {**_COUNTED, "agpr": None, "start_ns": None, "end_ns": None},
    ),
    "counters of a build in 2024": (
        "counter_collection", _COUNTER.format("Kernel_Id ", "", ""), {}, "all_dispatches",
        {**_COUNTED, "agpr": None, "start_ns": None, "end_ns": None},
    ),
    "counters of 6.3": (
        "counter_collection", _COUNTER.format("Kernel_Id ", "", _TIMES), {}, "all_dispatches",
        {**_COUNTED, "agpr": None, "start_ns": 1017, "end_ns": 2018},
    ),
    "counters of 6.4 and later": (
        "counter_collection", _COUNTER.format("Kernel_Id ", "Accum_VGPR_Count ", _TIMES),
        {"Agent_Id": '"Agent 4"'}, "all_dispatches",
        {**_COUNTED, "agpr": 23, "start_ns": 1017, "end_ns": 2018},
    ),
    "counters converted from rocpd": (
        "counter_collection",
        "Pid " + _COUNTER.format("Kernel_Id ", "Accum_VGPR_Count ", _TIMES).replace(
            "Process_Id ", ""
        ),
        {}, "all_dispatches", {**_COUNTED, "agpr": 23},
    ),
    "HIP calls until 6.4": ("hip_api_trace", _API, {}, "api_calls", _CALL),
    "HIP calls since 7.0": (
        "hip_api_trace", _API, {"Domain": '"HIP_RUNTIME_API_EXT"'}, "api_calls", _CALL,
    ),
    "HIP compiler calls": (
        "hip_api_trace", _API, {"Domain": '"HIP_COMPILER_API_EXT"'}, "api_calls",
        {**_CALL, "domain": "hip_compiler"},
    ),
    **{
        f"HSA calls of {domain}": (
            "hsa_api_trace", _API, {"Domain": f'"{domain}"'}, "api_calls",
            {**_CALL, "domain": "hsa"},
        )
        for domain in
        ("HSA_CORE_API", "HSA_AMD_EXT_API", "HSA_IMAGE_EXT_API", "HSA_FINALIZE_EXT_API")
    },
    **{
        f"calls of {domain}": (
            f"{ours}_api_trace", _API, {"Domain": f'"{domain}"'}, "api_calls",
            {**_CALL, "domain": ours},
        )
        for domain, ours in (
            ("RCCL_API", "rccl"), ("ROCDECODE_API", "rocdecode"),
            ("ROCDECODE_API_EXT", "rocdecode"), ("ROCJPEG_API", "rocjpeg"),
        )
    },
    **{
        f"ranges of {domain}": (
            "marker_api_trace", _API, {"Domain": f'"{domain}"', "Function": '"step, 1"'},
            "markers", {"kind": "range", "message": "step, 1", "thread_id": 13, **_TIMED},
        )
        for domain in ("MARKER_CORE_API", "MARKER_CORE_RANGE_API")
    },
    "marks": (
        "marker_api_trace", _API,
        {"Domain": '"MARKER_CORE_API"', "Function": '"here"', "End_Timestamp": "1017"},
        "markers", {"kind": "mark", "message": "here", "start_ns": 1017, "end_ns": 1017},
    ),
    "pauses": (
        "marker_api_trace", _API,
        {"Domain": '"MARKER_CONTROL_API"', "Function": '"roctxProfilerPause"'},
        "markers", {"kind": "control", "message": "roctxProfilerPause"},
    ),
    "copies until 6.2": (
        "memory_copy_trace", _COPY.format(""), {"Direction": '"HOST_TO_DEVICE"'}, "copies",
        {**_COPIED, "stream_id": None, **_TIMED},
    ),
    "copies of 6.4": (
        "memory_copy_trace", _COPY.format(""), {}, "copies",
        {**_COPIED, "stream_id": None, **_TIMED},
    ),
    "copies since 7.0": (
        "memory_copy_trace", _COPY.format("Stream_Id "),
        {"Source_Agent_Id": '"Agent 1"', "Destination_Agent_Id": '"Agent 4"'}, "copies",
        {**_COPIED, "stream_id": 12, **_TIMED},
    ),
    "allocations of a build in 2024": (
        "memory_allocation_trace", _ALLOC.format("Starting_Address"), {}, "allocations",
        _ALLOCATED,
    ),
    "allocations since 6.3": (
        "memory_allocation_trace", _ALLOC.format("Address"), {"Agent_Id": '"Agent 4"'},
        "allocations", _ALLOCATED,
    ),
    "a release": (
        "memory_allocation_trace", _ALLOC.format("Address"),
        {"Operation": '"MEMORY_ALLOCATION_VMEM_FREE"', "Agent_Id": '""', "Allocation_Size": "0"},
        "allocations",
        {"operation": "vmem_free", "agent_id": None, "bytes": None, "address": 0x7F00},
    ),
    "scratch of 6.2": (
        "scratch_memory_trace", _SCRATCH.format("Alloc_flags"),
        {"Operation": '"SCRATCH_MEMORY_ALLOC"'}, "scratch_events", {**_SCRATCHED, "bytes": None},
    ),
    "scratch of 6.4 and 7.0": (
        "scratch_memory_trace", _SCRATCH.format("Alloc_Flags"),
        {"Operation": '"SCRATCH_MEMORY_ALLOC"'}, "scratch_events", {**_SCRATCHED, "bytes": None},
    ),
    "scratch since 7.1": (
        "scratch_memory_trace", _SCRATCH.format("Alloc_Flags") + " Allocation_Size",
        {"Operation": '"SCRATCH_MEMORY_ALLOC"', "Agent_Id": '"Agent 4"'}, "scratch_events",
        {**_SCRATCHED, "bytes": 4096},
    ),
    "samples of the host's trap": (
        "pc_sampling_host_trap", _PC, {}, "pc_samples",
        {**_SAMPLED, "method": "host_trap", "issued": None, "stall_reason": None},
    ),
    "stochastic samples": (
        "pc_sampling_stochastic", _PC + _STALLS, {}, "pc_samples",
        {**_SAMPLED, "method": "stochastic", "issued": False, "instruction_type": "valu",
         "stall_reason": "waitcnt", "wave_count": 3},
    ),
    "a stochastic sample of a wave that issued": (
        "pc_sampling_stochastic", _PC + _STALLS, {"Wave_Issued_Instruction": "1"}, "pc_samples",
        {**_SAMPLED, "issued": True, "stall_reason": None},
    ),
}  # fmt: skip


def write(path: Path, columns: list[str], cells: dict[str, str]) -> Path:
    header = ",".join(f'"{name}"' for name in columns)
    path.write_text(f"{header}\n{','.join((CELLS | cells)[name] for name in columns)}\n")
    return path


SHUFFLED = ["kernels of 6.2", "kernels of 7.0", "counters of 6.4 and later", "copies since 7.0"]


@pytest.mark.parametrize(
    ("name", "shuffled"),
    [*((name, False) for name in GENERATIONS), *((name, True) for name in SHUFFLED)],
)
def test_a_row_goes_to_the_right_columns(name: str, shuffled: bool, tmp_path: Path) -> None:
    kind, header, cells, table, expected = GENERATIONS[name]
    columns = header.split()
    if shuffled:
        random.Random(name).shuffle(columns)
    file = write(tmp_path / f"42_{kind}.csv", columns, cells)
    with rocperf.open(ingest([file], tmp_path / "p.rocperf")) as opened:
        frame = opened.sql(f"SELECT * FROM {table}")
        assert frame.height == 1
        row = frame.row(0, named=True)
        assert {key: row[key] for key in expected} == expected
        assert row["row"] == 1
        if table == "all_dispatches":
            assert opened.sql("SELECT name FROM kernels").rows() == [("k(int, float)",)]
        if "Counter_Name" in columns:
            values = "SELECT dispatch_id, counter, value, reason FROM counter_values"
            assert opened.sql(values).rows() == [(14, "SQ_WAVES", 150.0, None)]
        assert opened.sql("SELECT pid FROM runs").rows() == [(42,)]
        assert opened.sql("SELECT rows, rejected FROM files").rows() == [(1, 0)]
        assert opened.sql("SELECT code FROM notes WHERE severity <> 'info'").rows() == []


def test_traced_and_counted_rows_of_6_2_meet_by_correlation(tmp_path: Path) -> None:
    """Kernel traces of 6.2 do not tell the id of a dispatch; counter files of the run do."""
    _, kernel, _, _, _ = GENERATIONS["kernels of 6.2"]
    _, counter, _, _, _ = GENERATIONS["counters of 6.2"]
    traced, counted = kernel.split(), counter.split()
    text = ",".join(traced) + "\n"
    # Rows are in the order in which buffers were flushed: the launches are 7, 8 and 9.
    for correlation, name in ((9, "c"), (7, "a"), (8, "b")):
        cells = CELLS | {"Correlation_Id": str(correlation), "Kernel_Name": f'"{name}"'}
        text += ",".join(cells[column] for column in traced) + "\n"
    (tmp_path / "42_kernel_trace.csv").write_text(text)
    text = ",".join(counted) + "\n"
    for dispatch, correlation, name in ((1, 7, "a"), (3, 9, "c")):
        cells = CELLS | {"Correlation_Id": str(correlation), "Kernel_Name": f'"{name}"'}
        cells |= {"Dispatch_Id": str(dispatch), "Counter_Value": str(dispatch)}
        text += ",".join(cells[column] for column in counted) + "\n"
    (tmp_path / "42_counter_collection.csv").write_text(text)
    with rocperf.open(ingest([tmp_path], tmp_path / "p.rocperf")) as opened:
        found = opened.sql(
            "SELECT name, value FROM all_dispatches d JOIN kernels USING (kernel_id)"
            " LEFT JOIN counter_values v USING (run_id, dispatch_id) ORDER BY name"
        )
        assert found.rows() == [("a", 1.0), ("b", None), ("c", 3.0)]
        unique = "SELECT count(DISTINCT dispatch_id) = 3 AS u FROM all_dispatches"
        assert opened.sql(unique).rows() == [(True,)]


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("kernels of 6.2", "6.2"),
        ("kernels of 6.3 and 6.4", "6.3"),
        ("kernels of 7.0", "7.0"),
        ("kernels converted from rocpd", "rocpd-convert"),
        ("counters of 6.2", "6.2"),
        ("counters of 6.3", "6.3"),
        ("counters of 6.4 and later", "6.4"),
        ("counters converted from rocpd", "rocpd-convert"),
        ("copies of 6.4", "6.2"),
        ("copies since 7.0", "7.0"),
        ("HIP calls since 7.0", None),
    ],
)
def test_a_generation_is_told_where_it_can_be(name: str, version: str | None) -> None:
    assert generation(GENERATIONS[name][1].split()) == version


@pytest.mark.parametrize("stem", ["kernel", "domain", "hip_api", "memory_copy", "marker_api"])
def test_totals_are_known_and_not_read(stem: str, tmp_path: Path) -> None:
    header = "Name Calls TotalDurationNs AverageNs Percentage MinNs MaxNs StdDev"
    line = ",".join(f'"{name}"' for name in header.split())
    (tmp_path / f"42_{stem}_stats.csv").write_text(f'{line}\n"k",1,5,5.0,100.00,5,5,0.0\n')
    _, columns, cells, _, _ = GENERATIONS["kernels of 7.0"]
    write(tmp_path / "42_kernel_trace.csv", columns.split(), cells)
    with rocperf.open(ingest([tmp_path], tmp_path / "p.rocperf")) as opened:
        status = "SELECT status, kind FROM files WHERE path LIKE '%_stats.csv'"
        assert opened.sql(status).rows() == [("ignored", "stats")]
        assert opened.sql("SELECT count(*) AS n FROM all_dispatches").rows() == [(1,)]


def test_quoted_cells_and_a_byte_order_mark_change_nothing(tmp_path: Path) -> None:
    _, header, _, _, expected = GENERATIONS["kernels of 7.0"]
    columns = header.split()
    cells = {name: '"' + CELLS[name].strip('"') + '"' for name in columns}
    file = write(tmp_path / "42_kernel_trace.csv", columns, cells | {"Agent_Id": '"Agent 4"'})
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    with rocperf.open(ingest([file], tmp_path / "p.rocperf")) as opened:
        row = opened.sql("SELECT * FROM all_dispatches").row(0, named=True)
        assert {key: row[key] for key in expected} == expected
    head = file.read_bytes()
    assert kind_of(header_of(head), head) == "kernel_trace"


AGENTS = (
    "Node_Id Logical_Node_Id Agent_Type Cpu_Cores_Count Simd_Count Cpu_Core_Id_Base Simd_Id_Base"
    " Max_Waves_Per_Simd Lds_Size_In_Kb Gds_Size_In_Kb Num_Gws Wave_Front_Size Num_Xcc Cu_Count"
    " Array_Count Num_Shader_Banks Simd_Arrays_Per_Engine Cu_Per_Simd_Array Simd_Per_Cu"
    " Max_Slots_Scratch_Cu Gfx_Target_Version Vendor_Id Device_Id Location_Id Domain"
    " Drm_Render_Minor Num_Sdma_Engines Num_Sdma_Xgmi_Engines Num_Sdma_Queues_Per_Engine"
    " Num_Cp_Queues Max_Engine_Clk_Ccompute Max_Engine_Clk_Fcompute Sdma_Fw_Version Fw_Version"
    " Capability Cu_Per_Engine Max_Waves_Per_Cu Family_Id Workgroup_Max_Size Grid_Max_Size"
    " Local_Mem_Size Hive_Id Gpu_Id Workgroup_Max_Dim_X Workgroup_Max_Dim_Y Workgroup_Max_Dim_Z"
    " Grid_Max_Dim_X Grid_Max_Dim_Y Grid_Max_Dim_Z Name Vendor_Name Product_Name Model_Name"
)
GPU = {
    "Node_Id": "6", "Logical_Node_Id": "1", "Agent_Type": '"GPU"', "Simd_Count": "1216",
    "Max_Waves_Per_Simd": "8", "Lds_Size_In_Kb": "64", "Wave_Front_Size": "64", "Num_Xcc": "8",
    "Cu_Count": "304", "Array_Count": "32", "Simd_Arrays_Per_Engine": "1", "Simd_Per_Cu": "4",
    "Gfx_Target_Version": "90402", "Location_Id": "1280", "Domain": "0",
    "Max_Engine_Clk_Fcompute": "2100", "Max_Waves_Per_Cu": "32",
    "Grid_Max_Size": "18446744073709551615", "Local_Mem_Size": "0",
    "Hive_Id": "12345678901234567890", "Name": '"gfx942"', "Product_Name": '"AMD Instinct"',
}  # fmt: skip


@pytest.mark.parametrize(
    ("label", "node"),
    [("6", 6), ('"Agent 1"', 6), ('"Agent 0"', 2), ('"GPU 0"', 6), ('"CPU 0"', 2)],
)
def test_labels_of_agents_are_their_nodes(label: str, node: int, tmp_path: Path) -> None:
    """A bare number is a node; ``Agent`` counts the visible ones, ``GPU`` those of a type."""
    columns = AGENTS.split()
    assert len(columns) == 53
    rows = [",".join(GPU.get(name, "0") for name in columns)]
    cpu = {"Node_Id": "2", "Logical_Node_Id": "0", "Agent_Type": '"CPU"', "Name": '"EPYC"'}
    rows.insert(0, ",".join(cpu.get(name, "0") for name in columns))
    header = ",".join(f'"{name}"' for name in columns)
    (tmp_path / "42_agent_info.csv").write_text("\n".join([header, *rows, ""]))
    _, kernel, _, _, _ = GENERATIONS["kernels of 7.0"]
    write(tmp_path / "42_kernel_trace.csv", kernel.split(), {"Agent_Id": label})
    with rocperf.open(ingest([tmp_path], tmp_path / "p.rocperf")) as opened:
        assert opened.sql("SELECT agent_id FROM all_dispatches").rows() == [(node,)]
        agent = opened.sql("SELECT * FROM agents WHERE kind = 'GPU'").row(0, named=True)
    expected = {
        "agent_id": 6, "logical_index": 1, "type_index": 0, "target": "gfx942", "cu_count": 304,
        "num_xcc": 8, "simd_count": 1216, "simd_per_cu": 4, "wave_size": 64,
        "max_waves_per_simd": 8, "max_waves_per_cu": 32, "lds_bytes_per_cu": 65536,
        "clock_mhz": 2100, "shader_engines": 32, "hive_id": 12345678901234567890,
        "location_id": 1280, "pci_domain": 0, "memory_bytes": None, "product": "AMD Instinct",
    }  # fmt: skip
    assert {key: agent[key] for key in expected} == expected


@pytest.mark.parametrize(
    ("version", "name", "target"),
    [
        ("90402", "gfx942", "gfx942"),
        ("90010", "", "gfx90a"),
        ("90500", "", "gfx950"),
        ("110501", "", "gfx1151"),
        ("120001", "AMD Radeon", "gfx1201"),
        ("0", "", None),
    ],
)
def test_a_target_is_the_name_or_follows_from_its_number(
    version: str, name: str, target: str | None, tmp_path: Path
) -> None:
    columns = AGENTS.split()
    cells = GPU | {"Gfx_Target_Version": version, "Name": f'"{name}"'}
    header = ",".join(f'"{column}"' for column in columns)
    text = ",".join(cells.get(column, "0") for column in columns)
    (tmp_path / "42_agent_info.csv").write_text(f"{header}\n{text}\n")
    _, kernel, _, _, _ = GENERATIONS["kernels of 7.0"]
    write(tmp_path / "42_kernel_trace.csv", kernel.split(), {"Agent_Id": "6"})
    with rocperf.open(ingest([tmp_path], tmp_path / "p.rocperf")) as opened:
        assert opened.sql("SELECT target FROM agents").rows() == [(target,)]
