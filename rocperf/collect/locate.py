"""Find rocprofv3 and the GPUs, and say what this version can do."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from rocperf.errors import MachineError
from rocperf.ingest.topology import read_sysfs

#: Seconds that a probe may take before the version counts as unknown.
PROBE_S = 10.0

_OPTION = re.compile(r"--[a-z][a-z0-9-]+")


@dataclass(frozen=True)
class Profiler:
    """A rocprofv3.

    Parameters
    ----------
    version
        ROCm version it states, such as ``(7, 0, 0)``; None below 7.0 or when it does not say.
    options
        Long options that its help names; empty when it does not answer.
    """

    path: Path
    version: tuple[int, ...] | None
    options: frozenset[str]

    @property
    def writes_rocpd(self) -> bool:
        """Whether it can write rocpd databases: from ROCm 7.0 on."""
        return self.version is not None and self.version >= (7,)


def find(explicit: str | None = None) -> Profiler:
    """Find the profiler and probe it.

    Parameters
    ----------
    explicit
        Path that the user gave.

    Raises
    ------
    MachineError
        If there is none.
    """
    for candidate in _candidates(explicit):
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return _probe(candidate)
    where = explicit or "PATH, ROCM_PATH or /opt/rocm"
    raise MachineError(
        f"rocprofv3 was not found in {where}",
        hint="install the rocprofiler-sdk package of ROCm, or name it with --rocprofv3",
    )


def _candidates(explicit: str | None) -> list[Path]:
    if explicit:
        return [Path(explicit)]
    found: list[Path] = []
    if named := os.environ.get("ROCPERF_ROCPROFV3"):
        found.append(Path(named))
    if on_path := shutil.which("rocprofv3"):
        found.append(Path(on_path))
    if root := os.environ.get("ROCM_PATH"):
        found.append(Path(root) / "bin" / "rocprofv3")
    if sdk := shutil.which("rocm-sdk"):
        bin_dir = _output([sdk, "path", "--bin"]).strip()
        if bin_dir:
            found.append(Path(bin_dir) / "rocprofv3")
    found.append(Path("/opt/rocm/bin/rocprofv3"))
    versioned = [*Path("/opt").glob("rocm-*"), *Path("/opt/rocm").glob("core-*")]
    found += [root / "bin" / "rocprofv3" for root in sorted(versioned, key=_version, reverse=True)]
    return found


def _version(path: Path) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", path.name))


def _probe(path: Path) -> Profiler:
    told = dict(re.findall(r"(?m)^\s*(\w+):\s*(.*)$", _output([str(path), "--version"])))
    numbers = re.findall(r"\d+", told.get("rocm_version", ""))
    options = frozenset(_OPTION.findall(_output([str(path), "--help"])))
    return Profiler(path, tuple(map(int, numbers)) or None, options)


def _output(command: list[str]) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=PROBE_S, stdin=subprocess.DEVNULL, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""


def targets() -> tuple[str, ...]:
    """Return the gfx target of every GPU that the driver lists.

    Raises
    ------
    MachineError
        If there is none, or its device cannot be opened.
    """
    sysfs = Path(os.environ.get("ROCPERF_SYSFS") or "/sys")
    dev = Path(os.environ.get("ROCPERF_DEV") or "/dev")
    try:
        agents, _ = read_sysfs(sysfs)
        found = agents.filter(kind="GPU")["target"].drop_nulls().to_list()
    except (OSError, ValueError):
        found = []
    if not found:
        raise MachineError(
            f"no AMD GPU visible: {sysfs}/class/kfd lists none",
            hint="is the amdgpu driver loaded? Reading profiles needs no GPU",
        )
    kfd = dev / "kfd"
    if not kfd.exists():
        raise MachineError(
            f"no AMD GPU visible: {kfd} does not exist",
            hint="in a container, pass --device /dev/kfd --device /dev/dri",
        )
    if not os.access(kfd, os.R_OK | os.W_OK):
        raise MachineError(
            f"{kfd} may not be opened", hint="add the user to the groups render and video"
        )
    return tuple(found)
