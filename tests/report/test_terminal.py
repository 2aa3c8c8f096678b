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
from rocperf.profile.wall_time import WallTime
from rocperf.report.amounts import amount, count, duration, share, size
from rocperf.report.json_file import document
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
    assert "CRITICAL · saves at most 3.00 ms, 30.0 % of wall · coalescing/strided" in text
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


def test_analyses_that_lack_the_same_are_named_together_with_one_command() -> None:
    lacks = ("rows in copies",)
    text = render_text(
        result(
            outcomes=(
                Skipped("small-copies", lacks, "rocperf collect --for small-copies -- ./app x"),
                Skipped("occupancy", ("registers",), "rocperf collect --for occupancy -- ./app x"),
                Skipped("copy-overlap", lacks, "rocperf collect --for copy-overlap -- ./app x"),
            )
        )
    )
    assert "small-copies, copy-overlap: needs rows in copies" in text
    assert text.count("rocperf collect") == 1
    assert "  $ rocperf collect --for small-copies,copy-overlap,occupancy -- ./app x\n" in text


def test_a_command_is_given_once_and_one_of_another_tool_beside_its_analysis() -> None:
    resume, other = "rocperf collect --resume app.rocperf", "rocprofv3 --kfd-trace -- ./app"
    lacks = (
        Skipped("a", ("x",), resume),
        Skipped("b", ("y",), other),
        Skipped("c", ("z",), resume),
    )
    base = result(outcomes=(*lacks, Skipped("d", ("w",)), Skipped("e", ("v",), other)))
    text = render_text(base, Look(verbose=True))
    assert f"  a: needs x\n  b: needs y\n    $ {other}\n  c: needs z\n  d: needs w\n" in text
    assert text.endswith(f"\nTo collect what is needed:\n  $ {resume}\n")
    assert text.count(resume) == 1
    short = render_text(base)
    assert other not in short
    assert "  b, e: needs what rocperf collect does not record (-v says how)\n" in short


def test_for_many_analyses_everything_is_collected() -> None:
    command = "rocperf collect --for {} -- ./app"
    many = [Skipped(name, (f"x{name}",), command.format(name)) for name in "abcde"]
    text = render_text(result(outcomes=(*many,)))
    assert text.endswith("\nTo collect what is needed:\n  $ rocperf collect -- ./app\n")
    text = render_text(result(outcomes=(*many[:4],)))
    assert text.endswith("  $ rocperf collect --for a,b,c,d -- ./app\n")


def test_where_the_wall_time_went_and_what_findings_cover() -> None:
    """Of 10 ms 6 compute, 1 copies, 3 idle; two findings about one kernel count once."""
    where = WallTime(6_000_000, 0, 1_000_000, 3_000_000)
    one = ranked("k", 3_000_000, Severity.CRITICAL)
    two = ranked("k", 2_000_000, Severity.MAJOR, rule="occupancy/vgpr")
    gpu = Subject("gpu", "GPU agent 1")
    gaps = ranked("x", 1_000_000, Severity.MAJOR, rule="launch-gaps/host", subject=gpu)
    waits = ranked("x", 500_000, Severity.MINOR, rule="sync-stalls/idle", subject=gpu)
    base = result(one, two, gaps, waits)
    told = replace(base, summary=replace(SUMMARY, spent=where))
    assert told.covered_ns == 4_500_000
    text = " ".join(render_text(told).split())
    assert "of wall: computing 60.0 % · copying 10.0 % · idle 30.0 %" in text
    assert "findings could save 45.0 % at most" in text
    assert "communicating" not in text  # nothing did
    assert "of wall: " not in render_text(base)
    content = document(told)["profile"]
    assert content["spent"]["idle_ns"] == 3_000_000
    assert content["covered_ns"] == 4_500_000


def test_findings_never_cover_more_than_the_wall_time() -> None:
    many = [ranked(f"k{n}", 9_000_000, Severity.CRITICAL) for n in range(3)]
    assert result(*many).covered_ns == SUMMARY.wall_ns
    base = result(*many)
    assert replace(base, summary=replace(SUMMARY, wall_ns=None)).covered_ns is None


def test_findings_about_the_same_copies_are_said_once() -> None:
    subject = Subject("copy", "host to GPU, agent 0 to 1")
    slow = ranked("x", 3_000_000, Severity.CRITICAL, rule="a/slow", subject=subject)
    staged = ranked("x", 2_000_000, Severity.MAJOR, rule="b/staged", subject=subject, title="S")
    other = ranked("k", 1_000_000, Severity.MAJOR)
    text = render_text(result(slow, staged, other))
    assert " 1. CRITICAL" in text
    assert "    also b/staged: S" in text
    assert " 2. MAJOR · saves at most 1.00 ms" in text
    assert " 3. " not in text
    every = render_text(result(slow, staged, other), Look(everything=True))
    assert " 3. " in every
    assert "also" not in every


