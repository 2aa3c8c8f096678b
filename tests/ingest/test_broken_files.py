"""Files that break off, are packed, hold impossible values or only look like output."""

from __future__ import annotations

import argparse
import gzip
import sqlite3
from pathlib import Path

import duckdb
import pytest

import rocperf
from rocperf.cli import main
from rocperf.cli.ingest import size
from rocperf.errors import InputError
from rocperf.ingest.load import Note, ingest
from rocperf.ingest.packed import unpack
from rocperf.ingest.source import SourceFile
from rocperf.ingest.widths import first_ragged
from rocperf.testing.simulator import Request, profile

TIMING = Request(traces=frozenset({"kernel", "copy", "hip"}))
COUNTERS = Request(counters=("SQ_WAVES", "GRBM_COUNT"))


def ask(path: Path, query: str) -> list[tuple[object, ...]]:
    with rocperf.open(path) as opened:
        return opened.sql(query).rows()


def load(output: Path, *paths: Path, **options: bool | int) -> tuple[Path, list[Note]]:
    notes: list[Note] = []
    salvage, limit = bool(options.get("salvage")), options.get("max_unpacked")
    path = ingest(
        paths,
        output,
        mode="replace",
        salvage=salvage,
        max_unpacked=int(limit) if limit else None,
        on_event=lambda event: notes.append(event) if isinstance(event, Note) else None,
    )
    return path, notes


# -- packed tables ----------------------------------------------------------------------------


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    """Make a trace of which every file is gzipped, each as two members."""
    folder = tmp_path / "packed"
    for file in profile("naive_transpose", folder / "4242", TIMING, ["csv"]):
        data = file.read_bytes()
        half = len(data) // 2
        file.with_name(f"{file.name}.gz").write_bytes(
            gzip.compress(data[:half]) + gzip.compress(data[half:])
        )
        file.unlink()
    return folder


def test_packed_tables_are_read_as_plain_ones(packed: Path, tmp_path: Path) -> None:
    profile("naive_transpose", tmp_path / "plain" / "4242", TIMING, ["csv"])
    plain, _ = load(tmp_path / "a.rocperf", tmp_path / "plain")
    path, notes = load(tmp_path / "b.rocperf", packed)
    assert notes == []
    for table in ("all_dispatches", "copies", "api_calls", "agents"):
        query = f"SELECT * EXCLUDE (file_id) FROM {table} ORDER BY ALL"
        assert ask(path, query) == ask(plain, query)
    names = ask(path, "SELECT path, bytes FROM files ORDER BY path")
    assert names == [(str(each), each.stat().st_size) for each in sorted(packed.iterdir(), key=str)]
    assert ask(path, "SELECT pid FROM runs") == [(4242,)]
    # Nothing unpacked is left.
    assert {each.name for each in tmp_path.iterdir()} == {
        "packed",
        "plain",
        "a.rocperf",
        "b.rocperf",
    }


def test_a_table_that_unpacks_to_too_much_is_refused(packed: Path, tmp_path: Path) -> None:
    bomb = packed / "9_kernel_trace.csv.gz"
    header = gzip.decompress((packed / "4242_kernel_trace.csv.gz").read_bytes()).splitlines()[0]
    bomb.write_bytes(gzip.compress(header + b"\n" + b" " * 5_000_000))
    path, notes = load(tmp_path / "p.rocperf", packed, max_unpacked=1_000_000)
    assert [note.message for note in notes if note.severity == "error"] == [
        "9_kernel_trace.csv.gz: unpacks to more than 1 MB"
    ]
    assert ask(path, "SELECT count(*) FROM all_dispatches") == [(3,)]
    with pytest.raises(InputError, match="more than 1 MB") as error:
        load(tmp_path / "q.rocperf", bomb, max_unpacked=1_000_000)
    assert error.value.hint is not None
    assert "--max-unpacked" in error.value.hint


def test_a_packed_table_that_breaks_off_is_refused_or_salvaged(
    packed: Path, tmp_path: Path
) -> None:
    cut = packed / "4242_kernel_trace.csv.gz"
    text = gzip.decompress(cut.read_bytes())
    cut.write_bytes(gzip.compress(text)[:-14])
    path, notes = load(tmp_path / "a.rocperf", packed)
    assert ask(path, "SELECT count(*) FROM all_dispatches") == [(0,)]
    assert ask(path, "SELECT status FROM files WHERE path LIKE '%kernel_trace%'") == [("refused",)]
    assert "breaks off after" in notes[0].message
    path, notes = load(tmp_path / "b.rocperf", packed, salvage=True)
    ((kept, status),) = ask(path, "SELECT (SELECT count(*) FROM all_dispatches), status FROM runs")
    assert 0 < int(str(kept)) < 3
    assert status == "incomplete"
    assert {"truncated", "row-cut"} <= {note.code for note in notes}


