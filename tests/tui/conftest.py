"""A profile and outcomes for the screen, and snapshots of what it draws."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from textual.app import App

from rocperf.model import (
    Completed,
    Failed,
    Finding,
    Measure,
    Outcome,
    Query,
    RankedFinding,
    Severity,
    Skipped,
    Subject,
)
from rocperf.store import Store

#: A name that would quit the screen, colour the terminal and turn the line, were it obeyed.
HOSTILE = "[@click=app.quit]gemm[/] \x1b[31m<int>\u202e"
LONG = "void long_one<" + "int, " * 2000 + "int>(float*)"  # 10 kB
SNAPSHOTS = Path(__file__).parent / "snapshots"


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    """Return a profile of three kernels: 3000 ns in 2 dispatches, 1000 ns in 1, one untimed."""
    path = tmp_path / "p.rocperf"
    with Store.create(path) as store:
        names = [HOSTILE, LONG, "copy(float*, float const*)"]
        short = [HOSTILE, LONG, "copy"]
        kernels = {"kernel_id": [1, 2, 3], "name": names, "group_name": names}
        kernels |= {"short_name": short, "role": ["compute"] * 3}
        store.append("kernels", pl.DataFrame(kernels))
        run = {"run_id": [1], "role": ["timing"], "status": ["complete"]}
        store.append("runs", pl.DataFrame(run | {"start_ns": [0], "end_ns": [8000]}))
        rows = {
            "run_id": [1] * 4,
            "dispatch_id": [1, 2, 3, 4],
            "kernel_id": [1, 1, 3, 2],
            "start_ns": [0, 2000, 3000, 6000],
            "end_ns": [2000, 3000, 4000, 5000],  # the last one ends before it starts
        }
        store.append("all_dispatches", pl.DataFrame(rows))
        store.note("info", "sums-up", "y.csv only sums up what is read elsewhere")
        store.note("warning", "odd-rows", "2 rows of [bold]x.csv have\x07 no end", rows=2)
        store.commit()
    return path


def finding(rule: str, name: str, saves_ns: int | None) -> Finding:
    return Finding(
        rule=rule,
        subject=Subject("kernel", name),
        title=f"{name} touches 64 lines",
        advice="Index with threadIdx.x last.",
        saves_ns=saves_ns,
        reasoning="Traffic falls." if saves_ns else "Nothing bounds it.",
    )


@pytest.fixture
def hostile() -> str:
    """Return the hostile name of the first kernel."""
    return HOSTILE


@pytest.fixture
def outcomes() -> tuple[Outcome, ...]:
    """Return every kind of outcome, in no order."""
    small = finding("coalescing/uncoalesced", "copy(float*, float const*)", 200)
    unbounded = replace(
        finding("occupancy/tail", LONG, None), confidence="low", doubts=("One dispatch.",)
    )
    large = replace(
        finding("coalescing/uncoalesced", HOSTILE, 4000),
        evidence=(
            Measure("lines per access", 64.0, "lines", limit=24.0),
            Measure("dispatches", 12345, ""),
            Query("counters", "SELECT *\n FROM counters WHERE kernel = $name", {"name": "[b]x"}),
        ),
        command="rocperf collect --for coalescing -- ./app",
    )
    return (
        Completed(
            "coalescing",
            (
                RankedFinding(small, Severity.MINOR, 0.025),
                RankedFinding(large, Severity.CRITICAL, 0.5),
            ),
        ),
        Skipped("occupancy", ("rows in agents", "[i]registers"), "rocperf collect -- ./app"),
        Completed("tails", (RankedFinding(unbounded, Severity.INFO, None),)),
        Failed("mine", "ZeroDivisionError: [/] division\x1b[0m"),
    )


def _drawn(app: App[None]) -> list[str]:
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip).rstrip() for strip in strips]


@pytest.fixture
def drawn() -> Callable[[App[None]], list[str]]:
    """Return what gives the lines of cells on the screen, top to bottom."""
    return _drawn


@pytest.fixture
def snapshot() -> Callable[[App[None], str], None]:
    """Return a check that the screen draws what a file holds.

    With ROCPERF_UPDATE_SNAPSHOTS set it writes the file instead: look at it before you commit.
    """

    def check(app: App[None], name: str) -> None:
        path = SNAPSHOTS / f"{name}.txt"
        text = "\n".join(_drawn(app)) + "\n"
        if os.environ.get("ROCPERF_UPDATE_SNAPSHOTS"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text.splitlines() == path.read_text(encoding="utf-8").splitlines()

    return check
