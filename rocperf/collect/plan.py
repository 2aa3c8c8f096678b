"""A request, and the plan that follows from it: every run with its exact command."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rocperf.collect import command, inputs, machine, manifest, passes
from rocperf.collect.availability import Availability, find_tool
from rocperf.collect.locate import Profiler, find
from rocperf.collect.machine import Machine
from rocperf.collect.manifest import Manifest, Record
from rocperf.errors import InputError, MachineError, UsageError
from rocperf.ingest.collected import MANIFEST

_SHELLS = re.compile(r"(python[\d.]*|bash|sh|env)\Z")
_RUNNERS = re.compile(_SHELLS.pattern + r"|(torchrun|accelerate|mpirun|mpiexec|srun)\Z")
_FILE_NAME = re.compile(r"\w[\w.+-]*")
_LAUNCHES = re.compile(r"\d{1,9}(-\d{1,9})?(,\d{1,9}(-\d{1,9})?)*")


@dataclass(frozen=True)
class Request:
    """What the user asks for; the fields are the options of ``rocperf collect``.

    Parameters
    ----------
    argv
        The program and its arguments; may be empty with `resume`.
    metrics
        Ids of metrics, most valuable first.
    output
        The profile; by default named after the program.
    force
        Replace an existing one.
    rocprofv3
        The profiler; searched when None.
    kernels, launches
        Which kernels and which launches of each to take counters of.
    region
        Take counters only of kernels launched inside this roctx range.
    timeout_s
        Seconds for each pass.
    stdin
        File that every run reads as its standard input.
    allow_serialised
        Take counters although kernels that wait for each other were seen.
    resume
        Profile, or its raw folder, whose missing passes are to be run.
    """

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
class Plan:
    """Everything that will be run.

    Parameters
    ----------
    manifest
        What the raw folder's manifest will say; its passes that are not complete are run.
    warnings
        What the user should know before.
    """

    request: Request
    profiler: Profiler
    machine: Machine
    target: str
    manifest: Manifest
    output: Path
    raw: Path
    warnings: tuple[str, ...] = ()

    @property
    def passes(self) -> tuple[Record, ...]:
        """The runs of the program that are to be made."""
        return tuple(each for each in self.manifest.passes if not each.complete)


def prepare(request: Request) -> Plan:
    """Find profiler and GPU and plan the passes; starts nothing but probes.

    Parameters
    ----------
    request
        What the user asks for.

    Raises
    ------
    MachineError
        Without a GPU that may be used, or without rocprofv3.
    UsageError, InputError
        If the request cannot be meant, or would overwrite something.
    """
    _check(request)
    before = manifest.read(raw_of(request.resume)) if request.resume is not None else None
    request = _resumed(request, before) if before is not None else request
    output = _output(request)
    raw = raw_of(output)
    command.check_folder(raw.absolute())
    if request.resume is None:
        _refuse_overwriting(output, raw, force=request.force)
    found = machine.look()
    if trouble := machine.device_trouble():
        raise MachineError(f"no AMD GPU visible: {trouble.message}", hint=trouble.fix)
    target = before.target if before is not None else found.targets[0]
    profiler = find(request.rocprofv3)
    planned = before or _new_manifest(request, profiler, found, target, raw.absolute())
    plan = Plan(request, profiler, found, target, planned, output, raw)
    if len(plan.passes) > 1 and request.stdin is None and inputs.piped():
        raise UsageError(
            f"standard input is a pipe, which only the first of {len(plan.passes)} runs could read",
            hint="give every run the same input with --stdin FILE (/dev/null for none)",
        )
    return replace(plan, warnings=_warnings(plan))


def _check(request: Request) -> None:
    if not request.argv and request.resume is None:
        raise UsageError("there is no program to run", hint="rocperf collect ./app args")
    if request.launches:
        ends = [part.split("-") for part in request.launches.split(",")]
        valid = _LAUNCHES.fullmatch(request.launches)
        if not valid or any(not 0 < int(e[0]) <= int(e[-1]) for e in ends):
            raise UsageError(
                f"--launches {request.launches}: launches are counted from 1", hint="1-3 or 2,5"
            )
    if request.kernels is not None:
        try:
            re.compile(request.kernels)
        except re.error as error:
            raise UsageError(
                f"--kernels {request.kernels}: {error}", hint="it is a regular expression"
            ) from error
    if request.timeout_s is not None and not request.timeout_s > 0:
        raise UsageError(f"--timeout {request.timeout_s:g}: seconds are above 0")
    if request.stdin is not None:
        os.close(inputs.open_input(request.stdin))


def raw_of(output: Path) -> Path:
    """Return the raw folder of a profile; the folder itself when that is given."""
    return output if output.is_dir() else output.with_name(output.name + ".raw")


def _resumed(request: Request, before: Manifest) -> Request:
    """Go on with the program and the filters of the first collection."""
    if request.argv and request.argv != before.command:
        raise UsageError(
            f"--resume goes on with {shlex.join(before.command)}", hint="leave the program out"
        )
    first: Mapping[str, Any] = before.options
    for name in ("kernels", "launches", "region"):
        given = getattr(request, name)
        if given is not None and given != first.get(name):
            raise UsageError(
                f"--resume goes on with --{name} {first.get(name)}", hint=f"leave --{name} out"
            )
    stdin = request.stdin or (Path(first["stdin"]) if first.get("stdin") else None)
    return replace(
        request,
        argv=before.command,
        metrics=tuple(first.get("metrics", ())),
        stdin=stdin,
        kernels=first.get("kernels"),
        launches=first.get("launches"),
        region=first.get("region"),
    )


def _output(request: Request) -> Path:
    if request.resume is not None:
        path = request.resume
        return path.with_name(path.name.removesuffix(".raw")) if path.is_dir() else path
    return request.output or Path(f"{_program(request.argv)}.rocperf")


def _refuse_overwriting(output: Path, raw: Path, *, force: bool) -> None:
    if output.exists() and not force:
        raise InputError(f"{output} already exists", hint="--force replaces it; or choose -o")
    if output.is_dir() or (raw.exists() and not raw.is_dir()):
        raise InputError(f"{output if output.is_dir() else raw} is in the way", hint="choose -o")
    if not raw.is_dir() or not any(raw.iterdir()):
        return
    if not (raw / MANIFEST).is_file():
        raise InputError(f"{raw} was not made by rocperf collect", hint="move it, or choose -o")
    if force:
        return
    if any(each.complete for each in manifest.read(raw).passes):
        raise InputError(
            f"{raw} holds passes of a collection that did not end",
            hint=f"rocperf collect --resume {output} goes on with it; --force replaces it",
        )


def _new_manifest(
    request: Request, profiler: Profiler, found: Machine, target: str, raw: Path
) -> Manifest:
    options = {
        "metrics": list(request.metrics),
        "kernels": request.kernels,
        "launches": request.launches,
        "region": request.region,
        "stdin": str(request.stdin.absolute()) if request.stdin else None,
    }
    versions = {
        "rocprofv3": profiler.tool_version,
        "rocm": ".".join(map(str, profiler.version)) if profiler.version else None,
    }
    rows = {"agents": list(found.agents), "links": list(found.links)}
    argv = command.timing(profiler, raw / "pass_1", request.argv)
    timing = Record(1, "timing", "times of kernels, copies and calls", argv, (), (), "pass_1")
    first = manifest.new(request.argv, target, options, rows, versions).with_pass(timing)
    if not can_count(profiler):
        return first
    ask = Availability(find_tool(profiler.path), target)
    for number, each in enumerate(passes.plan(request.metrics, target, check=ask.fits), 2):
        first = first.with_pass(counter_record(request, profiler, raw, number, each))
    return first


def can_count(profiler: Profiler) -> bool:
    """Tell whether a rocprofv3 takes counters on its command line, as those of ROCm 6.3 do."""
    return not profiler.options or "--pmc" in profiler.options


def counter_record(
    request: Request,
    profiler: Profiler,
    raw: Path,
    number: int,
    wanted: passes.CounterPass,
    kernels: str | None = None,
) -> Record:
    """Describe a counter run.

    Parameters
    ----------
    kernels
        Filter of kernel names instead of the request's own.
    """
    folder = f"pass_{number}"
    argv = command.counting(
        profiler,
        raw.absolute() / folder,
        request.argv,
        wanted.counters,
        kernels=kernels or request.kernels,
        launches=request.launches,
    )
    parts = [f"part of {m}" if m in wanted.stitched else m for m in wanted.metrics]
    purpose = "counters for " + ", ".join(parts)
    return Record(number, "counters", purpose, argv, wanted.counters, wanted.metrics, folder)


def _warnings(plan: Plan) -> tuple[str, ...]:
    found = list(machine.visibility_warnings(os.environ, len(plan.machine.targets)))
    others = sorted(set(plan.machine.targets) - {plan.target})
    if others:
        found.append(f"counters are planned for {plan.target}; {', '.join(others)} may lack some")
    counting = any(each.counters for each in plan.passes)
    if counting and machine.gated(plan.target, machine.performance_levels()):
        found.append(
            f"{plan.target} stops the clock of most counters unless clocks are fixed:"
            f" `{machine.FIX_CLOCKS}`"
        )
    if not can_count(plan.profiler) and plan.request.metrics:
        found.append("this rocprofv3 has no --pmc: counters need that of ROCm 6.3 or later")
    if absent := passes.unmeasurable(plan.request.metrics, plan.target):
        found.append(f"{plan.target} has no counters for {', '.join(absent)}")
    return tuple(found)


def describe(plan: Plan) -> str:
    """Return the plan as text: what each run is for, its counters and its exact command."""
    count = len(plan.passes)
    times = "once" if count == 1 else f"{count} times"
    lines = [
        f"{plan.profiler.path} ({plan.profiler.told}), GPU {plan.target}",
        f"The program runs {times}; its side effects (files, network) happen once per run.",
        *(f"note: {text}" for text in plan.warnings),
    ]
    done = len(plan.manifest.passes) - count
    if done:
        lines.append(f"{done} of {len(plan.manifest.passes)} passes are there already.")
    for each in plan.passes:
        lines += ["", f"{each.number}. {each.purpose}"]
        if each.counters:
            lines.append(f"   counters: {' '.join(each.counters)}")
            if plan.request.region:
                lines.append(
                    f"   of the kernels that the timing run sees in {plan.request.region!r}"
                )
        lines.append(f"   $ {shlex.join(each.argv)}")
    lines += ["", "Variables of profilers (ROCPROF_*) are not passed on."]
    return "\n".join([*lines, f"Result: {plan.output} and {plan.raw}/"]) + "\n"


def _program(argv: Sequence[str]) -> str:
    """Name the profile after the program, or after the script that it runs."""
    names = [argv[0]]
    if _RUNNERS.match(Path(argv[0]).name):
        scripts = [a for a in argv[1:] if Path(a).suffix in (".py", ".sh")]
        plain = [a for a in argv[1:] if not a.startswith("-") and "=" not in a]
        names = [*scripts[:1], *(plain[:1] if _SHELLS.match(Path(argv[0]).name) else []), argv[0]]
    stems = (Path(name).stem.strip(".") for name in names)
    return next((stem for stem in stems if _FILE_NAME.fullmatch(stem)), "app")
