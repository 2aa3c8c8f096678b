"""The driver's topology in sysfs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rocperf.errors import InputError
from rocperf.ingest.topology.rows import Row, frames_of

if TYPE_CHECKING:
    import polars as pl

_NODES = ("class/kfd/kfd/topology/nodes", "topology/nodes", "nodes")
#: Link types of the driver (``kfd_crat.h``); the rest joins processors.
_LINKS = {2: "pcie", 11: "xgmi"}
# A properties file has some 40 lines; nothing longer is one.
_LIMIT = 1 << 16
# The driver states rates in MB/s.
_MEGA = 1_000_000


def read_sysfs(folder: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read the driver's topology.

    Parameters
    ----------
    folder
        A ``/sys`` (or a copy of it), or a copy of its topology with ``nodes`` in it.

    Returns
    -------
    tuple of polars.DataFrame
        Rows of ``agents`` and ``links``, without run and file; both empty where there is no
        topology. Links through a processor have no hops and no bandwidth: the driver states
        none.

    Raises
    ------
    InputError
        A node is named wrongly or a property is no number.
    """
    place = next((folder / name for name in _NODES if (folder / name).is_dir()), None)
    nodes: dict[int, Path] = {}
    for node in sorted(place.iterdir()) if place else ():
        # The kernel hides the nodes of devices that a container may not use.
        if node.name.isdecimal() and os.access(node / "properties", os.R_OK):
            nodes[int(node.name)] = node
    properties = {number: _properties(nodes[number] / "properties") for number in sorted(nodes)}
    links = [
        _link(_properties(link / "properties"), direct=kind == "io_links")
        for number in properties
        for kind in ("io_links", "p2p_links")
        for link in _children(nodes[number] / kind)
    ]
    agents: list[Row] = []
    counts = {"CPU": 0, "GPU": 0}
    for place_among, (number, stated) in enumerate(properties.items()):
        kind = "GPU" if stated.get("simd_count", 0) else "CPU"
        row = _agent(stated, _memory(nodes[number])) if kind == "GPU" else {}
        row |= {"agent_id": number, "kind": kind, "logical_index": place_among}
        row["type_index"] = counts[kind]
        counts[kind] += 1
        agents.append(row)
    _add_numa_nodes(agents, links)
    return frames_of(agents, links)


def _children(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    found = (each for each in folder.iterdir() if (each / "properties").is_file())
    return sorted(found, key=lambda each: (len(each.name), each.name))


def _properties(path: Path) -> dict[str, int]:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            lines = file.read(_LIMIT).splitlines()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", hint="run rocperf doctor") from error
    result: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        name, _, value = line.partition(" ")
        if not value.strip():
            continue
        if not value.strip().isdecimal():
            raise InputError(f"{path}: line {number}: {name} is not a number")
        result[name] = int(value)
    return result


def _memory(node: Path) -> dict[str, int]:
    """Add up a GPU's own memory: heaps 1 and 2 are its public and private parts."""
    banks = [_properties(bank / "properties") for bank in _children(node / "mem_banks")]
    own = [bank for bank in banks if bank.get("heap_type") in (1, 2)]
    return {
        "bytes": sum(bank.get("size_in_bytes", 0) for bank in own),
        "clock": max((bank.get("mem_clk_max", 0) for bank in own), default=0),
    }


def target_of(version: int) -> str:
    """Name the target of a ``gfx_target_version`` such as 90402: gfx942.

    Parameters
    ----------
    version
        Major, minor and stepping, two decimal digits each for the last two.
    """
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"


def _agent(stated: Mapping[str, int], memory: Mapping[str, int]) -> Row:
    def known(name: str) -> int | None:
        # The driver writes 0 for what it does not know.
        return stated.get(name) or None

    per_cu, simds = known("simd_per_cu"), known("simd_count")
    waves = known("max_waves_per_simd")
    arrays, per_engine = known("array_count"), known("simd_arrays_per_engine")
    version, lds = known("gfx_target_version"), known("lds_size_in_kb")
    return {
        "target": target_of(version) if version else None,
        "cu_count": simds // per_cu if simds and per_cu else None,
        "num_xcc": known("num_xcc"),
        "simd_count": simds,
        "simd_per_cu": per_cu,
        "shader_engines": arrays // per_engine if arrays and per_engine else None,
        "wave_size": known("wave_front_size"),
        "max_waves_per_simd": waves,
        "max_waves_per_cu": waves * per_cu if waves and per_cu else None,
        "lds_bytes_per_cu": lds * 1024 if lds else None,
        "clock_mhz": known("max_engine_clk_fcompute"),
        "memory_clock_mhz": memory["clock"] or None,
        "memory_bytes": memory["bytes"] or known("local_mem_size"),
        "hive_id": stated.get("hive_id"),
        "pci_domain": stated.get("domain"),
        "location_id": stated.get("location_id"),
    }


def _link(stated: Mapping[str, int], *, direct: bool) -> Row:
    rate = stated.get("max_bandwidth", 0)
    return {
        "from_agent_id": stated.get("node_from"),
        "to_agent_id": stated.get("node_to"),
        "kind": _LINKS.get(stated.get("type", 0), "other"),
        "hops": 1 if direct else None,
        "weight": stated.get("weight"),
        "max_bandwidth": rate * _MEGA or None,
    }


def _add_numa_nodes(agents: Sequence[Row], links: Sequence[Row]) -> None:
    """Give a processor its own NUMA node, and a GPU that of the processor it hangs on."""
    numa = {row["agent_id"]: row["type_index"] for row in agents if row["kind"] == "CPU"}
    for row in agents:
        near = [
            (link["weight"] or 0, link["to_agent_id"])
            for link in links
            if link["from_agent_id"] == row["agent_id"]
            and link["to_agent_id"] in numa
            and link["hops"] == 1
        ]
        node = row["agent_id"] if row["kind"] == "CPU" else min(near, default=(0, None))[1]
        row["numa_node"] = numa.get(node)
