"""The things that are timed, each run in a process of its own by `run.measure`.

``python tests/benchmarks/work.py NAME ARGUMENT…`` prints one line of JSON: seconds of the work
without the imports, rows where there are any, and the peak of resident memory.
"""

from __future__ import annotations

import importlib
import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
Facts = dict[str, Any]


def peak_mb() -> float:
    """Return the peak of this process's resident memory, in MB.

    Linux carries `ru_maxrss` over from the process that forked this one; ``VmHWM`` is of this
    program alone.
    """
    try:
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    except OSError:
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def generate(folder: str, dispatches: str) -> Facts:
    """Write the input."""
    from rocperf.testing.simulator import generate as write

    write(Path(folder), int(dispatches))
    return {}


def baseline(folder: str, output: str) -> Facts:
    """Let DuckDB alone read the CSV files."""
    sys.path.insert(0, str(HERE))
    read_alone = importlib.import_module("baseline").read_alone
    Path(output).unlink(missing_ok=True)
    return timed(lambda: {"rows": read_alone(Path(folder), Path(output))})


def ingest(folder: str, output: str) -> Facts:
    """Ingest; rows are counted in the profile afterwards, outside the clock.

    In CSV, dispatches of a counter run are no records of their own, so they do not count.
    """
    from rocperf.ingest.load import ingest as load

    Path(output).unlink(missing_ok=True)
    facts = timed(lambda: {"profile": str(load([Path(folder)], Path(output), mode="replace"))})
    facts["peak_mb"] = peak_mb()
    facts["rows"] = _rows(Path(output))
    return facts


def _rows(profile: Path) -> int:
    import rocperf

    tables = ("dispatches", "counter_values", "copies", "api_calls")
    with rocperf.open(profile) as opened:
        return sum(int(opened.scalar(f"SELECT count(*) FROM {each}")) for each in tables)


def analyses(profile: str, only: str = "") -> Facts:
    """Run analyses over a profile, opening included, nothing cached; all by default."""
    from rocperf import pipeline

    selection = pipeline.Selection(only=tuple(only.split(",")) if only else ())

    Path(f"{profile}.findings.json").unlink(missing_ok=True)
    ends: list[tuple[str, float]] = []

    def run() -> Facts:
        began = time.perf_counter()
        result = pipeline.analyze(
            Path(profile),
            selection,
            on_outcome=lambda name: ends.append((name, time.perf_counter())),
        )
        starts = [began, *(end for _, end in ends)]
        each = {name: end - start for (name, end), start in zip(ends, starts, strict=False)}
        statuses = {o.analysis: type(o).__name__ for o in result.outcomes}
        return {"each": each, "statuses": statuses, "findings": len(result.findings)}

    return timed(run)


def timed(work: Callable[[], Facts]) -> Facts:
    """Time a piece of work."""
    start = time.perf_counter()
    facts = work()
    return {"seconds": time.perf_counter() - start, **facts}


def main(arguments: list[str]) -> int:
    """Do one thing and print its facts."""
    name, *rest = arguments
    things: dict[str, Callable[..., Facts]] = {
        "generate": generate,
        "baseline": baseline,
        "ingest": ingest,
        "analyses": analyses,
    }
    facts = things[name](*rest)
    print(json.dumps({"peak_mb": peak_mb(), **facts}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
