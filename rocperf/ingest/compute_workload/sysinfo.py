"""What ``sysinfo.csv`` says of machine and tool, under the names of either generation."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rocperf.errors import InputError
from rocperf.hardware import Gpu

_NAMES: Mapping[str, tuple[str, ...]] = {
    "target": ("gpu_arch", "gpu_soc"),
    "product": ("gpu_model", "name"),
    "cu_count": ("cu_per_gpu", "numCU"),
    "num_xcc": ("num_xcd",),
    "simd_per_cu": ("simd_per_cu", "numSIMD"),
    "shader_engines": ("se_per_gpu", "numSE"),
    "wave_size": ("wave_size", "waveSize"),
    "max_waves_per_cu": ("max_waves_per_cu", "maxWavesPerCU"),
    "clock_mhz": ("max_sclk", "sclk"),
    "memory_clock_mhz": ("max_mclk", "mclk"),
    "l2_channels": ("total_l2_chan", "L2Banks"),
    "compute_partition": ("compute_partition",),
    "memory_partition": ("memory_partition",),
}
_TEXTS = ("target", "product", "compute_partition", "memory_partition")
# Longest line that is read; a real one has under 2 kB.
_LIMIT = 1 << 20


@dataclass(frozen=True)
class SystemInfo:
    """Machine, tool and GPU of a workload.

    Parameters
    ----------
    agent
        Columns of the ``agents`` table that it states, those it contradicts left out.
    contradiction
        What cannot be right, in one sentence; None when nothing is odd.
    """

    hostname: str | None = None
    command: str | None = None
    rocm_version: str | None = None
    tool: str | None = None
    tool_version: str | None = None
    agent: Mapping[str, str | int | None] | None = None
    contradiction: str | None = None

    @property
    def generation(self) -> int | None:
        """Major version of the tool's format, where stated."""
        text = self.tool_version or ""
        return int(text) if text.isdecimal() else None


def read_sysinfo(path: Path) -> SystemInfo:
    """Read ``sysinfo.csv``.

    Raises
    ------
    InputError
        It is not a header and one record.
    """
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        lines = list(csv.reader(file.read(_LIMIT).splitlines(keepends=True)))
    if len(lines) < 2:
        raise InputError(f"{path}: no record below the header", hint="record the workload again")
    record = {name: value.strip() for name, value in zip(lines[0], lines[1], strict=False)}
    agent = {meaning: _value(meaning, record, names) for meaning, names in _NAMES.items()}
    if agent["product"] == record.get("gpu_series"):
        # The tool did not know the model and repeats the family.
        agent["product"] = None
    contradiction = _contradiction(agent)
    if contradiction:
        # Channels were counted from the same wrong number of dies.
        agent["num_xcc"] = agent["l2_channels"] = None
    old = "gpu_soc" in record
    version = "1" if old else record.get("version") or None
    named = old or version == "2"
    return SystemInfo(
        hostname=record.get("hostname") or record.get("host_name") or None,
        command=record.get("command") or None,
        rocm_version=record.get("rocm_version") or record.get("host_rocmver") or None,
        tool="omniperf" if named else "rocprofiler-compute",
        tool_version=version,
        agent=agent,
        contradiction=contradiction,
    )


def _value(meaning: str, record: Mapping[str, str], names: tuple[str, ...]) -> str | int | None:
    text = next((record[name] for name in names if record.get(name)), "")
    if meaning in _TEXTS:
        return text if text and text != "NA" else None
    try:
        number = float(text)
    except ValueError:
        return None
    return int(number) if number > 0 and number.is_integer() else None


def _contradiction(agent: Mapping[str, str | int | None]) -> str | None:
    if agent.get("num_xcc") is None:
        return None
    # The rule of what fits on a die, and its figures, are those of the hardware room.
    notes = Gpu.from_agent({"agent_id": 0, **agent}).notes
    return "; ".join(notes) or None
