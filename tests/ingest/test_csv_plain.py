"""The quick way to read CSV takes only what the careful way reads alike."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rocperf
from rocperf.errors import RocperfError
from rocperf.ingest.load import ingest
from rocperf.ingest.rocprofv3_csv import rows
from rocperf.ingest.rocprofv3_csv.table import Table

KERNELS = (
    b'"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id",'
    b'"Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp","LDS_Block_Size",'
    b'"Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count","Workgroup_Size_X",'
    b'"Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"\n'
)
CALLS = (
    b'"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp",'
    b'"End_Timestamp"\n'
)
COUNTERS = (
    b'"Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size",'
    b'"Kernel_Id","Kernel_Name","Workgroup_Size","LDS_Block_Size","Scratch_Size","VGPR_Count",'
    b'"Accum_VGPR_Count","SGPR_Count","Counter_Name","Counter_Value","Start_Timestamp",'
    b'"End_Timestamp"\n'
)
NAMES = (b"copy(float*, int)", b"void f<1, 2>(char const*)", b"k")


def kernel_rows() -> Iterator[bytes]:
    for n in range(1, 7):
        yield (
            b'"KERNEL_DISPATCH","Agent 4",1,0,77,%d,9,"%s",%d,%d,%d,0,0,8,0,16,64,1,1,640,1,1\n'
        ) % (n, NAMES[n % 3], n, 1000 * n, 1000 * n + 400)


def call_rows() -> Iterator[bytes]:
    for n in range(1, 7):
        yield b'"HIP_RUNTIME_API","hipLaunchKernel",77,77,%d,%d,%d\n' % (n, 900 * n, 900 * n + 9)


def counter_rows() -> Iterator[bytes]:
    for n in range(1, 5):
        for counter in (b"SQ_WAVES", b"GRBM_COUNT"):
            yield (b'%d,%d,"Agent 4",1,77,77,640,9,"%s",64,0,0,8,0,16,"%s",%d.500000,%d,%d\n') % (
                n,
                n,
                NAMES[n % 3],
                counter,
                10 * n,
                1000 * n,
                1000 * n + 400,
            )


FILES = {
    "77_kernel_trace.csv": KERNELS + b"".join(kernel_rows()),
    "77_hip_api_trace.csv": CALLS + b"".join(call_rows()),
    "77_counter_collection.csv": COUNTERS + b"".join(counter_rows()),
}
WORDS = st.sampled_from(
    b'" "" , "," \r - + _ . # \\ \0 \xff 7 e9 nan inf 1e400 \xc3\xa9'.split(b" ")
)
SNIPPETS = WORDS | st.sampled_from([b" ", b"\n", b"\r\n", b"\t", b"9" * 25])


@st.composite
def damaged(draw: st.DrawFn) -> tuple[str, bytes]:
    """Return a file with a few bytes of its records taken out, put in or replaced."""
    name = draw(st.sampled_from(sorted(FILES)))
    text = FILES[name]
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(text.index(b"\n") + 1, len(text)))
        gone = draw(st.integers(0, 3))
        text = text[:at] + draw(SNIPPETS | st.just(b"")) + text[at + gone :]
    return name, text


def outcome(name: str, text: bytes) -> dict[str, Any]:
    """Read a file; return every row of every table that may hold some of it, or the refusal."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / name).write_bytes(text)
        try:
            profile = ingest([folder / name], folder / "a.rocperf")
        except RocperfError as error:
            return {"refused": error.message.replace(place, "")}
        with rocperf.open(profile) as opened:
            found = {
                table: sorted(opened.sql(f"SELECT * FROM {table}").rows(), key=repr)
                for table in ("kernels", "all_dispatches", "counter_values", "api_calls", "markers")
            }
            found["notes"] = opened.sql("SELECT code, message, row, rows FROM notes").rows()
            return found


def never(_: Table) -> bool:
    return False


@given(damaged())
@settings(max_examples=60, deadline=None)
def test_damage_is_read_alike_both_ways(file: tuple[str, bytes]) -> None:
    quick = outcome(*file)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "fits", never)
        careful = outcome(*file)
    assert quick == careful


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_file_without_damage_is_read_the_quick_way(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = outcome(name, FILES[name])

    def stage(*_: object) -> None:
        raise AssertionError("read with care")

    monkeypatch.setattr(Table, "stage", stage)
    assert outcome(name, FILES[name]) == expected
    assert sum(len(found) for found in expected.values()) >= 6


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_block_may_end_in_any_record(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = outcome(name, FILES[name])
    for size in (250, 401, 997):
        monkeypatch.setattr("rocperf.ingest.rocprofv3_csv.plain._BLOCK", size)
        assert outcome(name, FILES[name]) == whole


@pytest.mark.parametrize("field", ['""', ""])
@pytest.mark.parametrize(
    ("name", "was", "table", "kept"),
    [
        ("77_kernel_trace.csv", '"k"', "all_dispatches", 6),
        ("77_hip_api_trace.csv", '"hipLaunchKernel"', "api_calls", 6),
        ("77_counter_collection.csv", '"k"', "counter_values", 8),
        ("77_counter_collection.csv", '"SQ_WAVES"', "counter_values", 7),
    ],
)
def test_a_name_may_be_missing(name: str, was: str, table: str, kept: int, field: str) -> None:
    """A kernel or call without a name is one all the same; a value of no counter means nothing."""
    found = outcome(name, FILES[name].replace(was.encode(), field.encode(), 1))
    assert len(found[table]) == kept
    told = [note for note in found["notes"] if note[0] == "rows-rejected"]
    if kept == 7:
        reason = "line 2: no Dispatch_Id or Counter_Name (1 row rejected)"
        assert told == [("rows-rejected", f"{name}: {reason}", 1, 1)]
    else:
        assert not told
        named = found["api_calls" if table == "api_calls" else "kernels"]
        assert any("(unnamed)" in row for row in named)


def test_a_call_of_no_process_is_told() -> None:
    """Where a file holds several processes, nothing says whose such a row is."""
    text = FILES["77_hip_api_trace.csv"].replace(b",77,77,2,", b",,77,2,")
    text = text.replace(b",77,77,3,", b",78,78,3,")
    found = outcome("77_hip_api_trace.csv", text)
    assert len(found["api_calls"]) == 5
    assert [note[2:] for note in found["notes"] if note[0] == "rows-rejected"] == [(2, 1)]


def test_a_value_of_no_counter_is_told_once_for_several_processes() -> None:
    text = FILES["77_counter_collection.csv"].replace(b',77,77,640,9,"k"', b',78,78,640,9,"k"')
    found = outcome("77_counter_collection.csv", text.replace(b'"GRBM_COUNT"', b"", 1))
    assert len(found["counter_values"]) == 7
    assert [note[2:] for note in found["notes"] if note[0] == "rows-rejected"] == [(2, 1)]
