"""Each written case of reading gives the right answer that stands beside it.

The expected values are those of the cases' own text. Where it counts otherwise than its input
does, the test says so.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import rocperf
from rocperf.errors import InputError

Case = Callable[[str], Path]
Reading = Callable[..., Any]


@dataclass(frozen=True)
class Right:
    """The right answer to one case: exit code, words that must be said, and rows of queries."""

    case: str
    said: tuple[str, ...] = ()
    rows: tuple[tuple[str, list[tuple[Any, ...]]], ...] = ()
    options: tuple[str, ...] = ()
    code: int = 0


DISPATCHES = "SELECT count(*) FROM all_dispatches"
VALUES = "SELECT counter, value FROM counter_values ORDER BY ALL"
KERNEL = " JOIN kernels USING (kernel_id)"

RIGHT = [
    Right("V01", rows=(
        ("SELECT d.dispatch_id, d.agent_id, counter, value FROM all_dispatches d"
         " JOIN counter_values USING (run_id, dispatch_id) JOIN agents a USING (run_id)"
         " WHERE a.agent_id = d.agent_id", [(1, 4, "SQ_WAVES", 16384.0)]),
    )),
    Right("V02", ("results_0.csv line 2: 19 fields, header has 21",), code=2),
    Right("V03", rows=(
        ("SELECT end_ns - start_ns, static_lds_bytes, vgpr FROM all_dispatches", [(80360, 0, 8)]),
        ("SELECT count(*) FROM notes", [(0,)]),
    )),
    Right("V04", ("rocprof v1",), (
        (DISPATCHES, [(1,)]),
        ("SELECT count(*) FROM counter_values WHERE counter = 'VALUInsts'", [(1,)]),
        ("SELECT count(*) FROM counter_values WHERE counter LIKE 'SQ_INSTS%'", [(0,)]),
    )),
    Right("V06", ("1 row repaired",), (
        ("SELECT message FROM markers ORDER BY row",
         [('step "warmup", i=1',), ("ok",), ("a,b",)]),
    )),
    Right("V07", rows=(
        ("SELECT length(message) - length(replace(message, chr(10), '')) FROM markers"
         " ORDER BY row", [(1,), (0,)]),
    )),
    Right("V08", rows=(
        ("SELECT count(DISTINCT name), count(DISTINCT short_name) FROM kernels", [(2, 2)]),
    )),
    Right("V09", rows=(
        (DISPATCHES, [(3,)]),
        ("SELECT list(dispatch_id ORDER BY dispatch_id) AS l FROM all_dispatches" + KERNEL
         + " GROUP BY group_name ORDER BY l", [([1, 2],), ([3],)]),
    )),
    Right("V11", rows=(
        ("SELECT grid_size, ceil(grid_x / workgroup_x)::INT, ceil(grid_x / workgroup_x)::INT"
         " * ceil(workgroup_size / 64)::INT FROM all_dispatches", [(2048, 8, 32)]),
    )),
    Right("V13", ("counter_collection.csv: 1 dispatches whose grid is 0 or has wrapped",), (
        ("SELECT grid_size, grid_size // workgroup_size FROM all_dispatches",
         [(4294967296, 67108864)]),
    )),
    Right("V14", ("timestamps rounded",), (
        ("SELECT start_ns, end_ns FROM all_dispatches", [(None, None)]),
    )),
    Right("V16", rows=(
        ("SELECT bit_count(exec_mask)::INT FROM pc_samples ORDER BY row", [(64,), (16,)]),
        ("SELECT max(exec_mask) FROM pc_samples", [(2**64 - 1,)]),
    )),
    Right("V17", ("SQ_WAVES_3 empty, dropped",), ((DISPATCHES, [(2,)]),)),
    Right("V19", (
        "counter_collection.csv: 0 rows", "kernel_trace.csv: empty file", "nothing to analyse",
    ), code=4),
    Right("V20", rows=(("SELECT agent_id FROM all_dispatches", [(2,)]),)),
    Right("V22", rows=(
        ("SELECT sum(end_ns - start_ns)::INT, max(end_ns) - min(start_ns) FROM dispatches",
         [(26000, 20000)]),
    )),
    Right("V23", ("1 rows with end before start", "1 dispatches with zero duration"), (
        ("SELECT count(*), sum(end_ns - start_ns)::INT FROM dispatches", [(3, 1000)]),
    )),
    Right("V24", rows=(
        ("SELECT a.name, count(*) FROM all_dispatches d JOIN api_calls a"
         " USING (run_id, correlation_id) GROUP BY 1", [("hipGraphLaunch", 3)]),
    )),
    Right("V25", rows=(
        ("SELECT role, count(*) FROM runs GROUP BY role ORDER BY role",
         [("counters", 1), ("timing", 1)]),
        ("SELECT short_name, sum(end_ns - start_ns)::INT AS ns FROM dispatches" + KERNEL
         + " GROUP BY 1 ORDER BY ns DESC", [("stencil_step", 10000), ("b", 9000)]),
    )),
    Right("V27/rocprofv3", rows=(
        ("SELECT dispatch_id FROM all_dispatches ORDER BY 1", [(1,), (2,)]),
    )),
    Right("R01", (
        "4242_results.db: no process row, 0 dispatches: the writer was interrupted",
    ), code=4),
    Right("R02", ("3 rows for one counter of one dispatch (replay?)",), (
        (VALUES, [("SQ_WAVES", 16384.0)]),
    )),
    Right("R03", rows=(
        (DISPATCHES, [(4,)]),
        ("SELECT (SELECT count(*) FROM kernels), (SELECT count(*) FROM processes)", [(2, 2)]),
    )),
    Right("R04", ("ignored: 2 views, 1 trigger, 2 foreign tables",), ((DISPATCHES, [(1,)]),)),
    Right("R06", rows=(
        ("SELECT name FROM all_dispatches" + KERNEL + " ORDER BY 1", [("k(int*)",), ("z(int*)",)]),
        ("SELECT count(*) FROM processes", [(2,)]),
    )),
    Right("R08", rows=(
        ("SELECT name, value FROM counter_values JOIN all_dispatches USING (run_id, dispatch_id)"
         + KERNEL + " ORDER BY 1", [("g(int*)", 200.0), ("k(int*)", 100.0)]),
    )),
    Right("R10", rows=(
        ("SELECT value FROM counter_values WHERE counter = 'GRBM_COUNT'", [(777.0,)]),
    )),
    Right("R11", ("2 dispatches, of which 1 lack", "shows 1"), ((DISPATCHES, [(2,)]),)),
    Right("R13/trace.rpd", (
        "trace.rpd is rocmProfileData schema 2, not rocprofv3 rocpd (schema 3)",
    ), code=2),
    # The text of the case speaks of three strings; the names in its file are four.
    Right("J01", ("invalid UTF-8 at byte 1,141 in 4 strings",), (
        ("SELECT end_ns - start_ns FROM all_dispatches", [(500,)]),
    )),
    Right("J03/results.json", ("not a rocprofv3 results file (starts with ',')",), code=2),
    Right("J03/truncated_results.json", ("no valid JSON at byte 18,598",), code=2),
    Right("J05", rows=(
        (VALUES, [("SQ_WAVES", 16384.0)]),
        ("SELECT count(*), min(value), max(value) FROM counter_instances",
         [(8, 2048.0, 2048.0)]),
    )),
    Right("K14", rows=(
        ("SELECT dispatch_id, count(*) FROM counter_values GROUP BY 1 ORDER BY 1",
         [(2, 1), (3, 2)]),
    )),
    Right("K15", ("2 rows for one counter of one dispatch",), (
        (VALUES, [("SQ_BUSY_CYCLES", None), ("SQ_WAVES", 512.0)]),
    )),
    Right("K16", rows=(
        ("SELECT agent_id, value FROM counter_values JOIN all_dispatches"
         " USING (run_id, dispatch_id) ORDER BY 1", [(4, 0.0), (5, 526324.0)]),
    )),
    Right("O03", rows=(
        ("SELECT format, lds_bytes FROM all_dispatches JOIN files USING (file_id) ORDER BY 1",
         [("rocprofv3-csv", None), ("rocprofv3-json", 32768)]),
    )),
    Right("M01", rows=(
        ("SELECT format, count(*), sum(copies.bytes)::INT FROM copies JOIN files USING (file_id)"
         " GROUP BY 1 ORDER BY 1", [("rocpd", 1, 4194304), ("rocprofv3-csv", 2, None)]),
        ("SELECT end_ns - start_ns FROM copies WHERE bytes > 0", [(80000,)]),
    )),
    Right("M05", rows=(
        ("SELECT operation, agent_id, bytes FROM allocations ORDER BY row",
         [("alloc", 4, 1048576), ("alloc", 4, 2097152), ("free", None, None),
          ("free", None, None)]),
    )),
    Right("N01", rows=(
        ("SELECT (SELECT count(*) FROM processes), (SELECT count(*) FROM all_dispatches),"
         " (SELECT count(*) FROM kernels)", [(2, 2, 2)]),
    )),
    Right("N03", rows=(
        ("SELECT rank, end_ns - start_ns FROM runs ORDER BY 1",
         [(0, 1_000_000_000), (1, 1_000_000_000)]),
    )),
    Right("N05", rows=(
        ("SELECT DISTINCT cu_count, num_xcc FROM agents WHERE kind = 'GPU'", [(38, 1)]),
        ("SELECT count(*), count(DISTINCT location_id) FROM agents WHERE kind = 'GPU'", [(8, 1)]),
    )),
    Right("N07", ("rank 2 recorded no events",), (
        ("SELECT rank, count(*) FROM all_dispatches JOIN runs USING (run_id) GROUP BY 1"
         " ORDER BY 1", [(0, 5), (1, 4)]),
    )),
    Right("H03", rows=((DISPATCHES, [(9,)]), ("SELECT count(*) FROM kernels", [(9,)]))),
    Right("H04", rows=((DISPATCHES, [(4,)]),)),
    Right("H05", (
        "bomb_kernel_trace.csv.gz: unpacks to more than 10 MB",
        "cut.csv.gz: the compressed file breaks off after 24,227 bytes of text",
    ), ((DISPATCHES, [(2,)]),), options=("--max-unpacked", "10MB")),
    Right("H05/bomb.zip", ("bomb.zip: not profiler output",), code=2),
    Right("H05/cut.csv.gz", ("breaks off after 24,227 bytes", "--salvage"), code=2),
    Right("H07", ("10 values are no counts",), (
        ("SELECT count(*), count(value), count(reason) FROM counter_values", [(10, 0, 10)]),
    )),
    Right("H09/kernel_trace.csv", ("4,096 NUL bytes at offset 489",), (
        ("SELECT dispatch_id FROM all_dispatches ORDER BY 1", [(1,), (2,)]),
    )),
    Right("H09/nul_in_name.csv", ("1 NUL byte at offset",), (
        ("SELECT length(name), contains(name, chr(0)) FROM kernels", [(9, True)]),
    )),
    Right("H10", ("utf16be_nobom_kernel_trace.csv is not UTF-8", "is UTF-16"), (
        ("SELECT dispatch_id FROM all_dispatches", [(1,)]),
    )),
    Right("H10/utf16be_nobom_kernel_trace.csv", ("was it saved as UTF-16?",), code=2),
    Right("H22/unclosed_kernel_trace.csv", ("line 4: ",), ((DISPATCHES, [(2,)]),)),
    Right("H22/repeat_header_kernel_trace.csv", ("header repeated 1 times",), (
        ("SELECT count(*), count(start_ns) FROM all_dispatches", [(2, 2)]),
    )),
    Right("H22/cut_kernel_trace.csv", ("the file ends in the middle of a row",), (
        (DISPATCHES, [(1,)]),
    )),
    Right("H22/dup_header_kernel_trace.csv", ("column Agent_Id occurs twice",), code=2),
    Right("H22/wide_kernel_trace.csv", ("5,000 columns",), code=2),
    Right("H22/case_kernel_trace.csv", ("another case",), code=2),
    Right("U01", rows=(
        ("SELECT name FROM kernels WHERE name LIKE 'k[%' OR name LIKE 'arr%' ORDER BY 1",
         [("arr[1, '3'](int*)",), ("k[/bold](int*)",), ("k[@click=app.quit]x(int*)",),
          ("k[b + (int*)",), ("k[link=file:///etc/passwd]y[/link](int*)",)]),
        (DISPATCHES, [(7,)]),
    )),
    Right("U05", rows=((DISPATCHES, [(4,)]),)),
]  # fmt: skip


@pytest.mark.parametrize("right", RIGHT, ids=lambda right: right.case)
def test_the_answer_is_right(right: Right, case: Case, read: Reading) -> None:
    done = read(case(right.case), *right.options)
    assert done.code == right.code, done.err
    for words in right.said:
        assert words in done.err
    assert done.path.exists() == (right.code == 0)
    for query, rows in right.rows:
        assert done.ask(query) == rows, query


@pytest.mark.parametrize("name", ["R04", "R13", "H24"])
def test_what_is_read_stays_as_it_was(name: str, case: Case, read: Reading) -> None:
    folder = case(name)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    read(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_h24_a_hot_journal_is_told(case: Case, read: Reading) -> None:
    done = read(case("H24"))
    assert done.code == 0
    assert "hot.db-journal lies beside it: the writer may not have finished" in done.err
    assert done.ask(DISPATCHES) == [(1,)]


def test_j03_the_complete_part_is_salvaged(case: Case, read: Reading) -> None:
    done = read(case("J03/truncated_results.json"), "--salvage")
    assert done.code == 0
    assert done.ask(DISPATCHES)[0][0] >= 15
    assert done.ask("SELECT status FROM runs") == [("incomplete",)]
    assert done.ask("SELECT count(*) FROM notes WHERE code = 'truncated'") == [(1,)]


def test_h05_the_complete_part_is_salvaged(case: Case, read: Reading) -> None:
    done = read(case("H05/cut.csv.gz"), "--salvage")
    assert done.code == 0
    assert done.ask("SELECT count(*) > 0 FROM all_dispatches") == [(True,)]
    assert done.ask("SELECT status FROM runs") == [("incomplete",)]


def test_n01_reading_twice_does_not_double(case: Case, read: Reading, tmp_path: Path) -> None:
    from rocperf.cli import main

    folder = case("N01")
    done = read(folder)
    assert main(["ingest", str(folder), "-o", str(done.path), "--append"]) == 4
    assert done.ask(DISPATCHES) == [(2,)]


def test_h01_each_file_is_read_once_whatever_its_name(case: Case, read: Reading) -> None:
    """Names look like SQL and like patterns."""
    folder = case("H01")
    made = folder / "made"
    made.mkdir()
    names = ["a\"b;ATTACH 'evil' AS e;", "run[1]*?", "x'); DROP TABLE dispatches;--", "new\nline"]
    text = (folder / "base.csv").read_text()
    header, row = text.splitlines()
    assert ",3,10," in row
    for number, name in enumerate(names, 1):
        path = made / f"{name}_kernel_trace.csv"
        path.write_text(f"{header}\n{row.replace(',3,10,', f',{number},10,')}\n")
    (folder / "run1x_kernel_trace.csv").rename(made / "run1x_kernel_trace.csv")
    done = read(made)
    assert done.code == 0
    ids = "SELECT dispatch_id FROM all_dispatches ORDER BY 1"
    assert done.ask(ids) == [(1,), (2,), (3,), (4,), (99,)]
    assert done.ask("SELECT count(*), count(DISTINCT path) FROM files") == [(5, 5)]
    for number, name in enumerate(names, 1):
        done = read(made / f"{name}_kernel_trace.csv")
        assert done.ask(ids) == [(number,)]


# -- surroundings that are broken --------------------------------------------------------------


def test_h18_pipes_devices_and_giants_neither_block_nor_end_it(case: Case, read: Reading) -> None:
    folder = case("H18")
    os.mkfifo(folder / "pipe_kernel_trace.csv")
    (folder / "dir_kernel_trace.csv").mkdir()
    (folder / "zero_kernel_trace.csv").symlink_to("/dev/zero")
    (folder / "tty_kernel_trace.csv").symlink_to("/dev/tty")
    with (folder / "sparse_kernel_trace.csv").open("wb") as file:
        file.truncate(1 << 40)
    started = time.monotonic()
    done = read(folder)
    assert time.monotonic() - started < 20  # a machine under load; the case allows two seconds
    assert done.code == 0
    assert done.ask(DISPATCHES) == [(1,)]
    notes = done.notes.splitlines()
    assert len(notes) == 5
    for name in ("pipe", "dir", "zero", "tty", "sparse"):
        assert sum(f"{name}_kernel_trace.csv" in note for note in notes) == 1


def as_user(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run rocperf as somebody to whom modes of files mean something, unlike to root."""
    libc = ctypes.CDLL(None)

    def without_override() -> None:
        for capability in (1, 2):  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH of capabilities(7)
            libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP of prctl(2)

    return subprocess.run(
        [sys.executable, "-m", "rocperf", *map(str, arguments)],
        cwd=cwd,
        env=os.environ | {"XDG_CACHE_HOME": str(cwd / "cache")},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=without_override,
    )


