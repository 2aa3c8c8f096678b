"""The tables of a rocpd database, schema 3: names, columns, types and plain views."""

from __future__ import annotations

import sqlite3

_ID = "id INTEGER PRIMARY KEY"
_OWNER = "nid INTEGER, pid INTEGER"
_SPAN = "start BIGINT, end BIGINT"
_PLACE = "queue_id INTEGER, stream_id INTEGER"
_SIZES = ", ".join(
    f"{what}_size_{axis} INTEGER" for what in ("workgroup", "grid") for axis in "xyz"
)
#: Columns by table, without the guid that every table but metadata has after its id, and without
#: the JSON ``extdata`` that most have last.
_TABLES: dict[str, str] = {
    "metadata": "tag TEXT, value TEXT",
    "string": "string TEXT UNIQUE",
    "info_node": "hash BIGINT, machine_id TEXT, system_name TEXT, hostname TEXT, release TEXT, "
    "version TEXT, hardware_name TEXT, domain_name TEXT",
    "info_process": f"nid INTEGER, ppid INTEGER, pid INTEGER, init BIGINT, fini BIGINT, {_SPAN}, "
    "command TEXT, environment JSONB",
    "info_thread": f"nid INTEGER, ppid INTEGER, pid INTEGER, tid INTEGER, name TEXT, {_SPAN}",
    "info_agent": f"{_OWNER}, type TEXT, absolute_index INTEGER, logical_index INTEGER, "
    "type_index INTEGER, uuid INTEGER, name TEXT, model_name TEXT, vendor_name TEXT, "
    "product_name TEXT, user_name TEXT",
    "info_queue": f"{_OWNER}, name TEXT",
    "info_stream": f"{_OWNER}, name TEXT",
    "info_pmc": f"{_OWNER}, agent_id INTEGER, target_arch TEXT, event_code INT, instance_id "
    "INTEGER, name TEXT, symbol TEXT, description TEXT, long_description TEXT, component TEXT, "
    "units TEXT, value_type TEXT, block TEXT, expression TEXT, is_constant INTEGER, "
    "is_derived INTEGER",
    "info_code_object": f"{_OWNER}, agent_id INTEGER, uri TEXT, load_base BIGINT, load_size "
    "BIGINT, load_delta BIGINT, storage_type TEXT",
    "info_kernel_symbol": f"{_OWNER}, code_object_id INTEGER, kernel_name TEXT, display_name TEXT, "
    "kernel_object INTEGER, kernarg_segment_size INTEGER, kernarg_segment_alignment INTEGER, "
    "group_segment_size INTEGER, private_segment_size INTEGER, sgpr_count INTEGER, "
    "arch_vgpr_count INTEGER, accum_vgpr_count INTEGER",
    "track": f"{_OWNER}, tid INTEGER, name_id INTEGER",
    "event": "category_id INTEGER, stack_id INTEGER, parent_stack_id INTEGER, correlation_id "
    "INTEGER, call_stack JSONB, line_info JSONB",
    "arg": "event_id INTEGER, position INTEGER, type TEXT, name TEXT, value TEXT",
    "pmc_event": "event_id INTEGER, pmc_id INTEGER, value REAL",
    "region": f"{_OWNER}, tid INTEGER, {_SPAN}, name_id INTEGER, event_id INTEGER",
    "sample": "track_id INTEGER, timestamp BIGINT, event_id INTEGER",
    "kernel_dispatch": f"{_OWNER}, tid INTEGER, agent_id INTEGER, kernel_id INTEGER, dispatch_id "
    f"INTEGER, {_PLACE}, {_SPAN}, private_segment_size INTEGER, group_segment_size INTEGER, "
    f"{_SIZES}, region_name_id INTEGER, event_id INTEGER",
    "memory_copy": f"{_OWNER}, tid INTEGER, {_SPAN}, name_id INTEGER, dst_agent_id INTEGER, "
    "dst_address INTEGER, src_agent_id INTEGER, src_address INTEGER, size INTEGER, "
    f"{_PLACE}, region_name_id INTEGER, event_id INTEGER",
    "memory_allocate": f"{_OWNER}, tid INTEGER, agent_id INTEGER, type TEXT, level TEXT, {_SPAN}, "
    f"address INTEGER, size INTEGER, {_PLACE}, event_id INTEGER",
}
_WITHOUT_EXTDATA = frozenset({"metadata", "string", "info_node"})
_GRAPH = ", graph_exec_id INTEGER, graph_node_id INTEGER"
_WITH_GRAPH = frozenset({"kernel_dispatch", "memory_copy"})

