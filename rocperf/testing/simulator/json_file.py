"""rocprofv3's JSON: one document a process, counters one entry for each instance."""

from __future__ import annotations

import json
from pathlib import Path

from rocperf.testing.simulator.agents import AGENT_HANDLES, Json, agents_json
from rocperf.testing.simulator.counters import counters_of, split
from rocperf.testing.simulator.kernels import Kernel, Size, reported_registers
from rocperf.testing.simulator.recording import ApiCall, Dispatch, Marker
from rocperf.testing.simulator.request import Observed

#: Record kinds in the order of their numbers; operations of the kinds that have fixed ones.
_KINDS: list[str] = [
    "NONE",
    "HSA_CORE_API",
    "HSA_AMD_EXT_API",
    "HSA_IMAGE_EXT_API",
    "HSA_FINALIZE_EXT_API",
    "HIP_RUNTIME_API",
    "HIP_COMPILER_API",
    "MARKER_CORE_API",
    "MARKER_CONTROL_API",
    "MARKER_NAME_API",
    "MEMORY_COPY",
    "KERNEL_DISPATCH",
    "SCRATCH_MEMORY",
    "CORRELATION_ID_RETIREMENT",
    "RCCL_API",
    "OMPT",
    "MEMORY_ALLOCATION",
    "RUNTIME_INITIALIZATION",
    "ROCDECODE_API",
    "ROCJPEG_API",
    "HIP_STREAM",
    "HIP_RUNTIME_API_EXT",
    "HIP_COMPILER_API_EXT",
    "ROCDECODE_API_EXT",
    "KFD_EVENT_PAGE_MIGRATE",
    "KFD_EVENT_PAGE_FAULT",
    "KFD_EVENT_QUEUE",
    "KFD_EVENT_UNMAP_FROM_GPU",
    "KFD_EVENT_DROPPED_EVENTS",
    "KFD_PAGE_MIGRATE",
    "KFD_PAGE_FAULT",
    "KFD_QUEUE",
    "MARKER_CORE_RANGE_API",
]
_OPERATIONS = {
    "MEMORY_COPY": ["NONE", "HOST_TO_HOST", "HOST_TO_DEVICE", "DEVICE_TO_HOST", "DEVICE_TO_DEVICE"],
    "KERNEL_DISPATCH": ["NONE", "ENQUEUE", "COMPLETE"],
    "SCRATCH_MEMORY": ["NONE", "ALLOC", "FREE", "ASYNC_RECLAIM"],
    "MEMORY_ALLOCATION": ["NONE", "ALLOCATE", "VMEM_ALLOCATE", "FREE", "VMEM_FREE"],
}
_EMPTY = [
    "kernel_dispatch",
    "hip_api",
    "hsa_api",
    "marker_api",
    "rccl_api",
    "memory_copy",
    "memory_allocation",
    "scratch_memory",
    "rocdecode_api",
    "rocjpeg_api",
    "pc_sample_host_trap",
    "pc_sample_stochastic",
]
_FIRST_COUNTER = 1000  # handles of counters


def write_json(observed: Observed, prefix: Path) -> list[Path]:
    """Write ``<prefix>_results.json`` if anything was recorded.

    Returns
    -------
    list of Path
        The file, or nothing.
    """
    if observed.empty:
        return []
    prefix.parent.mkdir(parents=True, exist_ok=True)
    path = prefix.with_name(f"{prefix.name}_results.json")
    document = {"rocprofiler-sdk-tool": [_Document(observed).build()]}
    path.write_text(json.dumps(document, separators=(",", ":")), encoding="utf-8")
    return [path]