def test_unpacking_is_bounded_and_leaves_other_files_alone(tmp_path: Path) -> None:
    file = tmp_path / "x.csv.gz"
    file.write_bytes(gzip.compress(b"a" * 1000))
    source = SourceFile(file, "rocprofv3-csv", "kernel_trace", None, 1)
    done = unpack(source, tmp_path / "out", 1000, salvage=False)
    assert done.source.path == file
    assert done.source.text.read_bytes() == b"a" * 1000
    with pytest.raises(InputError, match="more than 999 bytes"):
        unpack(source, tmp_path / "out", 999, salvage=False)
    # Readers of JSON unpack for themselves, and plain text needs no unpacking.
    json = SourceFile(file, "rocprofv3-json", None, None, 1)
    assert unpack(json, tmp_path / "out", 1, salvage=False).source is json


@pytest.mark.parametrize(
    ("text", "value"),
    [("500MB", 500_000_000), ("4GB", 4 * 10**9), ("1.5k", 1500), ("7", 7), ("2 TB", 2 * 10**12)],
)
def test_sizes(text: str, value: int) -> None:
    assert size(text) == value


@pytest.mark.parametrize("text", ["", "many", "-1GB", "0", "1PB", "1e3"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="no size"):
        size(text)


# -- JSON and databases that break off --------------------------------------------------------


@pytest.mark.parametrize("verb", ["ingest", "analyze"])
def test_a_cut_json_needs_salvage(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (file,) = profile("naive_transpose", tmp_path / "raw" / "7", TIMING, ["json"])
    data = file.read_bytes()
    place = data.index(b'"memory_copy"', data.index(b'"buffer_records"'))
    file.write_bytes(data[:place])
    assert main([verb, str(file)]) == 2
    err = capsys.readouterr().err
    assert f"no valid JSON at byte {place:,}" in err
    assert "--salvage" in err
    assert main([verb, str(file), "--salvage"]) == 0
    assert "records kept" in capsys.readouterr().err or verb == "analyze"
    (path,) = [*tmp_path.glob("*.rocperf"), *(tmp_path / "cache").rglob("*.rocperf")]
    assert ask(path, "SELECT status FROM runs") == [("incomplete",)]


def test_a_damaged_database_is_salvaged_as_far_as_it_reads(tmp_path: Path) -> None:
    (file,) = profile("naive_transpose", tmp_path / "raw" / "7", COUNTERS, ["rocpd"])
    with sqlite3.connect(file) as connection:
        ((size_of_page,),) = connection.execute("PRAGMA page_size").fetchall()
        pages = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name LIKE 'rocpd_pmc_event_%'"
            " AND type = 'table'"
        ).fetchall()
    connection.close()
    data = bytearray(file.read_bytes())
    for (page,) in pages:
        data[(page - 1) * size_of_page : page * size_of_page] = b"\xff" * size_of_page
    file.write_bytes(data)
    with pytest.raises(InputError, match="the database is damaged") as error:
        load(tmp_path / "a.rocperf", file)
    assert error.value.hint is not None
    assert "--salvage" in error.value.hint
    path, notes = load(tmp_path / "b.rocperf", file, salvage=True)
    assert ask(path, "SELECT count(*), max(status) FROM all_dispatches, runs") == [
        (3, "incomplete")
    ]
    assert ask(path, "SELECT count(*) FROM counter_values") == [(0,)]
    (note,) = (each for each in notes if each.code == "truncated")
    assert "what could be read is kept" in note.message


# -- values that cannot be --------------------------------------------------------------------


@pytest.mark.parametrize("form", ["csv", "rocpd", "json"])
@pytest.mark.parametrize(("value", "reason"), [("-5", "below 0"), ("1e300", "beyond 2^63")])
def test_no_hardware_counts_so(form: str, value: str, reason: str, tmp_path: Path) -> None:
    request = Request(counters=("SQ_WAVES",))
    files = profile("naive_transpose", tmp_path / "raw" / "7", request, [form])
    if form == "rocpd":
        with sqlite3.connect(files[0]) as connection:
            connection.execute("DROP VIEW rocpd_pmc_event")
            ((table,),) = connection.execute(
                "SELECT name FROM sqlite_master WHERE name LIKE 'rocpd_pmc_event_%'"
                " AND type = 'table'"
            ).fetchall()
            connection.execute(f'UPDATE "{table}" SET value = {value} WHERE rowid = 1')
        connection.close()
    elif form == "csv":
        (file,) = (each for each in files if "counter" in each.name)
        head, first, *rest = file.read_text().splitlines()
        before, _, after = first.partition('"SQ_WAVES",')
        first = f'{before}"SQ_WAVES",{value},{after.partition(",")[2]}'
        file.write_text("\n".join([head, first, *rest, ""]))
    else:
        text = files[0].read_text()
        at = text.index('"value"', text.index('"counter_collection"'))
        start = text.index(":", at) + 1
        end = min(text.index(mark, start) for mark in ",}" if mark in text[start:])
        files[0].write_text(f"{text[:start]} {value}{text[end:]}")
    path, notes = load(tmp_path / "p.rocperf", tmp_path / "raw")
    rows = ask(path, "SELECT count(*), count(value), any_value(reason) FROM counter_values")
    ((count, usable, told),) = rows
    assert (count, usable) == (3, 2)
    assert reason in str(told)
    assert "values-unusable" in {note.code for note in notes}


COUNTER = (
    "Correlation_Id,Dispatch_Id,Agent_Id,Queue_Id,Process_Id,Thread_Id,Grid_Size,Kernel_Id,"
    "Kernel_Name,Workgroup_Size,LDS_Block_Size,Scratch_Size,VGPR_Count,Accum_VGPR_Count,SGPR_Count,"
    "Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp\n"
)


def counter(number: int, value: str) -> str:
    return f'{number},{number},4,1,7,7,64,1,"k",64,0,0,8,0,16,"A",{value},100,200\n'


# Where no value among the first looks odd, DuckDB decides, and takes 1_000 for a thousand.
@pytest.mark.parametrize(
    ("value", "place"),
    [
        ("1_000", 1),
        *((value, place) for value in ("0x10", "", "abc", "1e", "--1") for place in (1, 300)),
    ],
)
def test_a_value_that_is_no_number_is_kept_as_unknown(
    value: str, place: int, tmp_path: Path
) -> None:
    lines = [counter(n, value if n == place else "5.000000") for n in range(1, 321)]
    (tmp_path / "7_counter_collection.csv").write_text(COUNTER + "".join(lines))
    path, _ = load(tmp_path / "p.rocperf", tmp_path / "7_counter_collection.csv")
    query = "SELECT count(*), count(value), sum(value), min(dispatch_id) FILTER (value IS NULL)"
    assert ask(path, f"{query} FROM counter_values") == [(320, 319, 319 * 5.0, place)]
    assert ask(path, "SELECT count(*) FROM all_dispatches") == [(320,)]


def test_a_counter_file_with_durations_is_read(tmp_path: Path) -> None:
    header = COUNTER.replace("End_Timestamp", "End_Timestamp,Duration")
    lines = [counter(n, "5.0").replace(",200\n", ",200,100\n") for n in (1, 2)]
    (tmp_path / "7_counter_collection.csv").write_text(header + "".join(lines))
    path, notes = load(tmp_path / "p.rocperf", tmp_path / "7_counter_collection.csv")
    assert ask(path, "SELECT count(*), sum(value) FROM counter_values") == [(2, 10.0)]
    assert notes == []


# -- records that do not fit ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b,c\n1,2,3\n", None),
        ('a,b,c\n1,"x, y",3\n"q\nr",2,3\n', None),
        ("a,b,c\n", None),
        ("a,b,c\n1,2,3\n4,5\n", (3, 2)),
        ("a,b,c\n1,2,3,4\n", (2, 4)),
        ('a,b,c\n1,"x, y"\n', (2, 2)),
    ],
)
def test_the_first_record_of_another_width_is_found(
    text: str, expected: tuple[int, int] | None, tmp_path: Path
) -> None:
    path = tmp_path / "a*'[b]?.csv"
    path.write_text(text)
    with duckdb.connect() as connection:
        assert first_ragged(connection, path, 3) == expected
        tables = connection.execute("SELECT count(*) FROM duckdb_tables()").fetchall()
        assert tables == [(0,)]


