"""Files that the simulator writes, against rocprofv3's own formats."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rocperf.testing.simulator import (
    Request,
    Session,
    generate,
    observe,
    profile,
    simulate,
    write_csv,
)

Recorded = Callable[[str], Path]
_ALL = frozenset(
    {"kernel", "copy", "hip", "hip_compiler", "marker", "rccl", "allocation", "scratch"}
)
_COUNTERS = ("SQ_WAVES", "GRBM_GUI_ACTIVE", "TCC_HIT_sum", "FETCH_SIZE")


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _header(path: Path) -> str:
    return path.read_text(encoding="utf-8").partition("\n")[0].rstrip("\r")


@pytest.mark.parametrize(
    ("kind", "sample"),
    [
        ("kernel_trace", "kernel_trace.csv"),
        ("counter_collection", "counter_collection.csv"),
        ("memory_copy_trace", "memory_copy_trace.csv"),
        ("memory_allocation_trace", "memory_allocation_trace.csv"),
        ("scratch_memory_trace", "scratch_memory_trace.csv"),
        ("marker_api_trace", "marker_api_trace.csv"),
        ("hip_api_trace", "hip_runtime_trace.csv"),
        ("rccl_api_trace", "rccl_trace.csv"),
    ],
)
def test_headers_of_7_0_are_those_of_recorded_samples(
    recorded: Recorded, tmp_path: Path, kind: str, sample: str
) -> None:
    request = Request(traces=_ALL, counters=("SQ_WAVES",))
    profile("collective", tmp_path / "c", request)
    profile("demo", tmp_path / "d", request)
    path = next(p for p in sorted(tmp_path.glob(f"*_{kind}.csv")))

    assert _header(path) == _header(recorded("rocprofv3_csv_samples_7.0") / sample)


def test_headers_of_6_4_are_those_of_a_recorded_run(recorded: Recorded, tmp_path: Path) -> None:
    profile("padded_transpose", tmp_path / "x", Request(version="6.4"))
    real = recorded("rocprofv3_csv_mi325x_gemm")

    for kind in ("kernel_trace", "agent_info"):
        (theirs,) = real.glob(f"*_{kind}.csv")
        assert _header(tmp_path / f"x_{kind}.csv") == _header(theirs)


def test_agents_are_bare_numbers_before_7_0(tmp_path: Path) -> None:
    profile("pinned_copies", tmp_path / "old", Request(version="6.4", traces=_ALL))
    profile("pinned_copies", tmp_path / "new", Request(version="7.0", traces=_ALL))

    assert {r["Agent_Id"] for r in _rows(tmp_path / "old_kernel_trace.csv")} == {"1"}
    assert {r["Agent_Id"] for r in _rows(tmp_path / "new_kernel_trace.csv")} == {"Agent 1"}
    assert "Stream_Id" not in _header(tmp_path / "old_memory_copy_trace.csv")


def test_lds_is_static_and_rounded_in_7_0_and_whole_before(tmp_path: Path) -> None:
    for version in ("6.4", "7.0"):
        profile("padded_transpose", tmp_path / version, Request(version=version))

    assert {r["Group_Segment_Size"] for r in _rows(tmp_path / "6.4_kernel_trace.csv")} == {"4224"}
    assert {r["LDS_Block_Size"] for r in _rows(tmp_path / "7.0_kernel_trace.csv")} == {"4608"}


def test_floats_are_printed_as_rocprofv3_does(tmp_path: Path) -> None:
    profile("padded_transpose", tmp_path / "x",
            Request(traces=frozenset(), counters=("SQ_WAVES", "SQ_LDS_BANK_CONFLICT")))  # fmt: skip
    text = (tmp_path / "x_counter_collection.csv").read_text()

    assert '"SQ_WAVES",262144.000000,' in text
    assert '"SQ_LDS_BANK_CONFLICT",0.00000000e+00,' in text


def _json(path: Path) -> dict[str, Any]:
    document = json.loads(path.read_text())
    (process,) = document["rocprofiler-sdk-tool"]
    return dict(process)


def _query(path: Path, sql: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def test_three_formats_hold_the_same_counters(tmp_path: Path) -> None:
    request = Request(traces=frozenset(), counters=_COUNTERS)
    profile("strided_copy", tmp_path / "x", request, ["csv", "json", "rocpd"])

    from_csv = {
        (int(r["Dispatch_Id"]), r["Counter_Name"]): float(r["Counter_Value"])
        for r in _rows(tmp_path / "x_counter_collection.csv")
    }
    process = _json(tmp_path / "x_results.json")
    names = {c["id"]["handle"]: c["name"] for c in process["counters"]}
    from_json: defaultdict[tuple[int, str], float] = defaultdict(float)
    for row in process["callback_records"]["counter_collection"]:
        number = row["dispatch_data"]["dispatch_info"]["dispatch_id"]
        for record in row["records"]:
            from_json[number, names[record["counter_id"]["handle"]]] += record["value"]
    sql = "SELECT dispatch_id, counter_name, value FROM counters_collection"
    from_rocpd = {(n, name): v for n, name, v in _query(tmp_path / "x_results.db", sql)}

    assert len(from_csv) == 3 * len(_COUNTERS)
    assert from_json == pytest.approx(from_csv)
    assert from_rocpd == pytest.approx(from_csv)


def test_json_and_rocpd_hold_instances(tmp_path: Path) -> None:
    request = Request(traces=frozenset(), counters=("GRBM_GUI_ACTIVE",))
    profile("strided_copy", tmp_path / "x", request, ["json", "rocpd"])

    process = _json(tmp_path / "x_results.json")
    records = process["callback_records"]["counter_collection"][0]["records"]
    ((count,),) = _query(tmp_path / "x_results.db", "SELECT count(*) FROM rocpd_pmc_event")

    assert len(records) == 8  # one a die
    assert count == 3 * 8


def test_three_formats_hold_the_same_copies_but_csv_has_no_sizes(tmp_path: Path) -> None:
    profile("pageable_copies", tmp_path / "x", Request(traces=_ALL), ["csv", "json", "rocpd"])

    from_csv = [
        (r["Direction"], int(r["Start_Timestamp"]), int(r["End_Timestamp"]))
        for r in _rows(tmp_path / "x_memory_copy_trace.csv")
    ]
    process = _json(tmp_path / "x_results.json")
    copies = process["buffer_records"]["memory_copy"]
    operations = process["strings"]["buffer_records"][copies[0]["kind"]]["operations"]
    from_json = [
        (operations[c["operation"]], c["start_timestamp"], c["end_timestamp"]) for c in copies
    ]
    sql = 'SELECT name, start, "end", size FROM memory_copies ORDER BY start'
    from_rocpd = _query(tmp_path / "x_results.db", sql)

    assert len(from_csv) == 12
    assert from_json == from_csv
    assert [row[:3] for row in from_rocpd] == from_csv
    assert sum(row[3] for row in from_rocpd) == sum(c["bytes"] for c in copies) == 4 * (96 << 20)


def test_markers_keep_their_text_in_every_format(tmp_path: Path) -> None:
    profile("demo", tmp_path / "x", Request(traces=_ALL), ["csv", "json", "rocpd"])

    texts = [r["Function"] for r in _rows(tmp_path / "x_marker_api_trace.csv")]
    process = _json(tmp_path / "x_results.json")
    messages = [m["value"] for m in process["strings"]["marker_api"]]
    regions = _query(
        tmp_path / "x_results.db",
        "SELECT json_extract(extdata, '$.message') FROM rocpd_event "
        "WHERE json_extract(extdata, '$.message') IS NOT NULL",
    )
    samples = _query(tmp_path / "x_results.db", "SELECT count(*) FROM rocpd_sample")

    assert {"start", "load", "solve", "step", "store"} <= set(texts)
    assert sorted(messages) == sorted(texts) == sorted(text for (text,) in regions)
    assert samples == [(1,)]  # the mark, which takes no time


def test_tables_of_rocpd_are_suffixed_and_schema_3(tmp_path: Path) -> None:
    profile("strided_copy", tmp_path / "x", Request(), ["rocpd"])
    tags = dict(_query(tmp_path / "x_results.db", "SELECT tag, value FROM rocpd_metadata"))
    sql = "SELECT name FROM sqlite_master WHERE type='table'"
    tables = {name for (name,) in _query(tmp_path / "x_results.db", sql)}

    assert tags["schema_version"] == "3"
    assert tags["uuid"] == "_" + tags["guid"].replace("-", "_")
    assert f"rocpd_kernel_dispatch{tags['uuid']}" in tables
    assert all(name.endswith(tags["uuid"]) for name in tables)


def test_columns_of_rocpd_are_those_of_a_recorded_database(
    recorded: Recorded, tmp_path: Path
) -> None:
    profile("strided_copy", tmp_path / "x", Request(), ["rocpd"])
    real = recorded("rocpd_gfx1201_llama/32432_results.db")
    for table in ("kernel_dispatch", "memory_copy", "memory_allocate", "region", "sample", "event",
                  "arg", "pmc_event", "info_pmc", "info_kernel_symbol", "info_code_object",
                  "info_agent", "info_process", "info_thread", "info_node", "track"):  # fmt: skip
        sql = f"SELECT name FROM pragma_table_info('rocpd_{table}')"
        assert _query(tmp_path / "x_results.db", sql) == _query(real, sql), table


def test_the_environment_is_stored_as_rocprofv3_does(tmp_path: Path) -> None:
    session = Session(environment={"A_TOKEN": "secret", "LIST": "a;b"})
    profile("strided_copy", tmp_path / "x", Request(), ["rocpd"], session=session)

    ((text,),) = _query(tmp_path / "x_results.db", "SELECT environment FROM rocpd_info_process")

    assert json.loads(text) == {"A_TOKEN": "secret"}  # values with a semicolon are left out


def test_filters_limit_counters_but_not_kernels(tmp_path: Path) -> None:
    request = Request(
        counters=("SQ_WAVES",), include="copy", exclude="strided", launches=frozenset({2, 3})
    )
    profile("demo", tmp_path / "x", request)

    counted = _rows(tmp_path / "x_counter_collection.csv")
    assert [r["Kernel_Name"].partition("(")[0] for r in counted] == ["copy_unit_stride"] * 2
    assert len(_rows(tmp_path / "x_kernel_trace.csv")) == 180


def test_selected_regions_leave_out_the_rest(tmp_path: Path) -> None:
    everything = Request(traces=_ALL)
    selected = Request(traces=_ALL, selected_regions=True)
    profile("demo", tmp_path / "all", everything)
    profile("demo", tmp_path / "some", selected)

    assert len(_rows(tmp_path / "some_kernel_trace.csv")) == 180
    assert (tmp_path / "all_memory_copy_trace.csv").exists()
    assert not (tmp_path / "some_memory_copy_trace.csv").exists()


def test_nothing_recorded_means_no_file(tmp_path: Path) -> None:
    assert profile("strided_copy", tmp_path / "x", Request(traces=frozenset())) == []
    assert profile(
        "strided_copy", tmp_path / "x", Request(traces=frozenset(), counters=("NOPE",)), ["rocpd"]
    ) == []  # fmt: skip
    assert list(tmp_path.iterdir()) == []


def test_unknown_traces_are_refused() -> None:
    with pytest.raises(ValueError, match="hsa"):
        observe(simulate("strided_copy"), Request(traces=frozenset({"hsa"})), Session())


def test_gated_counters_read_zero_but_waves(tmp_path: Path) -> None:
    request = Request(traces=frozenset(), counters=("SQ_WAVES", "SQ_INSTS_VALU"), gated=True)
    profile("strided_copy", tmp_path / "x", request, gpu="gfx1201")
    values = {
        r["Counter_Name"]: float(r["Counter_Value"])
        for r in _rows(tmp_path / "x_counter_collection.csv")
    }

    assert values == {"SQ_WAVES": 32768.0, "SQ_INSTS_VALU": 0.0}


def test_text_is_not_escaped(tmp_path: Path) -> None:
    """rocprofv3 quotes and never escapes: a quote in a marker breaks its row."""
    recording = simulate("strided_copy")
    recording.markers[-1] = replace(recording.markers[-1], text='say "hi"')
    write_csv(observe(recording, Request(traces=_ALL), Session()), tmp_path / "x")

    assert ',"say "hi"",' in (tmp_path / "x_marker_api_trace.csv").read_text()


def test_big_sets_hold_what_they_say(tmp_path: Path) -> None:
    made = generate(tmp_path, 500)

    csv_folder, rocpd_folder = made["csv"], made["rocpd"]
    timing = csv_folder / "timing"
    kernels = _rows(timing / "4242_kernel_trace.csv")
    assert len(kernels) == 500
    assert len(_rows(timing / "4242_hip_api_trace.csv")) == 2000
    assert len(_rows(timing / "4242_memory_copy_trace.csv")) == 50
    counters = _rows(csv_folder / "counters/4343_counter_collection.csv")
    assert len(counters) == 2000
    database = rocpd_folder / "timing/4242_results.db"
    sql = 'SELECT dispatch_id, name, start, "end", stack_id FROM kernels ORDER BY dispatch_id'
    assert [tuple(map(str, row)) for row in _query(database, sql)] == [
        (r["Dispatch_Id"], r["Kernel_Name"], r["Start_Timestamp"], r["End_Timestamp"],
         r["Correlation_Id"])
        for r in kernels
    ]  # fmt: skip
    assert _query(database, "SELECT count(*), sum(size) FROM memory_copies") == [
        (50, 13 * 4096 + 13 * 65536 + 12 * (1 << 20) + 12 * (4 << 20))
    ]
    assert _query(database, "SELECT count(*) FROM regions") == [(2000,)]
    sql = "SELECT dispatch_id, counter_name, value FROM counters_collection"
    summed = {(str(n), name): v for n, name, v in _query(
        rocpd_folder / "counters/4343_results.db", sql)}  # fmt: skip
    assert summed == {
        (r["Dispatch_Id"], r["Counter_Name"]): float(r["Counter_Value"]) for r in counters
    }
