"""A request, and the plan that follows from it: every pass with its exact command."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rocperf.collect.locate import Profiler, find, targets
from rocperf.collect.passes import plan as plan_passes
from rocperf.errors import InputError, UsageError

_TIMING = (
    "--kernel-trace",
    "--memory-copy-trace",
    "--hip-runtime-trace",
    "--marker-trace",
    "--rccl-trace",
    "--memory-allocation-trace",
)
_INTERPRETERS = re.compile(r"(python[\d.]*|bash|sh|env)\Z")


@dataclass(frozen=True)
class Request:
    """What the user asks for; the fields are the options of ``rocperf collect``."""

    argv: tuple[str, ...]
    metrics: Sequence[str] = ()
    output: Path | None = None
    force: bool = False
    rocprofv3: str | None = None
    kernels: str | None = None
    launches: str | None = None
    region: str | None = None
    timeout_s: float | None = None
    stdin: Path | None = None
    allow_serialised: bool = False
    resume: Path | None = None


@dataclass(frozen=True)
class PlannedPass:
    """One run of the program."""

    number: int
    role: str
    purpose: str
    counters: tuple[str, ...]
    argv: tuple[str, ...]
    folder: Path


@dataclass(frozen=True)
class Plan:
    """Everything that will be run."""

    request: Request
    profiler: Profiler
    target: str
    passes: tuple[PlannedPass, ...]
    output: Path
    raw: Path


def prepare(request: Request) -> Plan:
    """Find profiler and GPU and plan the passes; starts nothing but probes.

    Raises
    ------
    MachineError
        Without rocprofv3 or a GPU.
    UsageError, InputError
        If the request cannot be meant, or would overwrite a profile.
    """
    if request.launches and not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", request.launches):
        raise UsageError(f"--launches {request.launches} is not like 1-3", hint="1-3 or 2,5")
    output = request.output or Path(f"{_program(request.argv)}.rocperf")
    if output.exists() and not request.force and request.resume is None:
        raise InputError(f"{output} already exists", hint="--force replaces it; or choose -o")
    target = targets()[0]
    profiler = find(request.rocprofv3)
    counter_passes = plan_passes(request.metrics, target)
    if counter_passes and request.stdin is None and _piped():
        raise UsageError(
            "standard input is a pipe, which only the first run of the program could read",
            hint="give every run the same input with --stdin FILE",
        )
    raw = output.with_name(output.name + ".raw")
    passes = [_planned(request, profiler, raw, 1, "timing", "times", ())]
    for number, each in enumerate(counter_passes, 2):
        purpose = "counters for " + ", ".join(each.metrics)
        passes.append(_planned(request, profiler, raw, number, "counters", purpose, each.counters))
    return Plan(request, profiler, target, tuple(passes), output, raw)


def describe(plan: Plan) -> str:
    """Return the plan as text: what each run is for, its counters and its exact command."""
    version = ".".join(map(str, plan.profiler.version)) if plan.profiler.version else "unknown"
    lines = [
        f"{plan.profiler.path} (ROCm {version}), GPU {plan.target}",
        f"The program runs {len(plan.passes)} times; its side effects happen once a run.",
    ]
    for each in plan.passes:
        lines += ["", f"{each.number}. {each.purpose}"]
        if each.counters:
            lines.append(f"   counters: {' '.join(each.counters)}")
        lines.append(f"   $ {shlex.join(each.argv)}")
    return "\n".join([*lines, "", f"Result: {plan.output}, {plan.raw}/"]) + "\n"


def _planned(
    request: Request,
    profiler: Profiler,
    raw: Path,
    number: int,
    role: str,
    purpose: str,
    counters: tuple[str, ...],
) -> PlannedPass:
    folder = raw / f"pass_{number}"
    argv = [str(profiler.path)]
    if counters:
        argv += ["--pmc", *counters]
        if request.kernels:
            argv += ["--kernel-include-regex", request.kernels]
        if request.launches:
            argv += ["--kernel-iteration-range", f"[{request.launches}]"]
    else:
        argv += [name for name in _TIMING if not profiler.options or name in profiler.options]
    if "--agent-index" in profiler.options:
        argv += ["--agent-index", "absolute"]
    form = "rocpd" if profiler.writes_rocpd else "csv"
    argv += ["--output-format", form, "-d", str(folder), "-o", "%pid%", "--", *request.argv]
    return PlannedPass(number, role, purpose, counters, tuple(argv), folder)


def _program(argv: Sequence[str]) -> str:
    """Name the profile after the program, or after the script that an interpreter runs."""
    if not argv:
        return "app"
    if _INTERPRETERS.match(Path(argv[0]).name):
        for argument in argv[1:]:
            if not argument.startswith("-"):
                return Path(argument).stem
    return Path(argv[0]).stem


def _piped() -> bool:
    try:
        return not sys.stdin.isatty() and os.fstat(sys.stdin.fileno()).st_mode & 0o170000 == 0o10000
    except (OSError, ValueError, AttributeError):
        return False