KERNEL = (
    '"Kind","Agent_Id","Queue_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name",'
    '"Correlation_Id","Start_Timestamp","End_Timestamp","Private_Segment_Size",'
    '"Group_Segment_Size","Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z",'
    '"Grid_Size_X","Grid_Size_Y","Grid_Size_Z"\n'
)


def kernel(number: int, name: str = '"k"') -> str:
    times = f"{number * 10},{number * 10 + 5}"
    return f'"KERNEL_DISPATCH",4,1,7,{number},1,{name},{number},{times},0,0,64,1,1,64,1,1\n'


def test_an_unclosed_quote_swallows_no_record_into_a_name(tmp_path: Path) -> None:
    text = KERNEL + kernel(1) + kernel(2) + kernel(3, '"never closed') + kernel(4)
    (tmp_path / "7_kernel_trace.csv").write_text(text)
    path, notes = load(tmp_path / "p.rocperf", tmp_path / "7_kernel_trace.csv")
    assert ask(path, "SELECT dispatch_id FROM all_dispatches ORDER BY 1") == [(1,), (2,)]
    assert ask(path, "SELECT name FROM kernels") == [("k",)]
    (note,) = (each for each in notes if each.code == "rows-rejected")
    assert "line 4" in note.message


def test_a_quote_inside_a_name_is_still_repaired(tmp_path: Path) -> None:
    text = KERNEL + kernel(1, '"say "hi", twice"') + kernel(2)
    (tmp_path / "7_kernel_trace.csv").write_text(text)
    path, _ = load(tmp_path / "p.rocperf", tmp_path / "7_kernel_trace.csv")
    assert ask(path, "SELECT name FROM kernels ORDER BY 1") == [("k",), ('say "hi", twice',)]


