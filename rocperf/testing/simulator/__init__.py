"""A small model GPU that writes what rocprofv3 would write.

Counters follow from launch geometry by stated rules (`rules`, `clock`, `counters`), programs with
known faults are in `scenarios`, and the writers follow rocprofv3's own file formats. Standard
library only.

Examples
--------
>>> from rocperf.testing.simulator import Request, profile
>>> files = profile("strided_copy", Path("out/4242"), Request(counters=("SQ_WAVES",)), ["csv"])
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from rocperf.testing.simulator.bulk import generate
from rocperf.testing.simulator.counters import counters_of, fits
from rocperf.testing.simulator.csv_files import write_csv
from rocperf.testing.simulator.gpus import GPUS, Gpu
from rocperf.testing.simulator.json_file import write_json
from rocperf.testing.simulator.kernels import Access, Kernel, Launch, LdsAccess
from rocperf.testing.simulator.program import Program
from rocperf.testing.simulator.recording import Recording
from rocperf.testing.simulator.request import VERSIONS, Observed, Request, Session, observe
from rocperf.testing.simulator.rocpd_file import write_rocpd
from rocperf.testing.simulator.scenarios import SCENARIOS, Scenario, simulate

__all__ = [
    "GPUS",
    "SCENARIOS",
    "VERSIONS",
    "WRITERS",
    "Access",
    "Gpu",
    "Kernel",
    "Launch",
    "LdsAccess",
    "Observed",
    "Program",
    "Recording",
    "Request",
    "Scenario",
    "Session",
    "counters_of",
    "fits",
    "generate",
    "observe",
    "profile",
    "simulate",
    "write_csv",
    "write_json",
    "write_rocpd",
]

#: Writer by the format's name on the command line.
WRITERS: dict[str, Callable[[Observed, Path], list[Path]]] = {
    "csv": write_csv,
    "json": write_json,
    "rocpd": write_rocpd,
}


def profile(
    scenario: str,
    prefix: Path,
    request: Request,
    formats: Iterable[str] = ("csv",),
    *,
    gpu: str = "gfx942",
    session: Session | None = None,
    start: int = 1_000_000_000_000_000,
) -> list[Path]:
    """Play a scenario under a request and write what rocprofv3 would.

    Parameters
    ----------
    scenario, gpu
        Keys of `SCENARIOS` and `GPUS`.
    prefix
        Files are named ``<prefix>_<kind>``.
    request, session
        What was asked for, and who ran.
    formats
        Keys of `WRITERS`.
    start
        Host nanoseconds at which the process starts.

    Returns
    -------
    list of Path
        Files written.
    """
    recording = simulate(scenario, gpu=gpu, counted=bool(request.counters), start=start)
    observed = observe(recording, request, session or Session())
    return [path for name in formats for path in WRITERS[name](observed, prefix)]
