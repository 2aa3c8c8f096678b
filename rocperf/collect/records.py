"""A counter run as the manifest will have it, with its exact command. Pure."""

from __future__ import annotations

from pathlib import Path

from rocperf.collect import command
from rocperf.collect.locate import Profiler
from rocperf.collect.manifest import Record
from rocperf.collect.passes import CounterPass
from rocperf.collect.request import Request


def can_count(profiler: Profiler) -> bool:
    """Tell whether a rocprofv3 takes counters on its command line, as those of ROCm 6.3 do."""
    return not profiler.options or "--pmc" in profiler.options


def counter_record(
    request: Request,
    profiler: Profiler,
    raw: Path,
    number: int,
    wanted: CounterPass,
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
    return Record(
        number,
        "counters",
        purpose,
        argv,
        wanted.counters,
        wanted.metrics,
        folder,
        kernels=kernels,
    )
