"""Agents as rocprofv3's JSON and databases describe them."""

from __future__ import annotations

from rocperf.testing.simulator.gpus import Gpu, host_agent

Json = dict[str, "object"]
#: Handles of agents in a process: any number will do, these are of the usual size.
AGENT_HANDLES = (14567, 14568)
_AXES = ("Workgroup_Max_Dim", "Grid_Max_Dim")
_PLAIN = {"Agent_Type", "Sdma_Fw_Version", "Fw_Version", "Capability"} | {
    f"{name}_{axis}" for name in _AXES for axis in "XYZ"
}


def agents_json(gpu: Gpu) -> list[Json]:
    """Both agents, the processor first."""
    return [_agent_json(host_agent(), 0), _agent_json(gpu.agent, 1)]


def _agent_json(row: dict[str, int | str], node: int) -> Json:
    agent: Json = {"size": 312, "id": {"handle": AGENT_HANDLES[node]}, "type": 1 + node}
    agent |= {"mem_banks_count": 1, "caches_count": 0, "io_links_count": 1}
    agent |= {name.lower(): value for name, value in row.items() if name not in _PLAIN}
    agent["sdma_fw_version"] = {"uCodeSDMA": row["Sdma_Fw_Version"], "uCodeRes": 0}
    agent["fw_version"] = {"uCode": row["Fw_Version"], "Major": 0, "Minor": 0, "Stepping": 0}
    for name in _AXES:
        agent[name.lower()] = {axis: row[f"{name}_{axis.upper()}"] for axis in "xyz"}
    agent |= {"logical_node_type_id": 0, "gpu_index": node - 1}
    agent["runtime_visibility"] = {"hsa": 1, "hip": 1, "rccl": 1, "rocdecode": 1}
    agent["mem_banks"] = []
    agent["caches"] = []
    # Link type 2 is PCIe; the bandwidth is in MB/s, as the driver gives it.
    agent["io_links"] = [
        {"type": 2, "node_from": node, "node_to": 1 - node, "weight": 20, "max_bandwidth": 64000}
    ]
    return agent
