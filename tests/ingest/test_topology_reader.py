"""Topologies: of eight MI210 from the driver, of four MI300A from rocm-smi, of a played machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from rocperf.errors import InputError
from rocperf.ingest import topology
from rocperf.ingest.topology.sysfs import target_of
from rocperf.testing.standin.machine import played_machine


def test_eight_mi210_in_two_hives(recorded: Callable[[str], Path]) -> None:
    agents, links = topology.read_sysfs(recorded("topology_mi210_x8"))
    gpus = agents.filter(pl.col("kind") == "GPU")
    assert gpus["agent_id"].to_list() == list(range(2, 10))
    assert set(gpus["target"]) == {"gfx90a"}
    assert set(gpus["cu_count"]) == {104}
    assert gpus["numa_node"].to_list() == [0] * 4 + [1] * 4
    assert gpus["hive_id"].n_unique() == 2

    pairs = links.filter(pl.col("from_agent_id") > 1, pl.col("to_agent_id") > 1)
    kinds = {
        (source, target): kind
        for source, target, kind in pairs.select("from_agent_id", "to_agent_id", "kind").rows()
    }
    assert len(kinds) == 8 * 7
    hives = dict(gpus.select("agent_id", "hive_id").rows())
    for (source, target), kind in kinds.items():
        assert kind == ("xgmi" if hives[source] == hives[target] else "pcie")
    direct = links.filter(pl.col("kind") == "xgmi")
    # The driver states 50,000 MB/s for one link of the bridge.
    assert direct["max_bandwidth"].unique().to_list() == [50_000_000_000]
    assert direct["hops"].unique().to_list() == [1]


def test_four_mi300a_all_joined_by_xgmi(recorded: Callable[[str], Path]) -> None:
    path = recorded("topology_mi300a_x4") / "rocm_smi_showtopo.txt"
    agents, links = topology.read_showtopo(path)
    assert agents["numa_node"].to_list() == [0, 1, 2, 3]
    assert len(links) == 4 * 3
    assert links["kind"].unique().to_list() == ["xgmi"]
    assert links["weight"].unique().to_list() == [15]
    assert links["hops"].unique().to_list() == [1]


def test_played_machine_is_read_live(tmp_path: Path) -> None:
    system = Path(played_machine(tmp_path)["ROCPERF_SYSFS"])
    agents, links = topology.read_sysfs(system)
    gpu = agents.filter(pl.col("kind") == "GPU").row(0, named=True)
    assert (gpu["target"], gpu["num_xcc"], gpu["memory_bytes"]) == ("gfx942", 8, 192 << 30)
    assert gpu["simd_count"] == gpu["cu_count"] * 4
    assert set(links["kind"]) == {"pcie"}
    assert set(links["max_bandwidth"]) == {64_000_000_000}


def test_no_topology_is_no_agents(tmp_path: Path) -> None:
    agents, links = topology.read_sysfs(tmp_path)
    assert agents.is_empty()
    assert links.is_empty()


def test_damaged_property_names_file_and_line(tmp_path: Path) -> None:
    node = tmp_path / "nodes" / "0"
    node.mkdir(parents=True)
    (node / "properties").write_text("cpu_cores_count 4\nsimd_count many\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"properties: line 2: simd_count"):
        topology.read_sysfs(tmp_path)


@pytest.mark.parametrize(
    ("version", "target"),
    [(90402, "gfx942"), (90010, "gfx90a"), (120001, "gfx1201"), (110501, "gfx1151")],
)
def test_target_of_a_version(version: int, target: str) -> None:
    assert target_of(version) == target


def test_files_are_recognised_by_content(recorded: Callable[[str], Path], tmp_path: Path) -> None:
    text = recorded("topology_mi300a_x4") / "rocm_smi_showtopo.txt"
    found = topology.recognise(text, text.read_bytes())
    assert found is not None
    assert found.kind == "showtopo"
    node = recorded("topology_mi210_x8") / "nodes/2/properties"
    found = topology.recognise(node, node.read_bytes())
    assert found is not None
    assert found.kind == "node"
    other = tmp_path / "properties"
    other.write_text("name value\n", encoding="utf-8")
    assert topology.recognise(other, other.read_bytes()) is None
