"""How many runs the shipped analyses need, and that the documentation says so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rocperf import pipeline
from rocperf.collect.limits import ANCHORS, fits
from rocperf.collect.passes import plan

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "collect-and-passes.md"
TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
#: Most runs that looking at every kernel for the first time may take.
MOST = 5

SHIPPED = ("coalescing", "lds-bank-conflicts", "memcpy-bandwidth", "occupancy")


def table() -> dict[str, tuple[int, str]]:
    """Read what the page says: runs and counters of each counter run, by target."""
    rows = re.findall(r"(?m)^\| (gfx\w+) \| (\d+) \| ([\d, ]+|none) \|$", PAGE.read_text())
    return {target: (int(runs), counters) for target, runs, counters in rows}


def test_the_page_states_every_target() -> None:
    assert tuple(table()) == TARGETS


@pytest.mark.parametrize("target", TARGETS)
def test_the_triage_set_takes_what_the_page_says(target: str) -> None:
    known = pipeline.installed().analyses()
    shipped = tuple(name for name in known if known[name].__module__.startswith("rocperf_analyses"))
    assert set(SHIPPED) <= set(shipped)

    passes = plan(pipeline.metrics_needed(pipeline.Selection(only=shipped), deep=False), target)

    runs, counters = table()[target]
    assert 1 + len(passes) == runs, "run .ci/generate_reference.py"
    assert counters == (", ".join(str(len(each.counters)) for each in passes) or "none")
    assert runs <= MOST
    assert all(fits(each.counters, target) for each in passes)
    assert all(each.counters[:2] == ANCHORS and not each.stitched for each in passes)
