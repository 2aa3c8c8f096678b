"""What the user asks for, and whether that can be meant."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rocperf.collect import inputs
from rocperf.errors import UsageError

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
    deepen
        Full names of kernels of which further passes are to bring `metrics`; the profile is that
        of `resume`. None for an ordinary collection.
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
    deepen: Sequence[str] | None = None


def check(request: Request) -> None:
    """Refuse a request that cannot be meant.

    Raises
    ------
    UsageError, InputError
        With what to write instead.
    """
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


def program_name(argv: Sequence[str]) -> str:
    """Name the profile after the program, or after the script that it runs."""
    names = [argv[0]]
    if _RUNNERS.match(Path(argv[0]).name):
        scripts = [a for a in argv[1:] if Path(a).suffix in (".py", ".sh")]
        plain = [a for a in argv[1:] if not a.startswith("-") and "=" not in a]
        names = [*scripts[:1], *(plain[:1] if _SHELLS.match(Path(argv[0]).name) else []), argv[0]]
    stems = (Path(name).stem.strip(".") for name in names)
    return next((stem for stem in stems if _FILE_NAME.fullmatch(stem)), "app")
