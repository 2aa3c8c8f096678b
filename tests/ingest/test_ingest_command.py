"""``rocperf ingest`` as a user calls it: what is made, added to, replaced, joined and refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import rocperf
from rocperf.cli import main
from rocperf.testing.simulator import Request, profile

TIMING = Request(traces=frozenset({"kernel", "copy", "hip"}))
COUNTERS = Request(counters=("SQ_WAVES", "GRBM_COUNT"))


def trace(place: Path, scenario: str = "naive_transpose", *, counted: bool = False) -> Path:
    request = COUNTERS if counted else TIMING
    profile(scenario, place / "out", request, ["csv"])
    return place


def ask(path: Path, query: str) -> list[tuple[object, ...]]:
    with rocperf.open(path) as opened:
        return opened.sql(query).rows()


DISPATCHES = "SELECT count(*) FROM all_dispatches"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_the_profile_is_named_after_its_input(
    here: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace(tmp_path / "my_run")
    assert main(["ingest", str(tmp_path / "my_run")]) == 0
    out, err = capsys.readouterr()
    assert out == "my_run.rocperf\n"
    assert "1 run, 3 dispatches, 2 copies" in err
    assert [each.name for each in here.iterdir()] == ["my_run.rocperf"]
    # A file gives its name without the ending, and without that of the compression.
    profile("tiny_grid", tmp_path / "x" / "7", TIMING, ["json"])
    assert main(["ingest", str(tmp_path / "x" / "7_results.json")]) == 0
    assert capsys.readouterr().out == "7_results.rocperf\n"


def test_an_existing_profile_is_refused_and_stays_as_it_was(
    here: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raw = str(trace(tmp_path / "raw"))
    assert main(["ingest", raw]) == 0
    before = (here / "raw.rocperf").read_bytes()
    assert main(["ingest", raw]) == 2
    err = capsys.readouterr().err
    assert "raw.rocperf already exists" in err
    assert "--force" in err
    assert "--append" in err
    assert (here / "raw.rocperf").read_bytes() == before


def test_force_replaces(here: Path, tmp_path: Path) -> None:
    assert main(["ingest", str(trace(tmp_path / "one")), "-o", "p.rocperf"]) == 0
    ((first,),) = ask(here / "p.rocperf", "SELECT value FROM meta WHERE key = 'profile_id'")
    other = str(trace(tmp_path / "two", "overlapped_copies"))
    assert main(["ingest", other, "-o", "p.rocperf", "--force"]) == 0
    assert ask(here / "p.rocperf", DISPATCHES) == [(6,)]
    ((second,),) = ask(here / "p.rocperf", "SELECT value FROM meta WHERE key = 'profile_id'")
    assert first != second


def test_append_adds_runs_and_matches_their_launches(here: Path, tmp_path: Path) -> None:
    assert main(["ingest", str(trace(tmp_path / "timing")), "-o", "p.rocperf"]) == 0
    counted = str(trace(tmp_path / "counters", counted=True))
    assert main(["ingest", counted, "-o", "p.rocperf", "--append"]) == 0
    path = here / "p.rocperf"
    runs = "SELECT run_id, role, process_id, count(*) FROM runs"
    assert ask(path, f"{runs} JOIN all_dispatches USING (run_id) GROUP BY ALL ORDER BY ALL") == [
        (1, "timing", 1, 3),
        (2, "counters", 1, 3),
    ]
    # Each of the three launches was seen by both runs, and ids of files go on.
    assert ask(path, "SELECT nth, runs FROM launches ORDER BY nth") == [(1, 2), (2, 2), (3, 2)]
    files = "SELECT count(*) = count(DISTINCT file_id), bool_and(sha256 IS NOT NULL) FROM files"
    assert ask(path, files) == [(True, True)]
    counted_rows = (
        "SELECT DISTINCT counter FROM counter_values JOIN files USING (file_id)"
        " WHERE path LIKE '%counter_collection.csv' ORDER BY 1"
    )
    assert ask(path, counted_rows) == [("GRBM_COUNT",), ("SQ_WAVES",)]


def test_appending_is_the_same_as_reading_both_at_once(here: Path, tmp_path: Path) -> None:
    one, two = trace(tmp_path / "timing"), trace(tmp_path / "counters", counted=True)
    assert main(["ingest", str(one), "-o", "a.rocperf"]) == 0
    assert main(["ingest", str(two), "-o", "a.rocperf", "--append"]) == 0
    assert main(["ingest", str(one), str(two), "-o", "b.rocperf"]) == 0
    for query in (
        "SELECT run_id, role, process_id, pid, start_ns, end_ns FROM runs ORDER BY ALL",
        "SELECT * EXCLUDE (file_id) FROM all_dispatches ORDER BY ALL",
        "SELECT * EXCLUDE (file_id) FROM counter_values ORDER BY ALL",
        "SELECT * FROM launches ORDER BY ALL",
        "SELECT * FROM kernels ORDER BY ALL",
    ):
        assert ask(here / "a.rocperf", query) == ask(here / "b.rocperf", query), query


def test_append_to_nothing_makes_a_profile(here: Path, tmp_path: Path) -> None:
    assert main(["ingest", str(trace(tmp_path / "raw")), "--append"]) == 0
    assert ask(here / "raw.rocperf", DISPATCHES) == [(3,)]


@pytest.mark.parametrize("form", ["csv", "json", "rocpd"])
def test_appending_what_is_there_adds_nothing(
    here: Path, tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    profile("naive_transpose", tmp_path / "raw" / "4242", TIMING, [form])
    assert main(["ingest", str(tmp_path / "raw")]) == 0
    before = (here / "raw.rocperf").read_bytes()
    capsys.readouterr()
    assert main(["ingest", str(tmp_path / "raw"), "--append"]) == 4
    assert "nothing new" in capsys.readouterr().err
    assert (here / "raw.rocperf").read_bytes() == before


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"no database at all", "is not a profile"), (b"", "is not a profile")],
)
def test_append_to_something_else_is_refused(
    here: Path, tmp_path: Path, content: bytes, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "raw.rocperf").write_bytes(content)
    assert main(["ingest", str(trace(tmp_path / "raw")), "--append"]) == 2
    assert reason in capsys.readouterr().err
    assert (here / "raw.rocperf").read_bytes() == content
    assert [each.name for each in here.iterdir()] == ["raw.rocperf"]


def test_append_to_a_profile_of_another_version_is_refused(
    here: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import duckdb

    raw = str(trace(tmp_path / "raw"))
    assert main(["ingest", raw]) == 0
    with duckdb.connect("raw.rocperf") as connection:
        connection.execute("UPDATE meta SET value = '999' WHERE key = 'schema_version'")
    before = (here / "raw.rocperf").read_bytes()
    assert main(["ingest", raw, "--append"]) == 2
    assert "another version of rocperf" in capsys.readouterr().err
    assert (here / "raw.rocperf").read_bytes() == before


def test_append_and_force_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["ingest", str(tmp_path), "--append", "--force"])
    assert ended.value.code == 2


def test_a_folder_of_several_workloads_is_listed_and_refused(
    here: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "all"
    trace(root / "first" / "timing")
    trace(root / "first" / "counters_1", counted=True)
    trace(root / "second", "strided_copy")
    assert main(["ingest", str(root)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        f"rocperf: {root} holds 2 workloads:",
        f"  {root / 'first'}",
        f"  {root / 'second'}",
        "  hint: name one of them, or join them with --merge",
    ]
    assert list(here.iterdir()) == []


def test_names_of_workloads_are_shown_letter_by_letter(
    here: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "all"
    trace(root / "\x1b[2Jone\nhint: rm -rf")
    trace(root / "two", "strided_copy")
    assert main(["ingest", str(root)]) == 2
    err = capsys.readouterr().err
    assert "\\x1b[2Jone\\x0ahint: rm -rf" in err
    assert "\x1b" not in err
    assert len(err.splitlines()) == 4
    assert list(here.iterdir()) == []


def test_merge_joins_workloads_without_mixing_their_launches(here: Path, tmp_path: Path) -> None:
    root = tmp_path / "all"
    for name in ("first", "second"):
        trace(root / name)
        # Else the second would be the same file, which is read once.
        with (root / name / "out_kernel_trace.csv").open("a") as file:
            file.write("\n" * len(name))
    assert main(["ingest", str(root), "--merge"]) == 0
    path = here / "all.rocperf"
    assert ask(path, "SELECT count(*), count(DISTINCT process_id) FROM runs") == [(2, 2)]
    assert ask(path, DISPATCHES) == [(6,)]
    assert ask(path, "SELECT DISTINCT runs FROM launches") == [(1,)]


def test_strict_writes_nothing_when_something_was_odd(
    here: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raw = trace(tmp_path / "raw")
    file = raw / "out_kernel_trace.csv"
    file.write_text(file.read_text()[:-30])
    assert main(["ingest", str(raw), "--strict"]) == 5
    assert "ends in the middle of a row" in capsys.readouterr().err
    assert list(here.iterdir()) == []
    assert main(["ingest", str(raw)]) == 0
    assert ask(here / "raw.rocperf", DISPATCHES) == [(2,)]


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("missing/p.rocperf", "there is no folder missing"),
        ("folder", "folder is no regular file"),
    ],
)
def test_an_output_that_cannot_be_is_refused(
    here: Path, tmp_path: Path, output: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "folder").mkdir()
    assert main(["ingest", str(trace(tmp_path / "raw")), "-o", output, "--force"]) == 2
    assert reason in capsys.readouterr().err
    assert [each.name for each in here.iterdir()] == ["folder"]


def test_a_file_of_nobody_is_refused_by_name(
    here: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("buy milk\n")
    assert main(["ingest", str(other)]) == 2
    assert "notes.txt: not profiler output that rocperf reads" in capsys.readouterr().err
    assert main(["ingest", str(tmp_path / "absent")]) == 2
    assert "absent: no such file or folder" in capsys.readouterr().err
    assert list(here.iterdir()) == []
