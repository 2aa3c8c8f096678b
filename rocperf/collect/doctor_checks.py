"""What collecting needs of a machine, one check each, with the way to mend it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from rocperf.collect.locate import find, targets
from rocperf.errors import MachineError

_PACKAGES = ("duckdb", "polars", "pyarrow", "textual")
_FIXED_LEVELS = ("profile_standard", "profile_peak", "high", "manual")


@dataclass(frozen=True)
class Check:
    """One thing looked at: its state, what was found, and how to mend it."""

    name: str
    state: Literal["ok", "warn", "fail"]
    found: str
    fix: str = ""


def checks(rocprofv3: str | None = None) -> Iterator[Check]:
    """Look at everything that collecting needs.

    Parameters
    ----------
    rocprofv3
        Path of the profiler; searched when None.
    """
    try:
        profiler = find(rocprofv3)
        told = ".".join(map(str, profiler.version)) if profiler.version else "below 7.0 or unknown"
        yield Check("rocprofv3", "ok", f"{profiler.path}, ROCm {told}")
    except MachineError as error:
        yield Check("rocprofv3", "fail", error.message, error.hint or "")
    try:
        found = targets()
        yield Check("GPUs", "ok", f"{len(found)}: {', '.join(found)}")
        if any(target.startswith("gfx1") for target in found):
            yield _level()
    except MachineError as error:
        yield Check("GPUs", "fail", error.message, error.hint or "")
    for name in _PACKAGES:
        try:
            yield Check(name, "ok", version(name))
        except PackageNotFoundError:
            yield Check(name, "fail", "not installed", f"pip install {name}")


def _level() -> Check:
    """Radeon GPUs gate the clock of most counters unless their performance level is fixed."""
    root = Path(os.environ.get("ROCPERF_SYSFS") or "/sys") / "class" / "drm"
    levels = {
        path.read_text().strip()
        for path in root.glob("card*/device/power_dpm_force_performance_level")
    }
    if levels and levels <= set(_FIXED_LEVELS):
        return Check("performance level", "ok", ", ".join(sorted(levels)))
    return Check(
        "performance level",
        "warn",
        f"{', '.join(sorted(levels)) or 'unknown'}: most counters read 0",
        "sudo amd-smi set --perf-level STABLE_STD",
    )
