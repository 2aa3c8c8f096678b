"""Agents as rocprofv3 describes them in JSON, also inside databases, as rows of ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from rocperf.ingest.topology.rows import Row, frames_of

if TYPE_CHECKING:
    from rocperf.ingest.source import Sink

# Ours, and theirs.
_NUMBERS = {
    "cu_count": "cu_count",
    "num_xcc": "num_xcc",
    "simd_count": "simd_count",
    "simd_per_cu": "simd_per_cu",
    "wave_size": "wave_front_size",
    "max_waves_per_simd": "max_waves_per_simd",
    "max_waves_per_cu": "max_waves_per_cu",
    "clock_mhz": "max_engine_clk_fcompute",
}
#: Kinds of links by number, as the driver numbers them (``CRAT_IOLINK_TYPE``): PCIe, xGMI.
_LINKS = {2: "pcie", 11: "xgmi"}
_MEGA = 1_000_000
#: Numbers by rocprofiler-sdk: ``ROCPROFILER_AGENT_TYPE_CPU`` and ``_GPU``.
KINDS = {1: "CPU", 2: "GPU"}


def agent_row(stated: Mapping[str, Any], kind: str, node: int) -> Row:
    """Turn a description into a row of ``agents``.

    Parameters
    ----------
    stated
        The description; what it lacks, or states as 0 because the driver did not know it, is
        unknown.
    kind
        ``CPU`` or ``GPU``.
    node
        Node number.
    """
    row: Row = {"agent_id": node, "kind": kind}
    for ours, theirs in _NUMBERS.items():
        row[ours] = _whole(stated, theirs) or None
    lds = _whole(stated, "lds_size_in_kb")
    arrays, per = _whole(stated, "array_count"), _whole(stated, "simd_arrays_per_engine")
    banks = [bank for bank in _listed(stated, "mem_banks") if _whole(bank, "size_in_bytes")]
    gpu = kind == "GPU"
    memory = sum(_whole(bank, "size_in_bytes") or 0 for bank in banks)
    clocks = [_whole(bank, "mem_clk_max") or 0 for bank in banks]
    row |= {
        "logical_index": _whole(stated, "logical_node_id"),
        "type_index": _whole(stated, "logical_node_type_id"),
        "target": _target(stated) if gpu else None,
        "product": _text(stated, "product_name") or _text(stated, "name"),
        "lds_bytes_per_cu": lds * 1024 if gpu and lds else None,
        "shader_engines": arrays // per if gpu and arrays and per else None,
        "memory_bytes": _whole(stated, "local_mem_size") or memory or None,
        "memory_clock_mhz": max(clocks, default=0) or None,
        "hive_id": _whole(stated, "hive_id"),
        "pci_domain": _whole(stated, "domain"),
        "location_id": _whole(stated, "location_id"),
    }
    return row


def link_rows(stated: Mapping[str, Any], node: int) -> list[Row]:
    """List the links of an agent as rows of ``links``.

    Parameters
    ----------
    stated
        The description.
    node
        Node number.
    """
    rows: list[Row] = []
    for link in _listed(stated, "io_links"):
        to = _whole(link, "node_to")
        if to is None:
            continue
        kind = _LINKS.get(_whole(link, "type") or 0, "other")
        rate = _whole(link, "max_bandwidth")
        rows.append(
            {
                "from_agent_id": node,
                "to_agent_id": to,
                "kind": kind,
                "weight": _whole(link, "weight"),
                "max_bandwidth": rate * _MEGA if rate else None,
            }
        )
    return rows


def store_agents(
    sink: Sink, agents: Sequence[Row], links: Sequence[Row], *, run_id: int, file_id: int
) -> None:
    """Store agents and links of a run.

    Parameters
    ----------
    sink
        Takes the rows.
    agents, links
        Rows that `agent_row` and `link_rows` made.
    run_id, file_id
        Their numbers.
    """
    counts: dict[object, int] = {}
    for row in agents:
        kind = row["kind"]
        if row.get("type_index") is None:
            row["type_index"] = counts.get(kind, 0)
        counts[kind] = counts.get(kind, 0) + 1
    for table, frame in zip(("agents", "links"), frames_of(agents, links), strict=True):
        sink.append(table, frame, run_id=run_id, file_id=file_id)


def _whole(stated: Mapping[str, Any], name: str) -> int | None:
    value = stated.get(name)
    return value if isinstance(value, int) and value >= 0 else None


def _text(stated: Mapping[str, Any], name: str) -> str | None:
    value = stated.get(name)
    return value if isinstance(value, str) and value else None


def _listed(stated: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    value = stated.get(name)
    items: list[Any] = []
    if isinstance(value, list):
        items.extend(value)  # pyright: ignore[reportUnknownArgumentType]  # of JSON
    return [cast("Mapping[str, Any]", each) for each in items if isinstance(each, dict)]


def _target(stated: Mapping[str, Any]) -> str | None:
    """``gfx942``: the name where it is one, else from 90402."""
    name = _text(stated, "name") or ""
    if name.startswith("gfx"):
        return name
    version = _whole(stated, "gfx_target_version")
    if not version:
        return None
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"
