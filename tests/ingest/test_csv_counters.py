"""Counter files in CSV: what is read once a dispatch is what reading every row in full gives."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from rocperf.errors import PartialError
from rocperf.ingest.load import ingest
from rocperf.ingest.rocprofv3_csv import rows as reader

HEADER = (
    '"Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size",'
    '"Kernel_Id","Kernel_Name","Workgroup_Size","LDS_Block_Size","Scratch_Size","VGPR_Count",'
    '"Accum_VGPR_Count","SGPR_Count","Counter_Name","Counter_Value","Start_Timestamp",'
    '"End_Timestamp"\n'
)
Row = tuple[object, ...]


def line(
    dispatch: int,
    counter: str,
    value: object,
    *,
    pid: int = 42,
    kernel: str = "k",
    grid: object = 1024,
    start: object = 1000,
) -> str:
    return (
        f'{dispatch},{dispatch},"Agent 4",1,{pid},{pid},{grid},9,"{kernel}",64,512,0,8,4,16,'
        f'"{counter}",{value},{start},{2000 + dispatch}\n'
    )


def tables(path: Path, folder: Path, name: str) -> dict[str, list[Row]]:
    output = ingest([path], folder / name)
    with duckdb.connect(str(output), read_only=True) as connection:

        def rows(query: str) -> list[Row]:
            return connection.execute(query).fetchall()

        return {
            "dispatches": rows(
                "SELECT d.* EXCLUDE (kernel_id), k.name, r.pid FROM all_dispatches d"
                " JOIN kernels k USING (kernel_id) JOIN runs r USING (run_id) ORDER BY d.row"
            ),
            "values": rows(
                "SELECT r.pid, dispatch_id, counter, value, reason, row FROM counter_values"
                " JOIN runs r USING (run_id) ORDER BY row"
            ),
            "notes": rows("SELECT severity, code, message, row, rows FROM notes ORDER BY ALL"),
            "files": rows("SELECT kind, rows, rejected, status FROM files ORDER BY ALL"),
        }


BOTH = ("SQ_WAVES", "GRBM_COUNT")
CASES = {
    "whole": "".join(
        line(i, c, i * 10 + n, kernel=f"k{i % 3}") for i in range(1, 9) for n, c in enumerate(BOTH)
    ),
    "dispatches-in-any-order": "".join(line(i, "SQ_WAVES", i) for i in (5, 2, 9, 1)),
    "only-some-have-the-second": line(1, "A", 1) + line(1, "B", 2) + line(2, "A", 3),
    "no-counter-is-in-all": line(1, "A", 1) + line(2, "B", 2) + line(2, "C", 3),
    "a-counter-twice": line(1, "A", 1) + line(1, "A", 1) + line(1, "B", 2) + line(2, "B", 3),
    "twice-with-other-values": line(1, "A", 1) + line(1, "A", 9) + line(1, "B", 2),
    "as-many-rows-as-dispatches-yet-not-once": line(1, "A", 1)
    + line(1, "A", 2)
    + line(2, "B", 3)
    + line(2, "B", 4),
    "two-processes-of-the-same-dispatches": line(1, "A", 1, pid=41)
    + line(2, "A", 2, pid=41)
    + line(1, "B", 3, pid=42)
    + line(2, "B", 4, pid=42),
    "no-number": line(1, "A", "nan") + line(2, "A", "inf") + line(3, "A", "-1"),
    "wrapped-grid": line(1, "SQ_WAVES", 4096, grid=64) + line(2, "SQ_WAVES", 16),
    "a-value-that-is-none": line(1, "A", 1) + line(2, "A", "oops") + line(3, "A", 3),
    "a-launch-that-is-damaged": line(1, "A", 1) + line(2, "A", 2, grid="oops") + line(3, "A", 3),
    "a-damaged-field-of-the-other-counter": line(1, "A", 1)
    + line(1, "B", 2, start="oops")
    + line(2, "A", 3)
    + line(2, "B", 4),
    "quotes-inside-a-name": line(1, "A", 1, kernel='f("x")') + line(2, "A", 2),
    "a-cut-end": line(1, "A", 1) + line(2, "A", 2)[:40],
    "a-repeated-header": line(1, "A", 1) + HEADER + line(2, "A", 2),
    "hostile-names": line(1, "a''; DROP TABLE runs; --", 1, kernel="%s {0} [bold]"),
}


@pytest.mark.parametrize("case", CASES)
def test_reading_launches_once_gives_what_reading_all_rows_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    path = tmp_path / "7_counter_collection.csv"
    path.write_text(HEADER + CASES[case], encoding="utf-8")
    lean = tables(path, tmp_path, "lean.rocperf")
    monkeypatch.setattr(reader, "stage_values", lambda _table, _sink: None)
    full = tables(path, tmp_path, "full.rocperf")
    assert lean == full


def test_the_launch_and_each_value_know_their_record(tmp_path: Path) -> None:
    path = tmp_path / "7_counter_collection.csv"
    path.write_text(HEADER + CASES["whole"], encoding="utf-8")
    found = tables(path, tmp_path, "out.rocperf")
    assert [row[-3:] for row in found["values"][:4]] == [
        (10.0, None, 1),
        (11.0, None, 2),
        (20.0, None, 3),
        (21.0, None, 4),
    ]
    with duckdb.connect(str(tmp_path / "out.rocperf"), read_only=True) as connection:
        rows = connection.execute(
            "SELECT dispatch_id, row, end_ns FROM all_dispatches ORDER BY row"
        ).fetchall()
    assert rows == [(i, 2 * i - 1, 2000 + i) for i in range(1, 9)]


def test_the_values_of_two_processes_are_not_joined(tmp_path: Path) -> None:
    path = tmp_path / "7_counter_collection.csv"
    path.write_text(HEADER + CASES["two-processes-of-the-same-dispatches"], encoding="utf-8")
    found = tables(path, tmp_path, "out.rocperf")
    assert [row[:4] for row in found["values"]] == [
        (41, 1, "A", 1.0),
        (41, 2, "A", 2.0),
        (42, 1, "B", 3.0),
        (42, 2, "B", 4.0),
    ]


def test_a_damaged_launch_is_told(tmp_path: Path) -> None:
    path = tmp_path / "7_counter_collection.csv"
    path.write_text(HEADER + CASES["a-launch-that-is-damaged"], encoding="utf-8")
    with pytest.raises(PartialError):
        ingest([path], tmp_path / "out.rocperf", strict=True)