@pytest.fixture
def closed(case: Case, tmp_path: Path) -> Path:
    """H12: one folder closed, one only listed, one file not readable."""
    folder = tmp_path / "H12"
    shutil.copytree(case("H12"), folder)
    for name in ("closed", "noexec"):
        (folder / name).mkdir()
        shutil.copy(folder / "kernel_trace.csv", folder / name)
    shutil.copy(folder / "kernel_trace.csv", folder / "unreadable_kernel_trace.csv")
    (folder / "unreadable_kernel_trace.csv").chmod(0)
    (folder / "closed").chmod(0)
    (folder / "noexec").chmod(0o444)
    return folder


def test_h12_what_is_closed_is_named_and_the_rest_is_read(closed: Path, tmp_path: Path) -> None:
    done = as_user("ingest", closed, "-o", "out.rocperf", cwd=tmp_path)
    (closed / "closed").chmod(0o755)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("permission denied") == 3
    assert "1 run, 1 dispatch, 3 notes" in done.stderr


def test_h12_strict_fails(closed: Path, tmp_path: Path) -> None:
    done = as_user("ingest", closed, "-o", "out.rocperf", "--strict", cwd=tmp_path)
    (closed / "closed").chmod(0o755)
    assert done.returncode == 5, done.stderr
    assert not (tmp_path / "out.rocperf").exists()


