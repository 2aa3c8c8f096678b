"""A played machine: the files in which a driver would describe a GPU."""

from __future__ import annotations

from pathlib import Path

from rocperf.testing.simulator import GPUS
from rocperf.testing.simulator.gpus import AGENT_COLUMNS, host_agent

#: Agent columns that the driver does not list among a node's properties.
_DERIVED = frozenset(
    (
        "Node_Id",
        "Logical_Node_Id",
        "Agent_Type",
        "Name",
        "Vendor_Name",
        "Product_Name",
        "Model_Name",
        "Cu_Count",
        "Max_Waves_Per_Cu",
        "Cu_Per_Engine",
        "Num_Shader_Banks",
        "Family_Id",
        "Workgroup_Max_Size",
        "Grid_Max_Size",
        "Gpu_Id",
        "Workgroup_Max_Dim_X",
        "Workgroup_Max_Dim_Y",
        "Workgroup_Max_Dim_Z",
        "Grid_Max_Dim_X",
        "Grid_Max_Dim_Y",
        "Grid_Max_Dim_Z",
    )
)


def played_machine(folder: Path, gpu: str = "gfx942") -> dict[str, str]:
    """Write a small ``/sys`` and ``/dev`` with one GPU.

    Parameters
    ----------
    folder
        Where to; made if missing.
    gpu
        A key of `rocperf.testing.simulator.GPUS`.

    Returns
    -------
    dict of str to str
        ``ROCPERF_SYSFS`` and ``ROCPERF_DEV``, to be set.
    """
    system, devices = folder / "sys", folder / "dev"
    topology = system / "class/kfd/kfd/topology"
    _write(topology / "generation_id", "2\n")
    _write(topology / "system_properties", "platform_oem 0\nplatform_id 0\nplatform_rev 0\n")
    model = GPUS[gpu]
    for node, agent in enumerate((host_agent(), model.agent)):
        place = topology / f"nodes/{node}"
        _write(place / "gpu_id", f"{agent['Gpu_Id']}\n")
        _write(place / "name", "ip discovery\n" if node else "\n")
        _write(place / "properties", _properties(agent))
        # Type 2 is PCIe; the rate is in MB/s: 32 GT/s on 16 lanes.
        link = {"type": 2, "node_from": node, "node_to": 1 - node, "weight": 20}
        link |= {"min_bandwidth": 312, "max_bandwidth": 64000, "flags": 1}
        _write(place / "io_links/0/properties", _lines(link))
    _write(topology / "nodes/1/mem_banks/0/properties",
           _lines({"heap_type": 1, "size_in_bytes": 192 << 30, "width": 8192}))  # fmt: skip
    level = system / "class/drm/card0/device/power_dpm_force_performance_level"
    _write(level, "auto\n")
    for name in ("kfd", "dri/renderD128"):
        _write(devices / name, "")
    return {"ROCPERF_SYSFS": str(system), "ROCPERF_DEV": str(devices)}


def _properties(agent: dict[str, int | str]) -> str:
    names = [name for name in AGENT_COLUMNS if name not in _DERIVED]
    counts = {"mem_banks_count": 1, "caches_count": 0, "io_links_count": 1, "p2p_links_count": 0}
    return _lines(counts | {name.lower(): int(agent[name]) for name in names})


def _lines(values: dict[str, int]) -> str:
    return "".join(f"{name} {value}\n" for name, value in values.items())


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
