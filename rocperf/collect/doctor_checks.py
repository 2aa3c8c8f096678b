"""What collecting needs of a machine, one check each, with the way to mend it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from rocperf.collect import command, machine
from rocperf.collect.availability import find_bindings, find_tool
from rocperf.collect.locate import Profiler, find
from rocperf.errors import MachineError
from rocperf.metrics.trust import FIX_CLOCKS

#: Packages that rocperf itself needs.
PACKAGES = (
    "adbc_driver_sqlite",
    "duckdb",
    "ijson",
    "pluggy",
    "polars",
    "pyarrow",
    "rich",
    "textual",
)

State = Literal["ok", "warn", "fail"]


@dataclass(frozen=True)
class Check:
    """One thing looked at: its state, what was found, and how to mend it."""

    name: str
    state: State
    found: str
    fix: str = ""


def checks(rocprofv3: str | None = None) -> Iterator[Check]:
    """Look at everything that collecting needs.

    Parameters
    ----------
    rocprofv3
        Path of the profiler; searched when None.

    Yields
    ------
    Check
        One a thing; ``fail`` where collecting cannot work without it.
    """
    profiler: Profiler | None = None
    try:
        profiler = find(rocprofv3)
        yield _profiler(profiler)
    except MachineError as error:
        yield Check("rocprofv3", "fail", error.message, error.hint or "")
    yield _availability(profiler)
    yield _roctx(profiler)
    targets: tuple[str, ...] = ()
    try:
        targets = machine.look().targets
        yield Check("GPUs", "ok", f"{len(targets)}: {', '.join(targets)}")
    except MachineError as error:
        yield Check("GPUs", "fail", error.message, error.hint or "")
    yield _devices()
    yield _groups()
    if any(target.startswith("gfx1") for target in targets):
        yield _level()
    yield from _packages()


def _profiler(profiler: Profiler) -> Check:
    found = f"{profiler.path}, {profiler.told}, writes {' and '.join(command.formats(profiler))}"
    if not profiler.options:
        return Check("rocprofv3", "warn", f"{found}; it does not answer --help", "run it by hand")
    if "--pmc" not in profiler.options:
        return Check("rocprofv3", "warn", f"{found}; it has no --pmc", "ROCm 6.3 or later counts")
    return Check("rocprofv3", "ok", found)


def _availability(profiler: Profiler | None) -> Check:
    """Say what is asked which counters there are and what one run can hold."""
    bindings = find_bindings(profiler.path) if profiler else None
    tool = find_tool(profiler.path) if profiler else None
    found = [str(tool)] if tool else []
    if bindings is not None:
        module = bindings.folder.joinpath(*bindings.package.split("."))
        found.insert(0, f"{module}.py")
    if found:
        then = "; then ".join(found)
        return Check("counters", "ok", f"{then}: asked what one run can count")
    return Check(
        "counters",
        "warn",
        "neither ROCm's Python module avail nor rocprofv3-avail was found: passes are planned by"
        " rocperf's own table of limits",
        "they come with the rocprofiler-sdk package of ROCm 7.0 or later",
    )


def _roctx(profiler: Profiler | None) -> Check:
    """Look for the library that regions are told through."""
    roots = [profiler.path.resolve().parent.parent] if profiler else []
    found = [lib for root in roots for lib in root.glob("lib/librocprofiler-sdk-roctx.so*")]
    if found:
        return Check("roctx", "ok", str(min(found)))
    return Check(
        "roctx",
        "warn",
        "not found beside rocprofv3: rocperf.region() does nothing",
        "it comes with the rocprofiler-sdk package of ROCm",
    )


def _devices() -> Check:
    trouble = machine.device_trouble()
    folder = machine.device_folder()
    if trouble is None:
        nodes = sorted(path.name for path in folder.glob("dri/renderD*"))
        return Check("devices", "ok", f"{folder}/kfd, {', '.join(nodes)}")
    return Check("devices", "fail", trouble.message, trouble.fix)


def _groups() -> Check:
    absent = machine.missing_groups()
    if not absent:
        return Check("groups", "ok", "this user may use the device nodes")
    names = ",".join(absent)
    fix = f"sudo usermod -aG {names} $USER, then log in again"
    return Check("groups", "fail", f"this user is not in {names}", fix)


def _level() -> Check:
    """Radeon GPUs gate the clock of most counters unless their performance level is fixed."""
    levels = machine.performance_levels()
    told = ", ".join(levels) or "unknown"
    if not machine.gated("gfx1", levels):
        return Check("performance level", "ok", told)
    return Check("performance level", "warn", f"{told}: most counters read 0", FIX_CLOCKS)


def _packages() -> Iterator[Check]:
    for name in PACKAGES:
        try:
            yield Check(name, "ok", version(name))
        except PackageNotFoundError:
            yield Check(name, "fail", "not installed", f"pip install {name}")
    if shutil.disk_usage(Path.cwd()).free < (1 << 30):
        # A trace takes twice its size while it is written.
        yield Check("disk", "warn", "less than 1 GiB free here", "free some, or use -o elsewhere")