def test_findings_about_one_kernel_stay_apart() -> None:
    one = ranked("k", 3_000_000, Severity.CRITICAL)
    two = ranked("k", 2_000_000, Severity.MAJOR, rule="occupancy/vgpr")
    assert " 2. MAJOR" in render_text(result(one, two))


def test_a_healthy_program_is_called_so_and_what_is_left_is_short() -> None:
    text = render_text(result(ranked("k", 100_000, Severity.INFO)))
    assert "Nothing costs more than 2 % of the wall time." in text
    assert "k reads 64 lines" in text
    assert "→" not in text
    loud = render_text(result(ranked("k", 300_000, Severity.MINOR)))
    assert "Nothing costs more" not in loud


def test_idle_time_without_a_bound_is_not_called_nothing() -> None:
    listed = ranked("k", 100_000, Severity.INFO)
    gpu = replace(listed.finding, subject=Subject("gpu", "GPU agent 1"), saves_ns=None)
    text = render_text(result(replace(listed, finding=gpu, share=None)))
    assert "than 2 % of the wall time, as far as it can be bounded." in text


def test_a_profile_without_findings_says_what_looked() -> None:
    assert "Nothing to report from 1 analysis: Coalesced access." in render_text(result())


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


@pytest.mark.parametrize(
    ("value", "unit", "written"),
    [
        (93.9394, "%", "93.94 %"),
        (8.99193, "%", "8.992 %"),
        (0.515, "cycles", "0.5150 cycles"),
        (64.0, "lines", "64 lines"),
        (201_326_592, "B", "192 MiB"),
        (6144.0, "B", "6.00 KiB"),
        (1500.0, "ns", "1.50 µs"),
        (205_741.0, "µs", "206 ms"),
        (123_456.78, "rows/s", "123,457 rows/s"),
        (0, "", "0"),
        (-2.5, "", "-2.500"),
        ("as it came", "", "as it came"),
    ],
)
def test_a_measured_value_has_a_unit_and_no_more_digits_than_it_deserves(
    value: float | str, unit: str, written: str
) -> None:
    assert amount(value, unit) == written


@pytest.mark.parametrize(
    ("number", "noun", "written"),
    [
        (1, "dispatch", "1 dispatch"),
        (1200, "dispatch", "1,200 dispatches"),
        (2, "copy", "2 copies"),
        (0, "run", "0 runs"),
        (3, "day", "3 days"),
    ],
)
def test_one_is_not_written_as_several(number: int, noun: str, written: str) -> None:
    assert count(number, noun) == written


def test_a_share_too_small_for_a_digit_is_not_written_as_none() -> None:
    assert share(0.0001) == "under 0.1 %"
    assert share(0.0) == "0.0 %"
    assert share(0.0005) == "0.1 %"


def test_without_a_timing_run_a_saving_is_a_share_of_kernel_time() -> None:
    base = result(ranked("k", 3_000_000, Severity.CRITICAL))
    text = render_text(replace(base, summary=replace(SUMMARY, serialised=True, wall_ns=None)))
    assert "saves at most 3.00 ms, 30.0 % of kernel time" in text


def test_less_than_high_confidence_says_why() -> None:
    more = {"confidence": "medium", "doubts": ("it may not wait", "it may be padded")}
    doubtful = result(ranked("k", 300_000, Severity.MINOR, **more))
    assert "    medium confidence: it may not wait\n" in render_text(doubtful)
    loud = render_text(doubtful, Look(verbose=True, width=120))
    assert "    medium confidence: it may not wait; it may be padded\n" in loud


def test_what_is_only_told_is_kept_for_those_who_ask_for_more() -> None:
    notes = (("warning", "rows were odd", 2), ("info", "a file sums up others", 1))
    base = result(ranked("k", 300_000, Severity.MINOR))
    noted = replace(base, summary=replace(SUMMARY, notes=notes))
    assert "Data quality: 1 note\n  warning: rows were odd\n" in render_text(noted)
    assert "sums up" not in render_text(noted)
    assert "  info: a file sums up others\n" in render_text(noted, Look(verbose=True))


def test_raw_output_is_named_as_the_user_did() -> None:
    base = result(ranked("k", 5, Severity.INFO))
    text = render_text(replace(base, summary=replace(SUMMARY, source="traces/run1")))
    assert text.startswith("traces/run1 · ")
    assert "app.rocperf" not in text
