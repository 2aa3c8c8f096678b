"""rocprofv3's SQLite database: one a process, counters one row for each instance."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rocperf.testing.simulator.agents import agents_json
from rocperf.testing.simulator.counters import counters_of, split
from rocperf.testing.simulator.kernels import reported_registers
from rocperf.testing.simulator.recording import DEVICE, ApiCall, Marker
from rocperf.testing.simulator.request import Observed
from rocperf.testing.simulator.rocpd_schema import columns, create

_FIRST_COUNTER = 1000
_PRAGMAS = ("journal_mode=off", "synchronous=off")


def guid_of(observed: Observed) -> str:
    """Identity of a run: the same process and request give the same one."""
    session, request = observed.session, observed.request
    text = repr((session.hostname, session.pid, observed.recording.init, session.command,
                 sorted(request.traces), request.counters))  # fmt: skip
    digits = hashlib.sha256(text.encode()).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-7{digits[13:16]}-8{digits[17:20]}-{digits[20:32]}"


def write_rocpd(observed: Observed, prefix: Path, page_size: int = 4096) -> list[Path]:
    """Write ``<prefix>_results.db`` if anything was recorded; an older one is replaced.

    Parameters
    ----------
    observed
        What was recorded.
    prefix
        Where to, without ``_results.db``.
    page_size
        Bytes of a database page: small ones make small files of many tables.

    Returns
    -------
    list of Path
        The file, or nothing.
    """
    if observed.empty:
        return []
    prefix.parent.mkdir(parents=True, exist_ok=True)
    path = prefix.with_name(f"{prefix.name}_results.db")
    path.unlink(missing_ok=True)
    connection = sqlite3.connect(path)
    try:
        for pragma in (f"page_size={page_size}", *_PRAGMAS):
            connection.execute(f"PRAGMA {pragma}")
        with connection:
            _Database(observed, connection).write()
    finally:
        connection.close()
    return [path]


class _Database:
    """Rows are gathered by table and inserted at the end, strings first."""

    def __init__(self, observed: Observed, connection: sqlite3.Connection) -> None:
        self._observed = observed
        self._connection = connection
        self._guid = guid_of(observed)
        self._suffix = "_" + self._guid.replace("-", "_")
        self._graphs = observed.request.version == "7.13"
        self._node, self._pid = observed.session.node, observed.session.pid
        self._strings: dict[str, int] = {"": 1}
        self._events = 0
        self._tracks: dict[str, int] = {}
        self._own = {"nid": self._node, "pid": self._pid}
        self._thread = self._own | {"tid": self._pid}

    def write(self) -> None:
        create(self._connection, self._guid, graphs=self._graphs, registers=self._graphs)
        tags = (("schema_version", "3"), ("uuid", self._suffix), ("guid", self._guid))
        self._insert("metadata", ({"tag": tag, "value": value} for tag, value in tags))
        self._machine()
        self._code()
        events = self._dispatches()
        self._counters(events)
        self._copies()
        self._allocations()
        self._calls()
        self._markers()
        self._insert("track", (
            self._thread | {"id": n, "name_id": self._string(name)}
            for name, n in self._tracks.items()
        ))  # fmt: skip
        rows = ({"id": n, "string": text} for text, n in self._strings.items())
        self._insert("string", rows)

    # -- plumbing ---------------------------------------------------------------------------

    def _insert(self, table: str, rows: Iterable[dict[str, Any]]) -> None:
        names = columns(table, graphs=self._graphs)
        marks = ", ".join("?" for _ in names)
        fixed: dict[str, str | int] = {
            "guid": self._guid,
            "extdata": "{}",
            "call_stack": "{}",
            "line_info": "{}",
        }
        fixed |= {"graph_exec_id": 0, "graph_node_id": 0}
        values: Iterable[Sequence[Any]] = (
            [row.get(name, fixed.get(name)) for name in names] for row in rows
        )
        sql = f'INSERT INTO "rocpd_{table}{self._suffix}" VALUES ({marks})'
        self._connection.executemany(sql, values)

    def _string(self, text: str) -> int:
        return self._strings.setdefault(text, len(self._strings) + 1)

    def _event(self, category: str, stack: int, *, parent: int = 0, message: str = "") -> int:
        self._events += 1
        extra = json.dumps({"message": message}) if message else "{}"
        row = {"id": self._events, "category_id": self._string(category), "stack_id": stack}
        row |= {"parent_stack_id": parent, "correlation_id": 0}
        self._insert("event", [row | {"extdata": extra}])
        return self._events

    # -- tables -----------------------------------------------------------------------------

    def _machine(self) -> None:
        session, recording = self._observed.session, self._observed.recording
        self._insert("info_node", [{
            "id": self._node, "hash": self._node, "machine_id": session.machine_id,
            "system_name": "Linux", "hostname": session.hostname, "release": "6.8.0",
            "version": "#1 SMP", "hardware_name": "x86_64", "domain_name": "(none)",
        }])  # fmt: skip
        environment = {k: v for k, v in session.environment.items() if ";" not in v}
        times = {"init": recording.init, "fini": recording.fini}
        times |= {"start": recording.init, "end": recording.fini}
        self._insert("info_process", [self._own | times | {
            "id": self._pid, "ppid": session.ppid, "command": _plain(" ".join(session.command)),
            "environment": json.dumps({k: _plain(v) for k, v in environment.items()}),
        }])  # fmt: skip
        self._insert("info_thread", [self._thread | {"id": self._pid, "ppid": session.ppid}])
        for node, agent in enumerate(agents_json(recording.gpu)):
            kind = "GPU" if node == DEVICE else "CPU"
            names = {k: agent[k] for k in ("name", "model_name", "vendor_name", "product_name")}
            self._insert("info_agent", [self._own | names | {
                "id": node, "type": kind, "absolute_index": node, "logical_index": node,
                "type_index": 0, "uuid": agent["device_id"], "user_name": agent["product_name"],
                "extdata": json.dumps(agent, separators=(",", ":")),
            }])  # fmt: skip
        queues = sorted({s + 1 for s in recording.streams})
        self._places("queue", "Queue", [0, *queues])
        self._places("stream", "Stream", recording.streams)

    def _places(self, table: str, word: str, numbers: Sequence[int]) -> None:
        names = (f"Default {word}" if n == 0 else f"{word} {n - 1}" for n in numbers)
        rows = ({"id": n, "name": name} for n, name in zip(numbers, names, strict=True))
        self._insert(f"info_{table}", (self._own | row for row in rows))

    def _code(self) -> None:
        recording = self._observed.recording
        base = 1 << 40
        self._insert("info_code_object", [self._own | {
            "id": 1, "agent_id": DEVICE, "uri": f"memory://{self._pid}#offset=0x1000&size=8192",
            "load_base": base, "load_size": 8192, "load_delta": base,
            "extdata": json.dumps({"storage_type": 2}),
        }])  # fmt: skip
        rows: list[dict[str, Any]] = []
        for number, kernel in recording.kernels.items():
            registers = reported_registers(kernel, recording.gpu)
            extra = {"demangled_kernel_name": kernel.name}
            extra["truncated_kernel_name"] = kernel.name.partition("(")[0]
            rows.append(self._own | {
                "id": number, "code_object_id": 1, "kernel_name": kernel.symbol,
                "display_name": kernel.name, "kernel_object": number * 64,
                "kernarg_segment_size": 32, "kernarg_segment_alignment": 16,
                "group_segment_size": kernel.lds, "private_segment_size": kernel.scratch,
                "sgpr_count": registers.sgpr, "arch_vgpr_count": registers.vgpr,
                "accum_vgpr_count": registers.accum, "extdata": json.dumps(extra),
            })  # fmt: skip
        self._insert("info_kernel_symbol", rows)

    def _dispatches(self) -> dict[int, int]:
        """Rows of traced or counted dispatches; their event by dispatch number."""
        observed = self._observed
        seen = {d.number: d for d in observed.dispatches}
        seen |= {c.dispatch.number: c.dispatch for c in observed.counted}
        events: dict[int, int] = {}
        rows: list[dict[str, Any]] = []
        for number, d in sorted(seen.items()):
            events[number] = self._event("KERNEL_DISPATCH", d.correlation, parent=d.correlation)
            sizes = zip("xyz", d.launch.workgroup, d.launch.grid, strict=True)
            shape: dict[str, Any] = {}
            for axis, group, grid in sizes:
                shape |= {f"workgroup_size_{axis}": group, f"grid_size_{axis}": grid}
            rows.append(self._thread | shape | {
                "id": number, "agent_id": DEVICE, "kernel_id": d.kernel_id, "dispatch_id": number,
                "queue_id": d.queue, "stream_id": d.stream, "start": d.start, "end": d.end,
                "private_segment_size": d.launch.kernel.scratch,
                "group_segment_size": d.launch.lds, "region_name_id": 1,
                "event_id": events[number],
            })  # fmt: skip
        self._insert("kernel_dispatch", rows)
        return events

    def _counters(self, events: dict[int, int]) -> None:
        request, table = self._observed.request, counters_of(self._observed.recording.gpu.gfx)
        if not request.counters:
            return
        numbers = {name: _FIRST_COUNTER + n for n, name in enumerate(table)}
        known = table if request.version == "7.0" else set(request.counters) & set(table)
        self._insert("info_pmc", (
            self._own | {
                "id": numbers[name], "agent_id": DEVICE, "target_arch": "GPU", "event_code": 0,
                "instance_id": 0, "name": name, "symbol": name, "description": c.description,
                "long_description": "", "component": "rocm", "units": "", "value_type": "ABS",
                "block": c.block, "expression": "" if c.block else " ".join(c.needs),
                "is_constant": 0, "is_derived": int(not c.block),
            }
            for name, c in table.items()
            if name in known
        ))  # fmt: skip
        self._insert("pmc_event", (
            {"event_id": events[counted.dispatch.number], "pmc_id": numbers[c.name], "value": part}
            for counted in self._observed.counted
            for c, value in counted.counters
            for part in split(c, value)
        ))  # fmt: skip

    def _copies(self) -> None:
        rows: list[dict[str, Any]] = []
        for c in self._observed.copies:
            event = self._event("MEMORY_COPY", c.correlation, parent=c.correlation)
            rows.append(self._thread | {
                "start": c.start, "end": c.end, "event_id": event, "size": c.size,
                "name_id": self._string(f"MEMORY_COPY_{c.direction}"), "stream_id": c.stream,
                "dst_agent_id": c.destination, "dst_address": c.destination_address,
                "src_agent_id": c.source, "src_address": c.source_address,
            })  # fmt: skip
        self._insert("memory_copy", rows)

    def _allocations(self) -> None:
        traces, recording = self._observed.request.traces, self._observed.recording
        rows: list[dict[str, Any]] = []
        for a in recording.allocations if "allocation" in traces else ():
            rows.append(self._thread | {
                "agent_id": a.agent, "type": "FREE" if a.agent is None else "ALLOC",
                "level": "REAL", "start": a.start, "end": a.end, "address": a.address,
                "size": a.size, "stream_id": 0,
                "event_id": self._event("MEMORY_ALLOCATION", a.correlation),
            })  # fmt: skip
        for s in recording.scratch if "scratch" in traces else ():
            rows.append(self._thread | {
                "agent_id": DEVICE, "type": "ALLOC", "level": "SCRATCH", "start": s.start,
                "end": s.end, "address": 0, "size": s.size, "queue_id": s.queue,
                "event_id": self._event("SCRATCH_MEMORY", 0), "extdata": '{"flags":0}',
            })  # fmt: skip
        self._insert("memory_allocate", rows)

    def _calls(self) -> None:
        traces, recording = self._observed.request.traces, self._observed.recording
        for call in recording.calls:
            if ("hip_compiler" if call.compiler else "hip") in traces:
                kind = "COMPILER" if call.compiler else "RUNTIME"
                self._call(f"HIP_{kind}_API_EXT", call)
        for call in recording.rccl if "rccl" in traces else ():
            self._call("RCCL_API", call)

    def _call(self, category: str, call: ApiCall) -> None:
        event = self._event(category, call.correlation)
        self._region(call.correlation, call.name, call.start, call.end, event)
        self._insert("arg", (
            {"event_id": event, "position": n, "type": kind, "name": name, "value": value}
            for n, (kind, name, value) in enumerate(call.arguments)
        ))  # fmt: skip

    def _region(self, number: int, name: str, start: int, end: int, event: int) -> None:
        row = {"id": number, "start": start, "end": end, "name_id": self._string(name)}
        self._insert("region", [self._thread | row | {"event_id": event}])

    def _markers(self) -> None:
        if "marker" in self._observed.request.traces:
            for marker in self._observed.recording.markers:
                self._marker(marker)

    def _marker(self, m: Marker) -> None:
        """Store a record without duration as a sample on the track of its category."""
        event = self._event(m.domain, m.correlation, message=m.text)
        if m.start != m.end:
            self._region(m.correlation, m.function, m.start, m.end, event)
            return
        track = self._tracks.setdefault(m.domain, len(self._tracks) + 1)
        self._insert("sample", [{"track_id": track, "timestamp": m.start, "event_id": event}])


def _plain(text: str) -> str:
    """Drop what the real writer drops from texts in JSON and from the command line."""
    return text.translate({ord(c): None for c in ";\n\r\t\b\f\v"})
