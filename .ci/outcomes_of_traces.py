"""Write the page of what every analysis says of every recorded trace.

``outcomes_of_traces.py`` writes it from the recordings that ``ROCPERF_TRACES`` names; with
``--check`` it changes nothing and fails when the page differs. Only names, outcomes and reasons
go into the page, no recorded data.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reference_page import table

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "explanation" / "analyses" / "recorded-traces.md"
TRACES = Path(os.environ.get("ROCPERF_TRACES") or ROOT.parent / "shared" / "traces")
#: Words of a reason, and what the page calls it.
KINDS = {
    "not available on": "counters that this GPU does not have",
    "the GPU is not known": "the name of the GPU",
    "the product of this": "the product, which tells the memory's bandwidth",
    "counters ": "counters that were collected",
    "trustworthy": "counters to trust: of long kernels, one pass, clocks that are not gated",
}
#: What tells that a folder is a recording of its own rather than one that holds some.
FILES = ("*.csv", "*.csv.gz", "*.db", "*.json", "*.json.gz")
HEAD = """<!-- Written by .ci/outcomes_of_traces.py: change the code, then run it. -->

# Analyses and recorded traces

What each analysis says of recordings of real GPUs that others have published. A number is how
many findings it has; · means that it looked and has none, which for most is right: nobody can be
told of copies that are fast. Where it could not judge a letter says why; the reasons are below
the table. Topologies are left out.
"""


def main(arguments: list[str]) -> int:
    """Write or check the page."""
    if not TRACES.is_dir():
        print(f"no recorded traces at {TRACES}: set ROCPERF_TRACES; nothing was compared")
        return int(arguments != ["--check"])
    outcomes = {name: found for name, found in _outcomes() if found}
    text = page(outcomes)
    if arguments == ["--check"]:
        if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text:
            return 0
        print(f"{PAGE.relative_to(ROOT)} is not current; run: python .ci/outcomes_of_traces.py")
        return 1
    PAGE.write_text(text, encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)} written")
    return 0


def _recordings() -> Iterator[tuple[str, Path]]:
    """Yield the folders that hold files of a profiler, by name."""
    for folder in sorted(each for each in TRACES.rglob("*") if each.is_dir()):
        mine = any(next(folder.glob(each), None) for each in FILES)
        above = any(
            next(up.glob(each), None)
            for up in folder.parents
            if up != TRACES and up.is_relative_to(TRACES)
            for each in FILES
        )
        if mine and not above and not folder.name.startswith("topology"):
            yield str(folder.relative_to(TRACES)), folder


def _outcomes() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the outcomes of every recording; none where it cannot be read."""
    command = [sys.executable, "-m", "rocperf"]
    with tempfile.TemporaryDirectory() as scratch:
        for number, (name, folder) in enumerate(_recordings()):
            print(name, file=sys.stderr)
            profile = Path(scratch) / f"{number}.rocperf"
            read = subprocess.run(
                [*command, "ingest", "--quiet", str(folder), "-o", str(profile)],
                check=False,
                capture_output=True,
            )
            if read.returncode or not profile.exists():
                continue
            said = subprocess.run(
                [*command, "analyze", "--quiet", "--format", "json", str(profile)],
                check=True,
                capture_output=True,
                text=True,
            )
            yield name, json.loads(said.stdout)["outcomes"]


def page(outcomes: Mapping[str, list[dict[str, Any]]]) -> str:
    """Return the page for the outcomes by recording."""
    names = sorted({each["analysis"] for found in outcomes.values() for each in found})
    reasons = Counter(
        reason for found in outcomes.values() for each in found for reason in _reasons(each)
    )
    order = [reason for reason, _ in sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))]
    letters = {reason: _letter(number) for number, reason in enumerate(order)}
    traces = list(outcomes)
    rows = []
    for name in names:
        cells = []
        for trace in traces:
            one = next(each for each in outcomes[trace] if each["analysis"] == name)
            cells.append(_cell(one, letters))
        rows.append((f"[{name}]({name}.md)", *cells))
    columns = ("analysis", *(str(number) for number in range(1, len(traces) + 1)))
    listed = "\n".join(f"{number}. `{trace}`" for number, trace in enumerate(traces, 1))
    why = table(("", "could not be judged without"), [(letters[each], each) for each in order])
    return f"{HEAD}\n{listed}\n\n{table(columns, rows)}\n{why}"


def _reasons(outcome: Mapping[str, Any]) -> list[str]:
    if outcome["status"] == "completed":
        return []
    return list(dict.fromkeys(map(_kind, outcome["missing"] or [str(outcome["error"])])))


def _kind(reason: str) -> str:
    """Leave the figures and names of one recording out of a reason, so that equal ones meet."""
    for beginning, kind in KINDS.items():
        if beginning in reason:
            return kind
    return re.split(r"[:(]", reason)[0].strip()


def _cell(outcome: Mapping[str, Any], letters: Mapping[str, str]) -> str:
    if outcome["status"] == "completed":
        return str(len(outcome["findings"])) if outcome["findings"] else "·"
    return ", ".join(letters[each] for each in _reasons(outcome))


def _letter(number: int) -> str:
    """Name reasons a to z, then aa, ab and so on."""
    most = "abcdefghijklmnopqrstuvwxyz"
    return (most[number // 26 - 1] if number >= 26 else "") + most[number % 26]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