class _Document:
    def __init__(self, observed: Observed) -> None:
        self._observed = observed
        self._modern = observed.request.modern
        self._operations: dict[str, list[str]] = {
            kind: [f"{kind}_{name}" for name in names] for kind, names in _OPERATIONS.items()
        }

    def build(self) -> Json:
        observed, recording = self._observed, self._observed.recording
        buffers: dict[str, list[Json]] = {name: [] for name in _EMPTY}
        buffers["kernel_dispatch"] = [self._dispatch(d) for d in observed.dispatches]
        buffers["memory_copy"] = self._copies()
        buffers["memory_allocation"] = self._allocations()
        buffers["scratch_memory"] = self._scratch()
        buffers["hip_api"] = self._hip()
        buffers["marker_api"] = self._markers()
        buffers["rccl_api"] = self._rccl()
        kernels = [self._symbol(0, Kernel(""))]
        kernels += [self._symbol(n, k) for n, k in recording.kernels.items()]
        return {
            "metadata": self._metadata(),
            "agents": agents_json(recording.gpu),
            "counters": self._counters(),
            "strings": self._strings(),
            "code_objects": [_code_object(0), _code_object(1)],
            "kernel_symbols": kernels,
            "host_functions": [],
            "summary": [],
            "callback_records": {"counter_collection": self._counted()},
            "buffer_records": buffers,
        }

    def _metadata(self) -> Json:
        session, recording = self._observed.session, self._observed.recording
        node = {"id": 0, "hash": session.node, "machine_id": session.machine_id}
        node |= {"system_name": "Linux", "hostname": session.hostname, "release": "6.8.0"}
        node |= {"version": "#1 SMP", "hardware_name": "x86_64", "domain_name": "(none)"}
        times = {"init_time": recording.init, "fini_time": recording.fini}
        return {
            "node": node, "pid": session.pid, **times, "command": list(session.command),
            "config": {"json_output": True},
        }  # fmt: skip

    def _strings(self) -> Json:
        kinds = [{"kind": k, "operations": self._operations.get(k, [])} for k in _KINDS]
        messages = [
            {"key": m.correlation, "value": m.text}
            for m in self._observed.recording.markers
            if "marker" in self._observed.request.traces
        ]
        return {
            "callback_records": kinds,
            "buffer_records": kinds,
            "marker_api": messages,
            "counters": {"dimension_ids": []},
            "correlation_id": {"external": []},
            "pc_sample_instructions": [],
            "pc_sample_comments": [],
        }

    def _record(self, kind: str, operation: str, correlation: int, start: int, end: int) -> Json:
        names = self._operations.setdefault(kind, [])
        if operation not in names:
            names.append(operation)
        identity: Json = {"internal": correlation, "external": 0}
        return {
            "size": 96, "kind": _KINDS.index(kind), "operation": names.index(operation),
            "thread_id": self._observed.session.pid, "correlation_id": identity,
            "start_timestamp": start, "end_timestamp": end,
        }  # fmt: skip

    def _dispatch(self, d: Dispatch) -> Json:
        row = self._record(
            "KERNEL_DISPATCH", "KERNEL_DISPATCH_COMPLETE", d.correlation, d.start, d.end
        )
        row["dispatch_info"] = self._info(d)
        return row | self._stream(d.stream)

    def _stream(self, stream: int) -> Json:
        return {"stream_id": {"handle": stream}} if self._modern else {}

    def _info(self, d: Dispatch) -> Json:
        launch = d.launch
        return {
            "size": 72, "agent_id": {"handle": AGENT_HANDLES[1]}, "queue_id": {"handle": d.queue},
            "kernel_id": d.kernel_id, "dispatch_id": d.number,
            "private_segment_size": launch.kernel.scratch, "group_segment_size": launch.lds,
            "workgroup_size": _xyz(launch.workgroup), "grid_size": _xyz(launch.grid),
        }  # fmt: skip

    def _copies(self) -> list[Json]:
        rows: list[Json] = []
        for c in self._observed.copies:
            row = self._record(
                "MEMORY_COPY", f"MEMORY_COPY_{c.direction}", c.correlation, c.start, c.end
            )
            row["dst_agent_id"] = {"handle": AGENT_HANDLES[c.destination]}
            row["src_agent_id"] = {"handle": AGENT_HANDLES[c.source]}
            row["bytes"] = c.size
            rows.append(row | self._stream(c.stream))
        return rows

    def _allocations(self) -> list[Json]:
        rows: list[Json] = []
        for a in self._observed.recording.allocations:
            if "allocation" not in self._observed.request.traces:
                break
            name = "MEMORY_ALLOCATION_" + ("FREE" if a.agent is None else "ALLOCATE")
            row = self._record("MEMORY_ALLOCATION", name, a.correlation, a.start, a.end)
            row["agent_id"] = {"handle": 0 if a.agent is None else AGENT_HANDLES[a.agent]}
            row |= {"address": f"0x{a.address:016x}", "allocation_size": a.size}
            rows.append(row | self._stream(0))
        return rows

    def _scratch(self) -> list[Json]:
        rows: list[Json] = []
        for s in self._observed.recording.scratch:
            if "scratch" not in self._observed.request.traces:
                break
            row = self._record("SCRATCH_MEMORY", "SCRATCH_MEMORY_ALLOC", 0, s.start, s.end)
            row |= {"agent_id": {"handle": AGENT_HANDLES[1]}, "queue_id": {"handle": s.queue}}
            rows.append(row | {"flags": 0, "allocation_size": s.size})
        return rows

    def _hip(self) -> list[Json]:
        suffix = "_EXT" if self._modern else ""
        rows: list[Json] = []
        for call in self._observed.recording.calls:
            if ("hip_compiler" if call.compiler else "hip") in self._observed.request.traces:
                kind = f"HIP_{'COMPILER' if call.compiler else 'RUNTIME'}_API{suffix}"
                rows.append(self._call(kind, call))
        return rows

    def _call(self, kind: str, call: ApiCall) -> Json:
        row = self._record(kind, call.name, call.correlation, call.start, call.end)
        if self._modern and kind.startswith("HIP"):
            row["args"] = [{"type": t, "name": n, "value": v} for t, n, v in call.arguments]
            row |= {"retval": "hipSuccess", "stream_id": {"handle": 0}}
        return row

    def _markers(self) -> list[Json]:
        if "marker" not in self._observed.request.traces:
            return []
        return [self._marker(m) for m in self._observed.recording.markers]

    def _marker(self, m: Marker) -> Json:
        core = "MARKER_CORE_RANGE_API" if self._modern else "MARKER_CORE_API"
        kind = m.domain if m.domain == "MARKER_CONTROL_API" else core
        return self._record(kind, m.function, m.correlation, m.start, m.end)

    def _rccl(self) -> list[Json]:
        if "rccl" not in self._observed.request.traces:
            return []
        return [self._call("RCCL_API", call) for call in self._observed.recording.rccl]

    def _symbol(self, kernel_id: int, kernel: Kernel) -> Json:
        registers = reported_registers(kernel, self._observed.recording.gpu)
        name = kernel.name
        return {
            "size": 88, "kernel_id": kernel_id, "code_object_id": 1 if kernel_id else 0,
            "kernel_name": kernel.symbol if kernel_id else "", "kernel_object": kernel_id * 64,
            "kernarg_segment_size": 32, "kernarg_segment_alignment": 16,
            "group_segment_size": kernel.lds, "private_segment_size": kernel.scratch,
            "sgpr_count": registers.sgpr, "arch_vgpr_count": registers.vgpr,
            "accum_vgpr_count": registers.accum, "formatted_kernel_name": name,
            "demangled_kernel_name": name, "truncated_kernel_name": name.partition("(")[0],
        }  # fmt: skip

    def _handles(self) -> dict[str, int]:
        table = counters_of(self._observed.recording.gpu.gfx)
        return {name: _FIRST_COUNTER + n for n, name in enumerate(table)}

    def _counters(self) -> list[Json]:
        request = self._observed.request
        if not request.counters:
            return []
        table = counters_of(self._observed.recording.gpu.gfx)
        known = table if request.version == "7.0" else set(request.counters) & set(table)
        handles = self._handles()
        return [
            {"agent_id": {"handle": AGENT_HANDLES[1]}, "id": {"handle": handles[name]},
             "is_constant": 0, "is_derived": int(not c.block), "name": name,
             "description": c.description, "block": c.block,
             "expression": "" if c.block else " ".join(c.needs), "dimension_ids": []}
            for name, c in table.items()
            if name in known
        ]  # fmt: skip

    def _counted(self) -> list[Json]:
        handles = self._handles()
        rows: list[Json] = []
        for counted in self._observed.counted:
            d = counted.dispatch
            data: Json = {
                "size": 128, "correlation_id": {"internal": d.correlation, "external": 0},
                "start_timestamp": d.start, "end_timestamp": d.end, "dispatch_info": self._info(d),
            }  # fmt: skip
            records = [
                {"counter_id": {"handle": handles[c.name]}, "value": part}
                for c, value in counted.counters
                for part in split(c, value)
            ]
            row: Json = {"thread_id": self._observed.session.pid, "dispatch_data": data}
            rows.append(row | {"records": records} | self._stream(d.stream))
        return rows


def _xyz(size: Size) -> Json:
    return dict(zip("xyz", size, strict=True))


def _code_object(number: int) -> Json:
    uri = "memory://4242#offset=0x1000&size=8192" if number else ""
    handle = AGENT_HANDLES[1] if number else 0
    return {
        "size": 88, "code_object_id": number, "agent_id": {"handle": handle}, "uri": uri,
        "load_base": number << 40, "load_size": 8192 * number, "load_delta": number << 40,
        "storage_type": 2 * number,
    }  # fmt: skip