def test_h16_a_folder_that_cannot_be_written_asks_for_another(case: Case, tmp_path: Path) -> None:
    folder = tmp_path / "H16"
    shutil.copytree(case("H16"), folder)
    folder.chmod(0o555)
    refused = as_user("ingest", "kernel_trace.csv", cwd=folder)
    assert refused.returncode == 2
    assert "-o" in refused.stderr
    done = as_user("ingest", "kernel_trace.csv", "-o", tmp_path / "x.rocperf", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert sorted(each.name for each in folder.iterdir()) == ["README.txt", "kernel_trace.csv"]
    folder.chmod(0o755)


def test_h17_a_full_disk_is_said_and_nothing_is_left(case: Case, tmp_path: Path) -> None:
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (102400, 102400));"
        " from rocperf.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    place = tmp_path / "place"
    place.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", code, "ingest", str(case("H17")), "-o", str(place / "o.rocperf")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 7, done.stderr
    assert "no space left" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(place.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("garbage.duckdb", "garbage.duckdb"),
        ("empty.duckdb", "empty.duckdb"),
        ("sqlite_inside.duckdb", "sqlite_inside.duckdb"),
    ],
)
def test_h14_what_is_no_profile_is_refused_and_stays(
    name: str, words: str, case: Case, capsys: pytest.CaptureFixture[str]
) -> None:
    from rocperf.cli import main

    path = case("H14") / name
    before = path.read_bytes()
    for verb in (["analyze", str(path)], ["query", str(path), "SELECT 1"]):
        assert main(verb) == 2
        assert words in capsys.readouterr().err
    with pytest.raises(InputError, match=r"not a DuckDB file|cannot be opened"):
        rocperf.open(path)
    assert path.read_bytes() == before


def test_u05_other_languages_work_without_a_locale(case: Case, tmp_path: Path) -> None:
    folder = case("U05")
    path = tmp_path / "out.rocperf"
    plain = {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    run = [sys.executable, "-m", "rocperf"]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONIOENCODING"} | plain
    for arguments in (
        ["ingest", str(folder), "-o", str(path)],
        ["query", str(path), "SELECT name FROM kernels", "--format", "csv"],
        ["analyze", str(path), "--all"],
    ):
        done = subprocess.run([*run, *arguments], env=environment, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        assert b"Traceback" not in done.stderr
    with rocperf.open(path) as opened:
        names = {row[0] for row in opened.sql("SELECT name FROM kernels").rows()}
    assert {"ядро(int*)", "核函数_矩阵乘(float*)", "👩\u200d🔬_gemm(int*)"} < names
