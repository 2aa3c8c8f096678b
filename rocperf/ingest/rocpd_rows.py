"""What is asked of a rocpd database, and how its rows become rows of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

#: Column of ``agents`` -> field of the agent's JSON, and what its number is multiplied by.
AGENT_FIELDS: Mapping[str, tuple[str, int]] = {
    "cu_count": ("cu_count", 1),
    "num_xcc": ("num_xcc", 1),
    "simd_count": ("simd_count", 1),
    "simd_per_cu": ("simd_per_cu", 1),
    "wave_size": ("wave_front_size", 1),
    "max_waves_per_simd": ("max_waves_per_simd", 1),
    "max_waves_per_cu": ("max_waves_per_cu", 1),
    "lds_bytes_per_cu": ("lds_size_in_kb", 1024),
    "clock_mhz": ("max_engine_clk_fcompute", 1),
    "hive_id": ("hive_id", 1),
    "pci_domain": ("domain", 1),
    "location_id": ("location_id", 1),
}

_U, _I, _S, _F = pl.UInt64, pl.Int64, pl.String, pl.Float64

#: Batches of each query: columns in order.
SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    "all_dispatches": {
        "dispatch_id": _U, "kernel": _S, "agent_id": _U, "queue_id": _U, "stream_id": _U,
        "thread_id": _U, "correlation_id": _U, "start_ns": _I, "end_ns": _I, "grid_x": _U,
        "grid_y": _U, "grid_z": _U, "workgroup_x": _U, "workgroup_y": _U, "workgroup_z": _U,
        "lds_bytes": _U, "static_lds_bytes": _U, "scratch_bytes": _U, "vgpr": _U, "agpr": _U,
        "sgpr": _U, "row": _U,
    },
    "counter_values": {"dispatch_id": _U, "counter": _S, "value": _F, "row": _U},
    "copies": {
        "correlation_id": _U, "direction": _S, "src_agent_id": _U, "dst_agent_id": _U,
        "bytes": _U, "start_ns": _I, "end_ns": _I, "thread_id": _U, "stream_id": _U,
        "src_address": _U, "dst_address": _U, "row": _U,
    },
    "allocations": {
        "operation": _S, "agent_id": _U, "address": _U, "bytes": _U, "start_ns": _I,
        "end_ns": _I, "thread_id": _U, "correlation_id": _U, "row": _U,
    },
    "api_calls": {
        "domain": _S, "name": _S, "thread_id": _U, "correlation_id": _U, "start_ns": _I,
        "end_ns": _I, "args": _S, "row": _U,
    },
    "markers": {
        "kind": _S, "message": _S, "thread_id": _U, "correlation_id": _U, "start_ns": _I,
        "end_ns": _I, "row": _U,
    },
    "sensor_samples": {
        "name": _S, "unit": _S, "agent_id": _U, "timestamp_ns": _I, "value": _F, "row": _U,
    },
    "code_objects": {
        "code_object_id": _U, "agent_id": _U, "uri": _S, "load_base": _U, "load_bytes": _U,
        "row": _U,
    },
}  # fmt: skip

#: Table of ours -> query over the physical tables. Left joins: a missing parent loses no row.
QUERIES: tuple[tuple[str, str], ...] = (
    (
        "all_dispatches",
        """
        SELECT d.dispatch_id, coalesce(s.display_name, s.kernel_name, 'unknown_kernel'),
               a.absolute_index, d.queue_id, d.stream_id, coalesce(t.tid, d.tid), e.stack_id,
               d.start, d.end, d.grid_size_x, d.grid_size_y, d.grid_size_z, d.workgroup_size_x,
               d.workgroup_size_y, d.workgroup_size_z, d.group_segment_size,
               s.group_segment_size, d.private_segment_size, s.arch_vgpr_count,
               s.accum_vgpr_count, s.sgpr_count, d.id
        FROM {kernel_dispatch} d LEFT JOIN {info_kernel_symbol} s ON s.id = d.kernel_id
        LEFT JOIN {info_agent} a ON a.id = d.agent_id
        LEFT JOIN {info_thread} t ON t.id = d.tid LEFT JOIN {event} e ON e.id = d.event_id
        """,
    ),
    (
        "counter_values",
        """
        SELECT o.dispatch_id, coalesce(m.name, 'unknown'), sum(p.value), min(p.id)
        FROM {pmc_event} p JOIN temp.dispatch_of o ON o.event_id = p.event_id
        LEFT JOIN {info_pmc} m ON m.id = p.pmc_id GROUP BY p.event_id, p.pmc_id
        """,
    ),
    (
        "sensor_samples",
        """
        SELECT coalesce(m.name, 'unknown'), m.units, a.absolute_index, x.at, p.value, p.id
        FROM {pmc_event} p LEFT JOIN temp.dispatch_of o ON o.event_id = p.event_id
        LEFT JOIN {info_pmc} m ON m.id = p.pmc_id LEFT JOIN {info_agent} a ON a.id = m.agent_id
        LEFT JOIN temp.sampled_at x ON x.event_id = p.event_id WHERE o.event_id IS NULL
        """,
    ),
    (
        "copies",
        """
        SELECT e.stack_id, n.string, a.absolute_index, b.absolute_index, c.size, c.start, c.end,
               coalesce(t.tid, c.tid), c.stream_id, c.src_address, c.dst_address, c.id
        FROM {memory_copy} c LEFT JOIN {string} n ON n.id = c.name_id
        LEFT JOIN {info_agent} a ON a.id = c.src_agent_id
        LEFT JOIN {info_agent} b ON b.id = c.dst_agent_id
        LEFT JOIN {info_thread} t ON t.id = c.tid LEFT JOIN {event} e ON e.id = c.event_id
        """,
    ),
    (
        "allocations",
        """
        SELECT CASE WHEN c.level = 'VIRTUAL' THEN 'vmem_' ELSE '' END || lower(c.type),
               a.absolute_index, c.address, CASE WHEN c.type <> 'FREE' THEN c.size END,
               c.start, c.end, coalesce(t.tid, c.tid), e.stack_id, c.id
        FROM {memory_allocate} c LEFT JOIN {info_agent} a ON a.id = c.agent_id
        LEFT JOIN {info_thread} t ON t.id = c.tid LEFT JOIN {event} e ON e.id = c.event_id
        WHERE coalesce(c.level, '') <> 'SCRATCH'
        """,
    ),
    (
        "api_calls",
        """
        SELECT c.string, n.string, coalesce(t.tid, r.tid), e.stack_id, r.start, r.end, g.args, r.id
        FROM {region} r LEFT JOIN {string} n ON n.id = r.name_id
        LEFT JOIN {event} e ON e.id = r.event_id LEFT JOIN {string} c ON c.id = e.category_id
        LEFT JOIN {info_thread} t ON t.id = r.tid
        LEFT JOIN temp.args_of g ON g.event_id = r.event_id
        WHERE lower(coalesce(c.string, '')) NOT LIKE '%marker%'
        """,
    ),
    (
        "markers",
        """
        SELECT 'range', coalesce(json_extract(e.extdata, '$.message'), n.string),
               coalesce(t.tid, r.tid), e.stack_id, r.start, r.end, r.id
        FROM {region} r LEFT JOIN {string} n ON n.id = r.name_id
        LEFT JOIN {event} e ON e.id = r.event_id LEFT JOIN {string} c ON c.id = e.category_id
        LEFT JOIN {info_thread} t ON t.id = r.tid
        WHERE lower(coalesce(c.string, '')) LIKE '%marker%'
        UNION ALL
        SELECT 'mark', json_extract(e.extdata, '$.message'), t.tid, e.stack_id, s.timestamp,
               s.timestamp, s.id
        FROM {sample} s LEFT JOIN {track} k ON k.id = s.track_id
        LEFT JOIN {event} e ON e.id = s.event_id LEFT JOIN {string} c ON c.id = e.category_id
        LEFT JOIN {info_thread} t ON t.id = k.tid
        WHERE lower(coalesce(c.string, '')) LIKE '%marker%'
        """,
    ),
    (
        "code_objects",
        """
        SELECT c.id, a.absolute_index, c.uri, c.load_base, c.load_size, c.id
        FROM {info_code_object} c LEFT JOIN {info_agent} a ON a.id = c.agent_id
        """,
    ),
)

_DOMAINS = (
    ("hip_compiler", "hip_compiler"),
    ("hip", "hip"),
    ("hsa", "hsa"),
    ("rccl", "rccl"),
    ("rocdecode", "rocdecode"),
    ("rocjpeg", "rocjpeg"),
)


def finished(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Turn a batch into rows of a table: products, directions and domains in our words.

    Parameters
    ----------
    table
        Table of ours.
    frame
        A batch of its query, columns as in `SCHEMAS`.
    """
    if table == "all_dispatches":
        return frame.with_columns(
            (pl.col("grid_x") * pl.col("grid_y") * pl.col("grid_z")).alias("grid_size"),
            (pl.col("workgroup_x") * pl.col("workgroup_y") * pl.col("workgroup_z")).alias(
                "workgroup_size"
            ),
        )
    if table == "copies":
        direction = pl.col("direction").str.to_lowercase()
        return frame.with_columns(
            direction.str.extract("((?:host|device)_to_(?:host|device))").alias("direction")
        )
    if table == "api_calls":
        category = pl.col("domain").fill_null("").str.to_lowercase()
        domain = category
        for part, name in reversed(_DOMAINS):
            domain = (
                pl.when(category.str.contains(part, literal=True))
                .then(pl.lit(name))
                .otherwise(domain)
            )
        return frame.with_columns(domain.alias("domain"), pl.col("name").fill_null("unknown"))
    return frame
