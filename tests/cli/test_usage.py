"""What a person meets who mistypes: a sentence that says where to look."""

from __future__ import annotations

import argparse
from pathlib import Path

import polars as pl
import pytest

from rocperf.cli import main, parser
from rocperf.cli.ingest import summarise
from rocperf.cli.progress import Progress
from rocperf.report.tables import table_text
from rocperf.testing import TraceBuilder, us


@pytest.fixture
def file(trace: TraceBuilder, tmp_path: Path) -> str:
    return str(trace.dispatch("k", start=0, duration=us(7)).save(tmp_path / "app.rocperf"))


def test_an_option_that_a_verb_does_not_have_is_named_with_the_verb(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["ingest", "--nope", "x"]) == 2
    assert capsys.readouterr().err == (
        "rocperf: ingest does not know '--nope'\n"
        "  hint: rocperf ingest --help lists what it knows\n"
    )


def test_each_verb_and_what_it_does_share_a_line() -> None:
    text = parser().format_help()
    verbs = next(
        action for action in parser()._actions if isinstance(action, argparse._SubParsersAction)
    )
    for choice in verbs._choices_actions:
        assert any(
            line.split()[:2] == [choice.dest, str(choice.help).split()[0]]
            for line in text.splitlines()
        ), choice.dest
    assert "rocperf demo" in text


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("occupancy.low=x", "occupancy.low = 'x' is not a number"),
        ("memcpy-bandwidth.large=1.5", "memcpy-bandwidth.large = '1.5' is not a whole number"),
        ("nope.low=1", "hint: one of: "),
    ],
)
def test_a_setting_that_cannot_be_meant(
    file: str, option: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["analyze", file, "-O", option]) == 2
    assert said in capsys.readouterr().err


def test_what_duckdb_says_of_a_query_keeps_its_lines(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["query", file, "SELEC 1"]) == 2
    said = capsys.readouterr().err
    assert 'syntax error at or near "SELEC"\n' in said
    assert "\n  LINE 1: SELEC 1\n" in said
    assert "\\x0a" not in said
    assert "--schema" in said


def test_several_statements_are_refused_not_half_answered(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["query", file, "SELECT 1; SELECT 2"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "2 statements" in said.err
    assert main(["query", file, "SELECT 'a;b' AS one;", "--format", "csv"]) == 0
    assert capsys.readouterr().out == "one\na;b\n"


def test_columns_that_do_not_fit_a_terminal_are_counted() -> None:
    frame = pl.DataFrame({"first": ["x" * 20], "second": ["y" * 20], "third": [1], "last": [2]})
    text = table_text(frame, 100, 45)
    assert text.splitlines()[0].split() == ["first", "second"]
    assert "2 columns not shown" in text
    assert max(map(len, text.splitlines()[:3])) <= 45
    assert "third" in table_text(frame, 100)
    assert "first" in table_text(frame, 100, 5)  # one column is shown in any case


def test_the_demo_replaces_nothing_but_a_demo(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    kept = Path(file).read_bytes()
    (work / "demo.rocperf").write_bytes(kept)
    monkeypatch.chdir(work)
    assert main(["demo"]) == 2
    assert "demo.rocperf exists and is not of a demo" in capsys.readouterr().err
    assert (work / "demo.rocperf").read_bytes() == kept


def test_what_was_read_is_counted_kind_by_kind(
    trace: TraceBuilder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace.dispatch("k", start=0, duration=us(7)).marker("step", start=0, duration=us(9))
    trace.marker("step", start=us(9), duration=us(9))
    path = trace.save(tmp_path / "app.rocperf")
    summarise(path, Progress(quiet=False))
    assert capsys.readouterr().err == "1 run, 1 dispatch, 2 markers\n"
