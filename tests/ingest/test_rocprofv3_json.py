"""JSON of rocprofv3: recordings, agreement with CSV, damaged documents."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rocperf
from rocperf.errors import InputError
from rocperf.ingest import rocprofv3_json
from rocperf.ingest.load import Note, ingest
from rocperf.testing.simulator import Request, profile

Recorded = Callable[[str], Path]
Json = dict[str, Any]


def load(tmp_path: Path, *sources: Path) -> tuple[Path, list[Note]]:
    notes: list[Note] = []
    output = tmp_path / "out.rocperf"
    ingest(
        sources,
        output,
        mode="replace",
        on_event=lambda event: notes.append(event) if isinstance(event, Note) else None,
    )
    return output, notes


def rows(profile_path: Path, query: str) -> list[tuple[Any, ...]]:
    with rocperf.open(profile_path) as opened:
        return opened.sql(query).rows()


@pytest.fixture(scope="module")
def rccl(recorded: Recorded, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rccl")
    return load(folder, recorded("rocprofv3_json_mi350x_rccl"))[0]


def test_recorded_dispatches_and_their_times(rccl: Path) -> None:
    assert rows(
        rccl,
        "SELECT count(*), sum(end_ns - start_ns)::BIGINT, count(DISTINCT kernel_id),"
        " count(DISTINCT queue_id) FROM dispatches",
    ) == [(43915, 4_441_741_378, 80, 5)]
    # Time in which at least one kernel ran: gaps before each start, taken off the whole span.
    busy = """
        SELECT (max(end_ns) - min(start_ns) - sum(gap))::BIGINT FROM (
            SELECT start_ns, end_ns, greatest(0, start_ns - coalesce(
                max(end_ns) OVER (ORDER BY start_ns, end_ns
                                  ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
                start_ns)) AS gap FROM dispatches)
    """
    assert rows(rccl, busy) == [(4_233_112_334,)]


def test_recorded_totals_of_each_kernel(rccl: Path, golden: Callable[[str], Path]) -> None:
    expected = json.loads(golden("mi350x_rccl_kernel_stats.json").read_text())
    found = rows(
        rccl,
        "SELECT k.name, count(*), sum(d.end_ns - d.start_ns)::BIGINT FROM dispatches d"
        " JOIN kernels k USING (kernel_id) GROUP BY 1",
    )
    totals = {name: (count, total) for name, count, total in found}
    stated = {
        each["name"]: (each["count"], each["sum_ns"]) for each in expected["by_formatted_name"]
    }
    assert len(stated) == 80
    assert totals == stated


def test_recorded_agents_command_and_roles(rccl: Path) -> None:
    gpu = "SELECT target, cu_count, lds_bytes_per_cu, wave_size FROM agents WHERE agent_id = 2"
    assert rows(rccl, gpu) == [("gfx950", 256, 160 * 1024, 64)]
    assert rows(rccl, "SELECT pid, hostname, role FROM runs") == [(908, "node-25", "timing")]
    communicating = (
        "SELECT count(*) FROM dispatches JOIN kernels USING (kernel_id)"
        " WHERE role = 'communication'"
    )
    assert rows(rccl, communicating) == [(1310,)]


@pytest.mark.parametrize("scenario", ["pageable_copies", "naive_transpose", "register_heavy"])
def test_json_and_csv_of_one_run_agree(scenario: str, tmp_path: Path) -> None:
    traces = frozenset({"kernel", "hip", "copy", "marker", "allocation", "scratch"})
    found: dict[str, dict[str, list[tuple[Any, ...]]]] = {}
    for form in ("csv", "json"):
        folder = tmp_path / form
        timing, counters = Request(traces=traces), Request(counters=("SQ_WAVES", "GRBM_COUNT"))
        profile(scenario, folder / "timing" / "4242", timing, [form])
        profile(scenario, folder / "counters" / "4343", counters, [form])
        path, notes = load(folder, folder)
        assert notes == []
        found[form] = {name: rows(path, query) for name, query in QUERIES.items()}
    assert found["json"] == found["csv"]
    assert found["json"]["dispatches"]
    assert found["json"]["counters"]


QUERIES = {
    "dispatches": "SELECT runs.role, dispatch_id, name, d.start_ns, d.end_ns, agent_id, queue_id,"
    " grid_size, workgroup_size, vgpr, sgpr, scratch_bytes, correlation_id"
    " FROM all_dispatches d JOIN kernels USING (kernel_id) JOIN runs USING (run_id) ORDER BY ALL",
    "counters": "SELECT dispatch_id, counter, value FROM counter_values ORDER BY ALL",
    "calls": "SELECT domain, name, thread_id, correlation_id, start_ns, end_ns FROM api_calls"
    " ORDER BY ALL",
    "markers": "SELECT kind, message, start_ns, end_ns FROM markers ORDER BY ALL",
    "copies": "SELECT direction, src_agent_id, dst_agent_id, start_ns, end_ns FROM copies"
    " ORDER BY ALL",
    "allocations": "SELECT operation, agent_id, address, bytes, start_ns FROM allocations"
    " ORDER BY ALL",
    "scratch": "SELECT operation, agent_id, queue_id, start_ns, end_ns FROM scratch_events"
    " ORDER BY ALL",
    "gpus": "SELECT DISTINCT target, cu_count, num_xcc, simd_per_cu, wave_size, lds_bytes_per_cu,"
    " clock_mhz, shader_engines FROM agents WHERE kind = 'GPU'",
}


def test_copies_have_sizes_and_calls_have_arguments(tmp_path: Path) -> None:
    request = Request(traces=frozenset({"kernel", "hip", "copy"}))
    profile("pageable_copies", tmp_path / "4242", request, ["json"])
    path, _ = load(tmp_path, tmp_path)
    assert rows(path, "SELECT count(*) > 0, bool_and(bytes > 0) FROM copies") == [(True, True)]
    args = "SELECT DISTINCT json_valid(args) FROM api_calls WHERE args IS NOT NULL"
    assert rows(path, args) == [(True,)]


def test_csv_of_the_same_run_is_not_counted_twice(tmp_path: Path) -> None:
    request = Request(traces=frozenset({"kernel", "hip", "copy"}))
    profile("pageable_copies", tmp_path / "4242", request, ["csv", "json"])
    path, notes = load(tmp_path, tmp_path)
    twice = "SELECT count(*) - count(DISTINCT dispatch_id), count(DISTINCT run_id)"
    assert rows(path, f"{twice} FROM all_dispatches") == [(0, 1)]
    assert rows(path, "SELECT bool_and(bytes > 0) FROM copies") == [(True,)]
    assert [note.code for note in notes] == ["recorded-twice"]


# -- documents by hand -----------------------------------------------------------------------


def document() -> Json:
    """Make a document of one dispatch of 64 workgroups, of 256 work-items each."""
    info = {
        "agent_id": {"handle": 2**63 + 5},
        "queue_id": {"handle": 0},
        "kernel_id": 7,
        "dispatch_id": 1,
        "private_segment_size": 16,
        "group_segment_size": 2048,
        "workgroup_size": {"x": 256, "y": 1, "z": 1},
        "grid_size": {"x": 16384, "y": 1, "z": 1},
    }
    times = {"start_timestamp": 1000, "end_timestamp": 1600}
    cause = {"correlation_id": {"internal": 3, "external": 0}}
    return {
        "metadata": {"pid": 77, "command": ["./app", "--token=s3cret"], "node": {"hostname": "h"}},
        "agents": [
            {
                "id": {"handle": 2**63 + 5},
                "type": 2,
                "node_id": 4,
                "name": "gfx942",
                "wave_front_size": 64,
                "hive_id": 2**63 + 1,
                "io_links": [{"type": 11, "node_to": 5, "weight": 15, "max_bandwidth": 64000}],
            }
        ],
        "counters": [{"id": {"handle": 0}, "name": "SQ_WAVES"}],
        "strings": {
            "buffer_records": [{"kind": "NONE", "operations": []}],
            "marker_api": [{"key": 9, "value": 'say "hi"\nand\x1b[2J'}],
            "pc_sample_instructions": ["v_add_f32", "s_endpgm"],
            "pc_sample_comments": ["a.hip:3", ""],
        },
        "code_objects": [],
        "kernel_symbols": [
            {"kernel_id": 0, "formatted_kernel_name": ""},
            {"kernel_id": 7, "formatted_kernel_name": "k(int*)", "group_segment_size": 1024},
        ],
        "callback_records": {"counter_collection": []},
        "buffer_records": {
            "kernel_dispatch": [
                {"kind": 0, "thread_id": 5, "dispatch_info": info, **times, **cause}
            ],
            "marker_api": [{"kind": 0, "correlation_id": {"internal": 9}, "thread_id": 5, **times}],
        },
    }


def counted(process: Json, values: list[float]) -> Json:
    """Count the dispatch instead of tracing it: one value for each instance."""
    (traced,) = process["buffer_records"].pop("kernel_dispatch")
    records = [{"counter_id": {"handle": 0}, "value": value} for value in values]
    process["callback_records"]["counter_collection"] = [
        {"thread_id": 5, "dispatch_data": traced, "records": records}
    ]
    return process


def write(path: Path, process: Json) -> Path:
    path.write_text(json.dumps({"rocprofiler-sdk-tool": [process]}))
    return path


def test_numbers_of_64_bits_symbols_links_and_messages(tmp_path: Path) -> None:
    path, notes = load(tmp_path, write(tmp_path / "77_results.json", document()))
    assert notes == []
    dispatch = (
        "SELECT name, agent_id, queue_id, lds_bytes, static_lds_bytes, scratch_bytes, grid_size,"
        " workgroup_size, correlation_id, vgpr FROM all_dispatches JOIN kernels USING (kernel_id)"
    )
    assert rows(path, dispatch) == [("k(int*)", 4, 0, 2048, 1024, 16, 16384, 256, 3, None)]
    assert rows(path, "SELECT hive_id FROM agents") == [(2**63 + 1,)]
    link = "SELECT from_agent_id, to_agent_id, kind, max_bandwidth FROM links"
    assert rows(path, link) == [(4, 5, "xgmi", 64_000_000_000)]
    assert rows(path, "SELECT kind, message FROM markers") == [("range", 'say "hi"\nand\x1b[2J')]
    assert rows(path, "SELECT command FROM runs") == [("./app --token=***",)]


def test_instances_are_summed_once_and_kept(tmp_path: Path) -> None:
    # 16384 work-items in waves of 64 lanes: 256 waves, on eight dies of 32 each.
    source = write(tmp_path / "77_results.json", counted(document(), [32.0] * 8))
    path, notes = load(tmp_path, source)
    assert notes == []
    assert rows(path, "SELECT counter, value FROM counter_values") == [("SQ_WAVES", 256.0)]
    instances = "SELECT count(*), min(instance), max(instance), sum(value) FROM counter_instances"
    assert rows(path, instances) == [(8, 0, 7, 256.0)]
    assert rows(path, "SELECT role FROM runs") == [("counters",)]


def test_replays_are_not_summed(tmp_path: Path) -> None:
    source = write(tmp_path / "77_results.json", counted(document(), [256.0] * 3))
    path, notes = load(tmp_path, source)
    assert rows(path, "SELECT value, reason FROM counter_values") == [(256.0, None)]
    assert rows(path, "SELECT count(*) FROM counter_instances") == [(0,)]
    assert "3 rows for one counter of one dispatch (replay?)" in notes[0].message


def test_a_counter_that_is_no_number_has_a_reason(tmp_path: Path) -> None:
    source = write(tmp_path / "77_results.json", counted(document(), [float("nan")]))
    path, _ = load(tmp_path, source)
    assert rows(path, "SELECT value, reason IS NOT NULL FROM counter_values") == [(None, True)]


def test_samples_take_their_instruction_by_place(tmp_path: Path) -> None:
    process = document()
    process["buffer_records"]["pc_sample_host_trap"] = [
        {"inst_index": place, "record": {"exec_mask": 2**64 - 1, "timestamp": 5, "dispatch_id": 1}}
        for place in (0, 1, -1)
    ]
    path, _ = load(tmp_path, write(tmp_path / "77_results.json", process))
    assert rows(path, "SELECT instruction, source, exec_mask FROM pc_samples ORDER BY row") == [
        ("v_add_f32", "a.hip:3", 2**64 - 1),
        ("s_endpgm", None, 2**64 - 1),
        (None, None, 2**64 - 1),
    ]


def test_sections_in_another_order(tmp_path: Path) -> None:
    process = dict(reversed(document().items()))
    path, _ = load(tmp_path, write(tmp_path / "77_results.json", process))
    query = "SELECT name, agent_id, pid FROM dispatches JOIN kernels USING (kernel_id) JOIN runs"
    assert rows(path, f"{query} USING (run_id)") == [("k(int*)", 4, 77)]


def test_gzipped_and_cut_gzip(tmp_path: Path) -> None:
    plain = write(tmp_path / "77_results.json", document()).read_bytes()
    packed = tmp_path / "78_results.json.gz"
    packed.write_bytes(gzip.compress(plain))
    path, _ = load(tmp_path, packed)
    assert rows(path, "SELECT count(*) FROM dispatches") == [(1,)]
    packed.write_bytes(gzip.compress(plain)[:-30])
    with pytest.raises(InputError, match="breaks off"):
        load(tmp_path, packed)


def test_invalid_utf8_is_replaced_and_told(tmp_path: Path) -> None:
    source = write(tmp_path / "77_results.json", document())
    damaged = source.read_bytes().replace(b"k(int*)", b"k\xe9\xff(int*)")
    source.write_bytes(damaged)
    path, notes = load(tmp_path, source)
    assert rows(path, "SELECT name FROM kernels") == [("k\ufffd\ufffd(int*)",)]
    place = damaged.index(b"\xe9\xff")
    assert f"invalid UTF-8 at byte {place:,} in 1 string," in notes[0].message


def test_a_document_that_breaks_off_names_the_byte(tmp_path: Path) -> None:
    source = write(tmp_path / "77_results.json", document())
    cut = source.read_bytes()[:-40]
    source.write_bytes(cut)
    with pytest.raises(InputError, match=rf"no valid JSON at byte {len(cut):,}.*in the middle"):
        load(tmp_path, source)


def test_a_document_with_a_wrong_record_is_refused(tmp_path: Path) -> None:
    process = document()
    process["buffer_records"]["kernel_dispatch"].append({"kind": 11})
    with pytest.raises(InputError, match=r"kernel_dispatch.*not as rocprofv3 writes it"):
        load(tmp_path, write(tmp_path / "77_results.json", process))


def test_no_json_under_the_name_of_results(tmp_path: Path) -> None:
    source = tmp_path / "results.json"
    source.write_text(',{"ph":"M"}\n')
    with pytest.raises(InputError, match=r"not a rocprofv3 results file .starts with ','"):
        load(tmp_path, source)


def test_settings_are_left_aside_and_foreign_json_is_not_claimed(tmp_path: Path) -> None:
    head = b'{"rocprofiler-sdk-tool": [{"metadata": {'
    config = tmp_path / "77_config.json"
    config.write_bytes(head)
    found = rocprofv3_json.recognise(config, head)
    assert found is not None
    assert found.kind == "config"
    other = tmp_path / "trace.json"
    other.write_text('{"traceEvents": []}')
    assert rocprofv3_json.recognise(other, other.read_bytes()) is None


def test_truncated_documents_can_be_salvaged(tmp_path: Path) -> None:
    from rocperf.ingest.sink import StoreSink
    from rocperf.store import Store

    process = document()
    (first,) = process["buffer_records"]["kernel_dispatch"]
    process["buffer_records"]["kernel_dispatch"] = [first] * 5
    del process["buffer_records"]["marker_api"]
    source = write(tmp_path / "77_results.json", process)
    source.write_bytes(source.read_bytes()[:-200])
    found = rocprofv3_json.recognise(source, source.read_bytes())
    assert found is not None
    with Store.create(tmp_path / "out.rocperf") as store:
        sink = StoreSink(store, found.size, None, salvage=True)
        rocprofv3_json.read([found], sink)
        kept = store.connection.execute("SELECT count(*) FROM scratch.main.incoming").fetchone()
        assert kept == (4,)
        assert [info.status for info in sink.runs.values()] == ["incomplete"]
