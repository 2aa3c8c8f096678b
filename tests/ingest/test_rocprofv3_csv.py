"""rocprofv3's CSV: recorded files row for row, and damaged ones."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from rocperf.errors import InputError, NothingError
from rocperf.ingest.load import ingest
from rocperf.profile import open_profile

API = (
    '"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp",'
    '"End_Timestamp"\n'
)
KERNEL = (
    '"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name",'
    '"Correlation_Id","Start_Timestamp","End_Timestamp","LDS_Block_Size","Scratch_Size",'
    '"VGPR_Count","Accum_VGPR_Count","SGPR_Count","Workgroup_Size_X","Workgroup_Size_Y",'
    '"Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"\n'
)
COUNTER = (
    '"Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size",'
    '"Kernel_Id","Kernel_Name","Workgroup_Size","LDS_Block_Size","Scratch_Size","VGPR_Count",'
    '"Accum_VGPR_Count","SGPR_Count","Counter_Name","Counter_Value","Start_Timestamp",'
    '"End_Timestamp"\n'
)


def kernel(i: int, name: str = "k", start: str = "1000", end: str = "2000") -> str:
    return (
        f'"KERNEL_DISPATCH","Agent 4",1,0,7,{i},9,"{name}",{i},{start},{end},512,0,8,4,16,'
        "64,2,1,1024,2,1\n"
    )


def counter(i: int, name: str, value: str, grid: int = 1024) -> str:
    return f'{i},{i},"Agent 4",1,42,42,{grid},9,"k",64,512,0,8,4,16,"{name}",{value},1000,2000\n'


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.execute(query).fetchall()


def read(folder: Path, **files: str) -> Path:
    raw = folder / "raw"
    raw.mkdir()
    for name, text in files.items():
        (raw / f"{name}.csv").write_bytes(text.encode())
    return ingest([raw], folder / "out.rocperf")


def records(path: Path) -> int:
    with path.open(newline="") as handle:
        return sum(1 for _ in csv.reader(handle)) - 1


@pytest.mark.parametrize(
    ("folder", "file", "table"),
    [
        ("gfx950_wave", "3785403_kernel_trace", "all_dispatches"),
        ("mi325x_gemm", "66960_kernel_trace", "all_dispatches"),
        ("mi300x_training", "2659141_kernel_trace", "all_dispatches"),
        ("mi300x_training", "2659141_hip_api_trace", "api_calls"),
        ("mi300x_training", "2659141_memory_copy_trace", "copies"),
        ("mi300x_training", "2659141_memory_allocation_trace", "allocations"),
        ("gfx1201_pc_sampling", "r_pc_sampling_host_trap", "pc_samples"),
        ("gfx1201_clock_gated", "r_counter_collection", "counter_values"),
        ("gfx950_attention", "lds_conflict_counter_collection", "counter_values"),
        ("gfx950_lds", "lds_conflict_counter_collection", "counter_values"),
        ("gfx1201_bandwidth/rd_null", "r_counter_collection", "counter_values"),
    ],
)
def test_every_recorded_row_is_there(
    recorded: Callable[[str], Path], tmp_path: Path, folder: str, file: str, table: str
) -> None:
    place = recorded(f"rocprofv3_csv_{folder}")
    path = ingest([place], tmp_path / "out.rocperf")
    assert rows(path, f"SELECT count(*) FROM {table}") == [(records(place / f"{file}.csv"),)]


def test_totals_are_those_of_the_recorded_stats(
    recorded: Callable[[str], Path], tmp_path: Path
) -> None:
    place = recorded("rocprofv3_csv_gfx950_wave")
    path = ingest([place], tmp_path / "out.rocperf")
    with (place / "3785403_kernel_stats.csv").open(newline="") as handle:
        stated = {
            row["Name"]: (int(row["Calls"]), int(row["TotalDurationNs"]))
            for row in csv.DictReader(handle)
        }
    found = rows(
        path,
        "SELECT name, count(*), sum(end_ns - start_ns)::BIGINT FROM dispatches"
        " JOIN kernels USING (kernel_id) GROUP BY name",
    )
    assert {name: (calls, total) for name, calls, total in found} == stated


def test_three_runs_in_one_folder_are_one_process(
    recorded: Callable[[str], Path], tmp_path: Path
) -> None:
    path = ingest([recorded("rocprofv3_csv_gfx1151_decode")], tmp_path / "out.rocperf")
    found = rows(path, "SELECT role, pid, process_id FROM runs ORDER BY pid")
    assert found == [
        ("timing", 2684120, 1),
        ("counters", 2684167, 1),
        ("counters", 2684191, 1),
    ]


@pytest.mark.parametrize("version", ["6.3", "7.0"])
def test_every_kind_of_sample_is_recognised(
    recorded: Callable[[str], Path], tmp_path: Path, version: str
) -> None:
    place = recorded(f"rocprofv3_csv_samples_{version}")
    path = ingest([place], tmp_path / "out.rocperf")
    status = dict(rows(path, "SELECT path, status FROM files"))
    assert {Path(str(name)).name for name in status} == {each.name for each in place.iterdir()}
    for name, word in status.items():
        assert word == ("ignored" if str(name).endswith("_stats.csv") else "read")


def test_a_kernel_row_is_kept_whole(tmp_path: Path) -> None:
    path = read(tmp_path, x_kernel_trace=KERNEL + kernel(1))
    [row] = rows(
        path,
        "SELECT dispatch_id, agent_id, queue_id, thread_id, start_ns, end_ns, grid_size,"
        " workgroup_size, static_lds_bytes, lds_bytes, vgpr, agpr, sgpr, row FROM all_dispatches",
    )
    assert row == (1, 4, 1, 7, 1000, 2000, 2048, 128, 512, None, 8, 4, 16, 1)


def test_names_with_quotes_are_repaired_and_rows_keep_their_numbers(tmp_path: Path) -> None:
    call = '"MARKER_CORE_RANGE_API",{},42,42,{},100,200\n'
    text = API + call.format('"step "warmup", i=1"', 1) + call.format('"ok"', 2)
    path = read(tmp_path, x_marker_api_trace=text + call.format('"a,b"', 3))
    found = rows(path, "SELECT row, message, correlation_id FROM markers ORDER BY row")
    assert found == [(1, 'step "warmup", i=1', 1), (2, "ok", 2), (3, "a,b", 3)]
    assert rows(path, "SELECT rows FROM notes WHERE code = 'rows-repaired'") == [(1,)]


def test_a_newline_inside_a_name_is_no_new_row(tmp_path: Path) -> None:
    path = read(tmp_path, x_kernel_trace=KERNEL + kernel(1, "a\nb") + kernel(2))
    assert rows(path, "SELECT name FROM kernels ORDER BY 1") == [("a\nb",), ("k",)]


def test_rows_that_do_not_fit_the_header_are_rejected_with_their_line(tmp_path: Path) -> None:
    short = kernel(2).rsplit(",", 2)[0] + "\n"
    path = read(tmp_path, x_kernel_trace=KERNEL + kernel(1) + short + kernel(3))
    assert rows(path, "SELECT dispatch_id, row FROM all_dispatches ORDER BY 1") == [(1, 1), (3, 3)]
    [(message,)] = rows(path, "SELECT message FROM notes WHERE code = 'rows-rejected'")
    assert "line 3: 20 fields, header has 22" in str(message)
    assert rows(path, "SELECT rows, rejected FROM files") == [(2, 1)]


def test_a_cut_row_and_a_repeated_header_are_noted(tmp_path: Path) -> None:
    text = KERNEL + kernel(1) + KERNEL + kernel(2) + kernel(3)[:40]
    path = read(tmp_path, x_kernel_trace="\ufeff" + text)
    codes = {row[0] for row in rows(path, "SELECT code FROM notes")}
    assert {"row-cut", "header-repeated"} <= codes
    assert rows(path, "SELECT dispatch_id, row FROM all_dispatches ORDER BY 1") == [(1, 1), (2, 3)]


def test_rounded_times_are_no_times(tmp_path: Path) -> None:
    text = KERNEL + kernel(1, start="7.3021E+14", end="7.3021E+14")
    path = read(tmp_path, x_kernel_trace=text)
    assert rows(path, "SELECT start_ns, end_ns FROM all_dispatches") == [(None, None)]
    assert rows(path, "SELECT count(*) FROM notes WHERE code = 'timestamps-rounded'") == [(1,)]


def test_a_damaged_file_is_refused_by_name_and_the_others_go_in(tmp_path: Path) -> None:
    twice = KERNEL.replace('"Kind"', '"Queue_Id","Kind"')
    path = read(tmp_path, x_kernel_trace=KERNEL + kernel(1), y_kernel_trace=twice + kernel(1))
    [(name, message)] = rows(
        path, "SELECT path, message FROM files JOIN notes USING (file_id) WHERE status = 'refused'"
    )
    assert str(name).endswith("y_kernel_trace.csv")
    assert "Queue_Id occurs twice" in str(message)
    assert rows(path, "SELECT count(*) FROM all_dispatches") == [(1,)]


def test_the_only_file_in_utf16_is_refused_with_the_reason(tmp_path: Path) -> None:
    file = tmp_path / "x_kernel_trace.csv"
    file.write_text(KERNEL + kernel(1), encoding="utf-16")
    with pytest.raises((InputError, NothingError)):
        ingest([file], tmp_path / "out.rocperf")
    assert not (tmp_path / "out.rocperf").exists()


def test_no_rows_at_all_is_nothing_to_analyse(tmp_path: Path) -> None:
    with pytest.raises(NothingError):
        read(tmp_path, x_kernel_trace=KERNEL, y_kernel_trace="")


def test_counters_give_dispatches_and_values_once(tmp_path: Path) -> None:
    text = COUNTER + counter(1, "SQ_WAVES", "16.000000") + counter(1, "SQ_BUSY", "nan")
    text += counter(2, "SQ_WAVES", "16.000000", grid=0) + counter(2, "SQ_WAVES", "16.000000", 0)
    path = read(tmp_path, x_counter_collection=text)
    assert rows(path, "SELECT dispatch_id, grid_size FROM all_dispatches ORDER BY 1") == [
        (1, 1024),
        (2, None),
    ]
    values = rows(path, "SELECT dispatch_id, counter, value FROM counter_values ORDER BY 1, 2")
    assert values == [(1, "SQ_BUSY", None), (1, "SQ_WAVES", 16.0), (2, "SQ_WAVES", 16.0)]
    codes = {row[0] for row in rows(path, "SELECT code FROM notes")}
    assert {"counter-repeated", "grid-wrapped"} <= codes


def test_the_same_file_twice_is_read_once(tmp_path: Path) -> None:
    path = read(tmp_path, a_kernel_trace=KERNEL + kernel(1), b_kernel_trace=KERNEL + kernel(1))
    assert rows(path, "SELECT count(*) FROM all_dispatches") == [(1,)]


def test_a_path_with_wildcards_and_quotes_is_only_a_path(tmp_path: Path) -> None:
    folder = tmp_path / "a*'[b]?"
    folder.mkdir()
    path = read(folder, x_kernel_trace=KERNEL + kernel(1))
    assert rows(path, "SELECT count(*) FROM all_dispatches") == [(1,)]


def test_rows_keep_their_numbers_in_a_file_of_many_chunks(tmp_path: Path) -> None:
    """DuckDB reads a large file on several cores; the numbers must be those of the file."""
    count = 400_000
    header = (
        '"Kind","Agent_Id","Queue_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name",'
        '"Correlation_Id","Start_Timestamp","End_Timestamp","Private_Segment_Size",'
        '"Group_Segment_Size","Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z",'
        '"Grid_Size_X","Grid_Size_Y","Grid_Size_Z"\n'
    )
    lines = (
        f'"KERNEL_DISPATCH",1,1,7,{n},1,"k",{n},{n * 10},{n * 10 + 5},0,0,64,1,1,64,1,1\n'
        for n in range(1, count + 1)
    )
    path = tmp_path / "7_kernel_trace.csv"
    path.write_text(header + "".join(lines), encoding="utf-8")
    profile = ingest([path], tmp_path / "p.rocperf")
    with open_profile(profile) as opened:
        row = opened.sql(
            "SELECT count(*) AS n, count(*) FILTER (row = dispatch_id) AS right FROM all_dispatches"
        ).row(0)
    assert row == (count, count)


@pytest.mark.parametrize("name", ["Duration", "Duration_Ns", "DurationNs"])
def test_durations_that_disagree_with_the_times_are_noted(tmp_path: Path, name: str) -> None:
    header = KERNEL.replace('"LDS_Block_Size"', f'"{name}","LDS_Block_Size"')
    stated = {1: "1000", 2: "999", 3: "", 4: "1001"}
    lines = [kernel(i).replace(",512,", f",{value},512,") for i, value in stated.items()]
    path = read(tmp_path, x_kernel_trace=header + "".join(lines))
    [(row, count)] = rows(path, "SELECT row, rows FROM notes WHERE code = 'durations-disagree'")
    assert (row, count) == (2, 2)
    assert rows(
        path, "SELECT DISTINCT end_ns - start_ns, static_lds_bytes FROM all_dispatches"
    ) == [(1000, 512)]


def test_durations_that_agree_are_not_noted(tmp_path: Path) -> None:
    header = KERNEL.replace('"LDS_Block_Size"', '"Duration","LDS_Block_Size"')
    line = kernel(1).replace(",512,", ",1000,512,")
    path = read(tmp_path, x_kernel_trace=header + line)
    assert rows(path, "SELECT code FROM notes") == []