def test_a_header_inside_the_file_rounds_no_times(tmp_path: Path) -> None:
    (tmp_path / "7_kernel_trace.csv").write_text(KERNEL + kernel(1) + KERNEL + kernel(2))
    path, _ = load(tmp_path / "p.rocperf", tmp_path / "7_kernel_trace.csv")
    assert ask(path, "SELECT count(*), count(start_ns) FROM all_dispatches") == [(2, 2)]


def test_a_hole_of_zeros_is_named(tmp_path: Path) -> None:
    text = (KERNEL + kernel(1)).encode() + b"\0" * 4096 + b"\n" + kernel(2).encode()
    (tmp_path / "7_kernel_trace.csv").write_bytes(text)
    path, notes = load(tmp_path / "p.rocperf", tmp_path / "7_kernel_trace.csv")
    assert ask(path, "SELECT dispatch_id FROM all_dispatches ORDER BY 1") == [(1,), (2,)]
    (note,) = (each for each in notes if each.code == "nul-bytes")
    assert f"4,096 NUL bytes at offset {len(KERNEL + kernel(1)):,}" in note.message


# -- files that only look like output ---------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (KERNEL.replace('"Agent_Id"', '"Kind"').encode(), "column Kind occurs twice"),
        (KERNEL.lower().encode(), "another case"),
        (b"a,b,c\n1,2,3\n", "its 3 columns are not those of such a file"),
        (b"\0" * 5000, "begins with 5,000 NUL bytes"),
        (KERNEL.encode("utf-16-be"), "was it saved as UTF-16?"),
        (KERNEL.encode("utf-16"), "is UTF-16"),
    ],
)
def test_what_is_named_like_output_and_is_none_is_refused_by_name(
    content: bytes, words: str, tmp_path: Path
) -> None:
    odd = tmp_path / "raw" / "odd_kernel_trace.csv"
    odd.parent.mkdir()
    odd.write_bytes(content)
    with pytest.raises(InputError, match="odd_kernel_trace") as error:
        load(tmp_path / "p.rocperf", odd)
    assert words in error.value.message
    # Beside others it is named, and they are read.
    (odd.parent / "7_kernel_trace.csv").write_text(KERNEL + kernel(1))
    path, notes = load(tmp_path / "p.rocperf", odd.parent)
    assert ask(path, "SELECT count(*) FROM all_dispatches") == [(1,)]
    assert [words in note.message for note in notes if note.severity == "error"] == [True]


def test_machines_and_ranks_have_folders_of_their_own(tmp_path: Path) -> None:
    """rocprofv3 makes a folder for each host; launchers make one for each rank."""
    for place in ("hosts/node-a", "hosts/node-b", "ranks/r0", "ranks/r1", "passes/R06/pass_1"):
        profile("naive_transpose", tmp_path / place / "7", Request(), ["csv"])
        # Else they would be the same file, which is read once.
        with (tmp_path / place / "7_kernel_trace.csv").open("a") as file:
            file.write("\n" * len(list(tmp_path.rglob("*.csv"))))
    processes = "SELECT count(DISTINCT process_id), list(rank ORDER BY rank) FROM runs"
    path, _ = load(tmp_path / "a.rocperf", tmp_path / "hosts")
    assert ask(path, processes) == [(2, [None, None])]
    path, _ = load(tmp_path / "b.rocperf", tmp_path / "ranks")
    assert ask(path, processes) == [(2, [0, 1])]
    # A folder of that name in capitals is a name, and no rank.
    path, _ = load(tmp_path / "c.rocperf", tmp_path / "passes" / "R06")
    assert ask(path, processes) == [(1, [None])]


def test_packed_json_is_bounded_too(tmp_path: Path) -> None:
    (file,) = profile("tiny_grid", tmp_path / "raw" / "7", TIMING, ["json"])
    packed = tmp_path / "7_results.json.gz"
    packed.write_bytes(gzip.compress(file.read_bytes() + b" " * 20_000_000))
    with pytest.raises(InputError, match=r"7_results\.json\.gz: unpacks to more than 5 MB"):
        load(tmp_path / "p.rocperf", packed, max_unpacked=5_000_000)
    path, _ = load(tmp_path / "p.rocperf", packed)
    assert ask(path, "SELECT count(*) FROM all_dispatches") == [(3,)]
