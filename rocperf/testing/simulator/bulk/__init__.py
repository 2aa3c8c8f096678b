"""Big sets of profiler output, for benchmarks: a million dispatches in well under two minutes.

Two runs of one program, as a collector makes them: ``timing`` (kernels, copies, HIP calls) and
``counters`` (four counters a dispatch). The kernels are those of the scenarios.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rocperf.testing.simulator.bulk.csv_lines import write_lines
from rocperf.testing.simulator.bulk.database import write_database
from rocperf.testing.simulator.bulk.workload import PIDS, kinds


def generate(
    folder: Path, dispatches: int, formats: Iterable[str] = ("csv", "rocpd")
) -> dict[str, Path]:
    """Write two runs of a program with many dispatches.

    Parameters
    ----------
    folder
        Where to; made if missing.
    dispatches
        How many. There are four HIP calls and four counters for each, and a copy for every tenth.
    formats
        ``csv``, ``rocpd`` or both.

    Returns
    -------
    dict of str to Path
        By format a folder with ``timing`` and ``counters`` in it.
    """
    writers = {"csv": write_lines, "rocpd": write_database}
    workload = kinds()
    made: dict[str, Path] = {}
    for name in formats:
        made[name] = folder / name
        for run in PIDS:
            place = made[name] / run
            place.mkdir(parents=True, exist_ok=True)
            writers[name](place / str(PIDS[run]), run, dispatches, workload)
    return made