#: Views of people's use, in terms of the plain ones. Readers should not depend on them: they drop
#: rows whose parents are missing. ``{registers}`` is empty in 7.0.
_VIEWS: dict[str, str] = {
    "kernels": """
        SELECT d.id, d.guid, t.tid, c.string AS category, s.display_name AS name, d.nid, d.pid,
               a.absolute_index AS agent_abs_index, a.type AS agent_type, d.kernel_id,
               d.dispatch_id, d.stream_id, d.queue_id, d.start, d.end, d.end - d.start AS duration,
               d.grid_size_x AS grid_x, d.grid_size_y AS grid_y, d.grid_size_z AS grid_z,
               d.workgroup_size_x AS workgroup_x, d.workgroup_size_y AS workgroup_y,
               d.workgroup_size_z AS workgroup_z, d.group_segment_size AS lds_size,
               d.private_segment_size AS scratch_size, {registers} e.stack_id
        FROM rocpd_kernel_dispatch d
        JOIN rocpd_info_kernel_symbol s ON s.id = d.kernel_id AND s.guid = d.guid
        JOIN rocpd_info_agent a ON a.id = d.agent_id AND a.guid = d.guid
        JOIN rocpd_info_thread t ON t.id = d.tid AND t.guid = d.guid
        JOIN rocpd_event e ON e.id = d.event_id AND e.guid = d.guid
        JOIN rocpd_string c ON c.id = e.category_id AND c.guid = d.guid""",
    "memory_copies": """
        SELECT m.id, m.guid, m.nid, m.pid, m.start, m.end, m.end - m.start AS duration,
               n.string AS name, m.stream_id, m.size, m.dst_address, m.src_address,
               target.absolute_index AS dst_agent_abs_index,
               source.absolute_index AS src_agent_abs_index, e.stack_id
        FROM rocpd_memory_copy m
        JOIN rocpd_string n ON n.id = m.name_id AND n.guid = m.guid
        JOIN rocpd_info_agent target ON target.id = m.dst_agent_id AND target.guid = m.guid
        JOIN rocpd_info_agent source ON source.id = m.src_agent_id AND source.guid = m.guid
        JOIN rocpd_event e ON e.id = m.event_id AND e.guid = m.guid""",
    "regions": """
        SELECT r.id, r.guid, c.string AS category, n.string AS name, r.nid, r.pid, r.tid, r.start,
               r.end, r.end - r.start AS duration, r.event_id, e.stack_id, e.extdata
        FROM rocpd_region r
        JOIN rocpd_event e ON e.id = r.event_id AND e.guid = r.guid
        JOIN rocpd_string c ON c.id = e.category_id AND c.guid = r.guid
        JOIN rocpd_string n ON n.id = r.name_id AND n.guid = r.guid""",
    "counters_collection": """
        SELECT d.guid, d.dispatch_id, d.kernel_id, d.event_id, d.agent_id, s.display_name
               AS kernel_name, p.name AS counter_name, sum(v.value) AS value, d.start, d.end
        FROM rocpd_pmc_event v
        JOIN rocpd_info_pmc p ON p.id = v.pmc_id AND p.guid = v.guid
        JOIN rocpd_kernel_dispatch d ON d.event_id = v.event_id AND d.guid = v.guid
        JOIN rocpd_info_kernel_symbol s ON s.id = d.kernel_id AND s.guid = d.guid
        GROUP BY d.guid, d.dispatch_id, p.name, d.agent_id""",
    "top_kernels": """
        SELECT s.display_name AS name, count(*) AS total_calls,
               sum(d.end - d.start) / 1000.0 AS total_duration,
               avg(d.end - d.start) / 1000.0 AS average,
               100.0 * sum(d.end - d.start)
               / (SELECT sum(o.end - o.start) FROM rocpd_kernel_dispatch o) AS percentage
        FROM rocpd_kernel_dispatch d
        JOIN rocpd_info_kernel_symbol s ON s.id = d.kernel_id AND s.guid = d.guid
        GROUP BY s.display_name ORDER BY total_duration DESC""",
}
_REGISTERS = "s.arch_vgpr_count AS vgpr_count, s.accum_vgpr_count, s.sgpr_count,"


def columns(table: str, *, graphs: bool = False) -> list[str]:
    """Column names of a table, in order.

    Parameters
    ----------
    table
        Name without prefix and suffix, such as ``kernel_dispatch``.
    graphs
        Whether it is of ROCm 7.13 or later, which stores graph nodes.
    """
    return [c.split()[0] for c in _definition(table, graphs=graphs).split(", ")]


def create(connection: sqlite3.Connection, guid: str, *, graphs: bool, registers: bool) -> None:
    """Create all tables with their suffix, and the views.

    Parameters
    ----------
    connection
        An empty database.
    guid
        Its identity; the tables' suffix is the same with underscores.
    graphs, registers
        Whether there are graph columns, and register columns in the ``kernels`` view.
    """
    suffix = "_" + guid.replace("-", "_")
    for table in _TABLES:
        definition = ", ".join(
            f'"{name}" {rest}'
            for name, _, rest in (
                c.partition(" ") for c in _definition(table, graphs=graphs).split(", ")
            )
        )
        connection.execute(f'CREATE TABLE "rocpd_{table}{suffix}" ({definition})')
        connection.execute(f'CREATE VIEW "rocpd_{table}" AS SELECT * FROM "rocpd_{table}{suffix}"')
    for name, text in _VIEWS.items():
        body = text.replace("{registers}", _REGISTERS if registers else "")
        connection.execute(f'CREATE VIEW "{name}" AS {body}')


def _definition(table: str, *, graphs: bool) -> str:
    guid = "" if table == "metadata" else ", guid TEXT"
    rest = "" if table in _WITHOUT_EXTDATA else ", extdata JSONB"
    graph = _GRAPH if graphs and table in _WITH_GRAPH else ""
    return f"{_ID}{guid}, {_TABLES[table]}{graph}{rest}"
