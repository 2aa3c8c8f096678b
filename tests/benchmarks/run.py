"""Measure ingest and the analyses on generated input, and print a table.

::

    python tests/benchmarks/run.py                      10k, 100k and 1M dispatches
    python tests/benchmarks/run.py --sizes 1000000,3000000
    python tests/benchmarks/run.py --write              also write docs/reference/benchmarks.md

Nothing is asserted: times depend on the machine. What is compared is measured in one run of
this script, each thing in a process of its own, one after the other.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PAGE = ROOT / "docs" / "reference" / "benchmarks.md"
Facts = dict[str, Any]
#: The analyses whose time has a floor of its own.
FOUR = "occupancy,coalescing,lds-bank-conflicts,memcpy-bandwidth"


@dataclass
class Size:
    """What was measured for one number of dispatches."""

    dispatches: int
    alone: Facts = field(default_factory=dict)
    csv: Facts = field(default_factory=dict)
    rocpd: Facts = field(default_factory=dict)
    analyses: Facts = field(default_factory=dict)
    four: Facts = field(default_factory=dict)

    @property
    def against_alone(self) -> float:
        """Rows a second of the CSV ingest over those of DuckDB alone."""
        return rate(self.csv) / rate(self.alone)

    @property
    def against_csv(self) -> float:
        """Time of the rocpd ingest over that of the CSV ingest."""
        return float(self.rocpd["seconds"]) / float(self.csv["seconds"])


def rate(facts: Facts) -> float:
    """Return rows a second."""
    return float(facts["rows"]) / float(facts["seconds"])


def measure(*arguments: str) -> Facts:
    """Do one thing in a process of its own and return what it says."""
    done = subprocess.run(
        [sys.executable, str(HERE / "work.py"), *arguments],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"failed: {' '.join(arguments)}")
    facts: Facts = json.loads(done.stdout.splitlines()[-1])
    return facts


def best(times: int, *arguments: str) -> Facts:
    """Repeat a measurement and keep the fastest, with the highest peak of memory."""
    found = [measure(*arguments) for _ in range(times)]
    fastest = min(found, key=lambda facts: float(facts["seconds"]))
    return fastest | {"peak_mb": max(float(facts["peak_mb"]) for facts in found)}


def measure_size(dispatches: int, folder: Path, repeat: int) -> Size:
    """Generate input of one size and measure everything on it."""
    say(f"{dispatches:,} dispatches: generating")
    measure("generate", str(folder), str(dispatches))
    size = Size(dispatches)
    csv, rocpd = folder / "csv", folder / "rocpd"
    steps = (
        ("alone", "baseline", csv, "alone.duckdb"),
        ("csv", "ingest", csv, "csv.rocperf"),
        ("rocpd", "ingest", rocpd, "rocpd.rocperf"),
    )
    for name, what, source, output in steps:
        say(f"{dispatches:,} dispatches: {name}")
        facts = best(repeat, what, str(source), str(folder / output))
        if facts["rows"] != (size.alone or facts)["rows"]:
            raise SystemExit(f"{name}: {facts['rows']:,} rows where {size.alone['rows']:,} are")
        facts["bytes"] = sum(p.stat().st_size for p in source.rglob("*") if p.is_file())
        setattr(size, name, facts)
    say(f"{dispatches:,} dispatches: analyses")
    profile = str(folder / "rocpd.rocperf")
    size.four = best(repeat, "analyses", profile, FOUR)
    size.analyses = best(repeat, "analyses", profile)
    return size


def help_facts() -> Facts:
    """Time ``rocperf --help`` and list the heavy packages that it loads."""
    start = time.perf_counter()
    code = (
        "import sys\nfrom rocperf.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print(*sorted({'duckdb', 'polars', 'pyarrow', 'textual'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True
    )
    return {"seconds": time.perf_counter() - start, "loads": done.stdout.splitlines()[-1].split()}


def recorded_facts(folder: Path) -> Facts | None:
    """Time a recorded workload folder, where recorded traces are at hand."""
    home = Path(os.environ.get("ROCPERF_TRACES") or ROOT.parent / "shared" / "traces")
    source = home / "compute_vcopy" / "MI300X_A1"
    if not source.is_dir():
        return None
    say("a recorded workload folder")
    output = folder / "recorded.rocperf"
    took = measure("ingest", str(source), str(output))
    return {"ingest": took, "analyses": measure("analyses", str(output), FOUR)}


def say(text: str) -> None:
    """Tell on standard error what goes on."""
    print(text, file=sys.stderr, flush=True)


# -- the table -----------------------------------------------------------------------------


def report(sizes: Sequence[Size], helped: Facts, recorded: Facts | None) -> Iterator[str]:
    """Yield the lines of the page."""
    yield from _heading()
    yield "## Ingest\n"
    yield (
        "Rows are dispatches, counter values, copies and API calls. *DuckDB alone* is a typed "
        "`read_csv` of the same columns of the same CSV files into tables, under the same memory "
        "limit.\n"
    )
    yield "| dispatches | what | input MB | rows | s | rows/s | peak MB | ratio |"
    yield "| ---: | --- | ---: | ---: | ---: | ---: | ---: | --- |"
    for size in sizes:
        yield _ingest_row(size, "DuckDB alone", size.alone, "")
        yield _ingest_row(size, "CSV", size.csv, f"{size.against_alone:.2f} of DuckDB's rows/s")
        yield _ingest_row(size, "rocpd", size.rocpd, f"{size.against_csv:.2f} times CSV's time")
    yield "\n## The analyses that ship\n"
    yield f"| analysis | {' | '.join(f'{size.dispatches:,}, s' for size in sizes)} |"
    yield "| --- |" + " ---: |" * len(sizes)
    for name in sizes[0].analyses["each"]:
        yield f"| {name} | {' | '.join(_one(size.analyses, name) for size in sizes)} |"
    for title, which in (("**all**", "analyses"), ("**four of them, alone**", "four")):
        taken = [float(getattr(size, which)["seconds"]) for size in sizes]
        yield f"| {title} | {' | '.join(f'{seconds:.2f}' for seconds in taken)} |"
    peaks = " | ".join(f"{size.analyses['peak_mb']:.0f} MB" for size in sizes)
    yield f"| peak of all | {peaks} |"
    yield (
        "\nOver the rocpd profile, by number of dispatches. *All* includes opening the profile and "
        "loading the plugins; the\nfirst analysis includes what is asked first of a cold file. "
        f"The four are {FOUR.replace(',', ', ')}.\n"
    )
    yield "## Floors\n"
    yield "| what | floor | measured | holds |"
    yield "| --- | --- | --- | --- |"
    for what, floor, measured, holds in floors(sizes, helped, recorded):
        yield f"| {what} | {floor} | {measured} | {'yes' if holds else '**no**'} |"


def _heading() -> Iterator[str]:
    packages = ", ".join(f"{p} {version(p)}" for p in ("rocperf", "duckdb", "polars", "pyarrow"))
    yield "<!-- Written by tests/benchmarks/run.py --write. -->\n"
    yield "# Benchmarks\n"
    yield (
        f"Measured on {datetime.now(UTC):%Y-%m-%d} with Python {platform.python_version()} "
        f"({packages}) on {os.cpu_count()} cores ({platform.machine()}), by\n"
        "`python tests/benchmarks/run.py --write`, on generated input: two runs of a program, one "
        "for times with four HIP\ncalls a dispatch and a copy for every tenth, one with four "
        "counters a dispatch. Each number is of a process of\nits own; MB are millions of bytes.\n"
    )


def _ingest_row(size: Size, what: str, facts: Facts, ratio: str) -> str:
    return (
        f"| {size.dispatches:,} | {what} | {facts['bytes'] / 1e6:,.0f} | {facts['rows']:,} "
        f"| {facts['seconds']:.2f} | {rate(facts):,.0f} | {facts['peak_mb']:.0f} | {ratio} |"
    )


def _one(facts: Facts, name: str) -> str:
    status = str(facts["statuses"][name]).lower()
    return f"{facts['each'][name]:.2f}" + ("" if status == "completed" else f" ({status})")


def floors(
    sizes: Sequence[Size], helped: Facts, recorded: Facts | None
) -> Iterator[tuple[str, str, str, bool]]:
    """Yield what must hold: what, the floor, what was measured, whether it holds."""
    by_size = {size.dispatches: size for size in sizes}
    million = by_size.get(1_000_000)
    if million is not None:
        ratio = million.against_alone
        yield "CSV ingest, 1M", "≥ 0.5 of DuckDB alone", f"{ratio:.2f}", ratio >= 0.5
        ratio = million.against_csv
        yield "rocpd ingest, 1M", "≤ 1.5 times CSV", f"{ratio:.2f}", ratio <= 1.5
        peak = max(float(million.csv["peak_mb"]), float(million.rocpd["peak_mb"]))
        yield "peak memory of ingest, 1M", "< 600 MB", f"{peak:.0f} MB", peak < 600
        taken = float(million.four["seconds"])
        yield "four analyses, 1M", "< 3 s", f"{taken:.2f} s", taken < 3
        taken += float(million.rocpd["seconds"])
        yield "rocpd ingest and four analyses, 1M", "< 20 s", f"{taken:.1f} s", taken < 20
        taken, peak = (float(million.analyses[name]) for name in ("seconds", "peak_mb"))
        yield "all analyses, 1M", "< 10 s", f"{taken:.2f} s", taken < 10
        yield "peak memory of all analyses, 1M", "< 1,500 MB", f"{peak:.0f} MB", peak < 1500
    three = by_size.get(3_000_000)
    if million is not None and three is not None:
        for name in ("csv", "rocpd"):
            before, after = getattr(million, name)["peak_mb"], getattr(three, name)["peak_mb"]
            growth = after / before - 1
            yield (
                f"growth of peak memory, {name}, 1M to 3M",
                "< 20 %",
                f"{growth:.0%}",
                growth < 0.2,
            )
    if recorded is not None:
        taken = sum(float(facts["seconds"]) for facts in recorded.values())
        yield (
            "recorded folder of three dispatches, four analyses",
            "< 2 s",
            f"{taken:.2f} s",
            taken < 2,
        )
    loads = ", ".join(helped["loads"]) or "none"
    heavy = {"duckdb", "polars", "textual"} & set(helped["loads"])
    measured = f"{loads}; {helped['seconds']:.2f} s"
    yield "`rocperf --help` loads", "no duckdb, polars, textual", measured, not heavy


def main(arguments: list[str]) -> int:
    """Measure and print."""
    options = argparse.ArgumentParser(description="Measure ingest and analyses.")
    options.add_argument("--sizes", default="10000,100000,1000000", help="dispatches, by comma")
    options.add_argument("--repeat", type=int, default=1, help="keep the fastest of so many")
    options.add_argument("--folder", type=Path, help="where to generate (default: temporary)")
    options.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    chosen = options.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="rocperf-benchmark-", dir=chosen.folder))
    try:
        sizes: list[Size] = []
        for number in (int(text) for text in chosen.sizes.split(",")):
            place = folder / str(number)
            sizes.append(measure_size(number, place, chosen.repeat))
            shutil.rmtree(place)
        text = "\n".join(report(sizes, help_facts(), recorded_facts(folder))) + "\n"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(text)
    if chosen.write:
        PAGE.write_text(text, encoding="utf-8")
        say(f"written: {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
