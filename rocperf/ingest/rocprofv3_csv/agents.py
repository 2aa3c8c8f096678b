"""The list of CPUs and GPUs that rocprofv3 writes beside every trace."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from rocperf.errors import InputError
from rocperf.ingest.topology.rows import frames_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rocperf.ingest.source import Sink, SourceFile

# Ours, and theirs.
_NUMBERS = {
    "agent_id": "Node_Id",
    "logical_index": "Logical_Node_Id",
    "cu_count": "Cu_Count",
    "num_xcc": "Num_Xcc",
    "simd_count": "Simd_Count",
    "simd_per_cu": "Simd_Per_Cu",
    "wave_size": "Wave_Front_Size",
    "max_waves_per_simd": "Max_Waves_Per_Simd",
    "max_waves_per_cu": "Max_Waves_Per_Cu",
    "clock_mhz": "Max_Engine_Clk_Fcompute",
    "memory_bytes": "Local_Mem_Size",
    "hive_id": "Hive_Id",
    "pci_domain": "Domain",
    "location_id": "Location_Id",
}
# Often 0 when the driver does not say; 0 of these is not a number of anything.
_ZERO_IS_UNKNOWN = frozenset(_NUMBERS) - {
    "agent_id",
    "logical_index",
    "hive_id",
    "pci_domain",
    "location_id",
}


@dataclass
class Agents:
    """Agents of one group of files.

    Parameters
    ----------
    frame
        Rows of ``agents``; None when no file lists them.
    file_id
        That file.
    """

    frame: pl.DataFrame | None = None
    file_id: int | None = None
    nodes: dict[str, int] = field(default_factory=dict[str, int])

    def put(self, sink: Sink, run_id: int) -> None:
        """Store them as those of a run."""
        if self.frame is not None and self.frame.height:
            sink.append("agents", self.frame, run_id=run_id, file_id=self.file_id)


def read_agents(source: SourceFile, sink: Sink) -> Agents:
    """Read an agent list.

    Raises
    ------
    InputError
        If it is no CSV or a number in it is none.
    """
    try:
        raw = pl.read_csv(source.text.read_bytes(), infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{source.path}: {str(error).splitlines()[0]}") from error
    file_id = sink.file(source, None)
    rows = [_agent(row) for row in raw.iter_rows(named=True)]
    rows = [row for row in rows if row["agent_id"] is not None]
    if not rows:
        sink.note("warning", "file-empty", f"{source.path.name}: 0 rows", file_id=file_id)
        return Agents(None, file_id)
    counts = {"CPU": 0, "GPU": 0}
    nodes: dict[str, int] = {}
    for row in rows:
        kind, node = str(row["kind"]), row["agent_id"]
        row["type_index"] = counts.get(kind, 0)
        counts[kind] = counts.get(kind, 0) + 1
        for label, number in (
            (f"Agent {row['logical_index']}", row["logical_index"]),
            (f"{kind} {row['type_index']}", row["type_index"]),
        ):
            if number != node and isinstance(node, int):
                nodes[label] = node
    return Agents(frames_of(rows, ())[0], file_id, nodes)


def _agent(row: Mapping[str, str | None]) -> dict[str, int | str | None]:
    values: dict[str, int | str | None] = {}
    for ours, theirs in _NUMBERS.items():
        number = _whole(row.get(theirs))
        values[ours] = None if number == 0 and ours in _ZERO_IS_UNKNOWN else number
    gpu = row.get("Agent_Type") == "GPU"
    values["kind"] = "GPU" if gpu else "CPU"
    values["target"] = _target(row) if gpu else None
    values["product"] = row.get("Product_Name") or None
    lds = _whole(row.get("Lds_Size_In_Kb")) if gpu else None
    values["lds_bytes_per_cu"] = lds * 1024 if lds else None
    engines, per = _whole(row.get("Array_Count")), _whole(row.get("Simd_Arrays_Per_Engine"))
    values["shader_engines"] = engines // per if gpu and engines and per else None
    return values


def _target(row: Mapping[str, str | None]) -> str | None:
    """``gfx942``: the name where it is one, else from 90402."""
    name = row.get("Name") or ""
    if name.startswith("gfx"):
        return name
    version = _whole(row.get("Gfx_Target_Version"))
    if not version:
        return None
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"


def _whole(text: str | None) -> int | None:
    try:
        return int(text) if text else None
    except ValueError:
        return None
