"""The text report: what a person reads first."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.cells import cell_len

from rocperf.model import (
    Completed,
    Failed,
    Finding,
    Measure,
    Query,
    RankedFinding,
    Severity,
    Skipped,
    Subject,
)
from rocperf.pipeline import Result, Summary
from rocperf.report.amounts import duration, share, size
from rocperf.report.terminal import Look, render_text

SUMMARY = Summary(
    path="app.rocperf",
    id="x",
    gpus=("AMD Instinct MI300X (gfx942)",),
    command="./app",
    runs=3,
    counter_runs=2,
    wall_ns=10_000_000,
    kernel_ns=8_000_000,
    serialised=False,
    dispatches=1200,
    kernels=7,
    copies=3,
    notes=(),
)


def ranked(name: str, saves: int | None, severity: Severity, **more: object) -> RankedFinding:
    finding = Finding(
        rule="coalescing/strided",
        subject=Subject("kernel", name),
        title=f"{name} reads 64 lines a wave instruction",
        advice="Let neighbouring lanes read neighbouring addresses.",
        saves_ns=saves,
        reasoning="The kernel cannot get faster than its traffic.",
        evidence=(
            Measure("lines per instruction", 64.0, "lines", limit=8.0),
            Query("rows", "SELECT 1"),
        ),
    )
    finding = replace(finding, **more)  # type: ignore[arg-type]
    return RankedFinding(finding, severity, None if saves is None else saves / 10_000_000)


def result(*findings: RankedFinding, outcomes: tuple[object, ...] = ()) -> Result:
    completed = Completed("coalescing", tuple(findings))
    return Result(SUMMARY, (completed, *outcomes), {"coalescing": "Coalesced access"}, {})  # type: ignore[arg-type]


def test_the_worst_comes_first_with_its_saving_and_share() -> None:
    text = render_text(
        result(
            ranked("small", 300_000, Severity.MINOR),
            ranked("big", 3_000_000, Severity.CRITICAL),
        )
    )
    assert text.index("big reads") < text.index("small reads")
    assert "CRITICAL · saves at most 3.00 ms, 30.0 %" in text
    assert "→ Let neighbouring lanes" in text


def test_a_saving_without_bound_is_said_to_be_so() -> None:
    text = render_text(result(ranked("k", None, Severity.INFO)))
    assert "saving not bounded" in text
    assert "None" not in text


def test_more_findings_than_a_screen_are_counted_not_lost() -> None:
    many = [ranked(f"kernel{n}", 1000 + n, Severity.INFO) for n in range(9)]
    first = render_text(result(*many))
    assert "… and 3 more: add --all" in first
    every = render_text(result(*many), Look(everything=True))
    assert sum(f"kernel{n} reads" in every for n in range(9)) == 9


def test_what_could_not_be_judged_comes_with_its_command() -> None:
    text = render_text(
        result(
            outcomes=(
                Skipped("occupancy", ("registers of the kernels",), "rocperf collect -- ./app"),
                Failed("mine", "ValueError: no"),
            )
        )
    )
    assert "occupancy: needs registers of the kernels" in text
    assert "$ rocperf collect -- ./app" in text
    assert "mine: failed: ValueError: no" in text


def test_a_profile_without_findings_says_what_looked() -> None:
    assert "Nothing to report from 1 analyses: Coalesced access." in render_text(result())


def test_nothing_judged_is_not_called_healthy() -> None:
    empty = Result(SUMMARY, (Skipped("a", ("x",)),), {}, {})
    assert "No analysis could judge this profile." in render_text(empty)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_the_screen(width: int) -> None:
    names = ("k" * 400, "核" * 100, "void f<int, 4>(float*)")
    text = render_text(
        result(*(ranked(n, 5, Severity.MINOR) for n in names)), Look(width=width, verbose=True)
    )
    # A rule or a path without a blank may stick out; text of the program never does.
    assert max(cell_len(line) for line in text.splitlines()) <= width


def test_control_sequences_in_names_are_shown_not_sent() -> None:
    text = render_text(result(ranked("a\x1b]0;title\x07b\u202ec", 5, Severity.MINOR)))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\u202e" not in text


def test_colour_adds_nothing_but_colour() -> None:
    one = ranked("k", 5, Severity.CRITICAL)
    plain = render_text(result(one))
    coloured = render_text(result(one), Look(colour=True))
    import re

    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_a_serialised_profile_says_so_and_states_no_wall_time() -> None:
    base = result(ranked("k", 5, Severity.INFO))
    text = render_text(replace(base, summary=replace(SUMMARY, serialised=True)))
    assert "No timing run" in text
    assert "wall" not in text


def test_amounts_have_three_digits_and_a_unit() -> None:
    assert duration(999) == "999 ns"
    assert duration(6249) == "6.25 µs"
    assert duration(4_441_741_378) == "4.44 s"
    assert duration(12_345_678) == "12.3 ms"
    assert size(33_554_432) == "32.0 MiB"
    assert size(1_574_502_400) == "1.47 GiB"
    assert share(0.9394) == "93.9 %"
