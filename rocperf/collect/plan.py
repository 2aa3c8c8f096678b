"""A request, and the plan that follows from it: every run with its exact command."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rocperf.collect import accumulated, availability, command, inputs, machine, manifest
from rocperf.collect.counting import Chosen, choose
from rocperf.collect.deepen import deepened
from rocperf.collect.describe import warnings
from rocperf.collect.locate import Profiler, find
from rocperf.collect.machine import Machine
from rocperf.collect.manifest import Manifest, Record
from rocperf.collect.records import can_count, counter_record
from rocperf.collect.request import Request, check, program_name
from rocperf.errors import InputError, MachineError, UsageError
from rocperf.ingest.collected import MANIFEST


@dataclass(frozen=True)
class Plan:
    """Everything that will be run.

    Parameters
    ----------
    manifest
        What the raw folder's manifest will say; its passes that are not complete are run.
    warnings
        What the user should know before.
    checked_by
        What told which counters fit into one run; empty where no pass was planned.
    only
        Numbers of the passes that are to be run; empty for all that are not complete.
    """

    request: Request
    profiler: Profiler
    machine: Machine
    target: str
    manifest: Manifest
    output: Path
    raw: Path
    warnings: tuple[str, ...] = ()
    checked_by: str = ""
    only: frozenset[int] = frozenset()

    @property
    def passes(self) -> tuple[Record, ...]:
        """The runs of the program that are to be made."""
        return tuple(
            each
            for each in self.manifest.passes
            if not each.complete and (not self.only or each.number in self.only)
        )


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
    check(request)
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
    planned, chosen = _planned(request, before, profiler, found, raw.absolute())
    plan = Plan(request, profiler, found, target, planned, output, raw, checked_by=chosen.told)
    if before is not None and request.deepen is not None:
        added = planned.passes[len(before.passes) :]
        plan = replace(plan, only=frozenset(each.number for each in added))
    if len(plan.passes) > 1 and request.stdin is None and inputs.piped():
        raise UsageError(
            f"standard input is a pipe, which only the first of {len(plan.passes)} runs could read",
            hint="give every run the same input with --stdin FILE (/dev/null for none)",
        )
    return replace(plan, warnings=(*warnings(plan), *chosen.warnings(target)))


def _planned(
    request: Request, before: Manifest | None, profiler: Profiler, found: Machine, raw: Path
) -> tuple[Manifest, Chosen]:
    """Return the manifest with every pass, and the counter runs that were chosen for it."""
    if before is not None and request.deepen is None:
        return before, Chosen()
    if before is not None and not can_count(profiler):
        raise MachineError(
            f"{profiler.path} has no --pmc", hint="counters need rocprofv3 of ROCm 6.3 or later"
        )
    target = before.target if before is not None else found.targets[0]
    taught = accumulated.available(profiler, target)
    ask = availability.find(profiler.path, target, accumulates=taught)
    if before is not None:
        return deepened(request, before, profiler, raw, ask)
    chosen = choose(request.metrics, target, ask) if can_count(profiler) else Chosen()
    return _new_manifest(request, profiler, found, target, raw, chosen), chosen


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
        metrics=request.metrics if request.deepen is not None else first.get("metrics", ()),
        stdin=stdin,
        kernels=first.get("kernels"),
        launches=first.get("launches"),
        region=first.get("region"),
    )


def _output(request: Request) -> Path:
    if request.resume is not None:
        path = request.resume
        return path.with_name(path.name.removesuffix(".raw")) if path.is_dir() else path
    return request.output or Path(f"{program_name(request.argv)}.rocperf")


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
    request: Request,
    profiler: Profiler,
    found: Machine,
    target: str,
    raw: Path,
    chosen: Chosen,
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
    for number, each in enumerate(chosen.passes, 2):
        first = first.with_pass(counter_record(request, profiler, raw, number, each))
    return first
