"""rocpd databases: recordings, agreement with CSV, odd and hostile files."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

import rocperf
from rocperf.errors import InputError, NothingError
from rocperf.ingest import rocpd
from rocperf.ingest.load import Note, ingest
from rocperf.ingest.rocpd.database import Database, Field
from rocperf.testing.simulator import Request, profile

Recorded = Callable[[str], Path]

EVERYTHING = frozenset({"kernel", "hip", "copy", "marker", "allocation", "scratch"})


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


# -- recordings ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def llama(recorded: Recorded, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return load(tmp_path_factory.mktemp("llama"), recorded("rocpd_gfx1201_llama"))[0]


@pytest.fixture(scope="module")
def copies(recorded: Recorded, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return load(tmp_path_factory.mktemp("copies"), recorded("rocpd_mi308x_copies"))[0]


def test_recorded_dispatches_queues_and_streams(llama: Path) -> None:
    query = "SELECT count(*), count(DISTINCT queue_id), count(DISTINCT stream_id) FROM dispatches"
    assert rows(llama, query) == [(5687, 3, 4)]
    gpus = "SELECT target, count(*), any_value(wave_size) FROM agents WHERE kind = 'GPU' GROUP BY 1"
    assert rows(llama, gpus) == [("gfx1201", 4, 32)]


def test_a_planted_secret_is_in_no_text_of_the_profile(llama: Path, recorded: Recorded) -> None:
    (source,) = recorded("rocpd_gfx1201_llama").glob("*.db")
    assert b"EXAMPLE_API_TOKEN" in source.read_bytes()
    looked = 0
    with duckdb.connect(str(llama), read_only=True) as connection:
        columns = connection.execute(
            "SELECT table_name, column_name FROM duckdb_columns()"
            " WHERE data_type = 'VARCHAR' AND NOT internal AND database_name = current_database()"
        ).fetchall()
        for table, column in columns:
            ((found,),) = connection.execute(
                f'SELECT count(*) FROM "{table}" WHERE contains("{column}", \'EXAMPLE_API_TOKEN\')'
            ).fetchall()
            assert found == 0, (table, column)
            looked += 1
        names = connection.execute("SELECT name FROM environment ORDER BY name").fetchall()
    assert looked > 50
    assert ("CUDA_VISIBLE_DEVICES",) in names
    assert ("LD_LIBRARY_PATH",) not in names


def test_recorded_copies_have_sizes_and_a_direction(copies: Path) -> None:
    query = "SELECT count(*), sum(bytes)::BIGINT, max(bytes) FROM copies"
    assert rows(copies, query) == [(48, 1_574_502_400, 32 << 20)]
    # Both ends are stated as the same GPU: only the name tells the direction.
    ends = "SELECT DISTINCT src_agent_id = dst_agent_id FROM copies"
    assert rows(copies, ends) == [(True,)]
    counts = dict(rows(copies, "SELECT direction, count(*) FROM copies GROUP BY 1"))
    assert counts == {"host_to_device": 24, "device_to_host": 24}


def test_recorded_calls_have_arguments(copies: Path) -> None:
    query = (
        "SELECT count(*), sum((args->>'sizeBytes')::BIGINT)::BIGINT FROM api_calls"
        " WHERE name = 'hipMemcpyAsync'"
    )
    assert rows(copies, query) == [(4, 4 * 393_625_600)]
    assert rows(copies, "SELECT DISTINCT domain FROM api_calls") == [("hip",)]
    assert rows(copies, "SELECT count(*) FROM api_calls") == [(2130,)]


def test_recorded_sensor_samples_are_no_counters(copies: Path) -> None:
    assert rows(copies, "SELECT count(*) FROM dispatches") == [(1004,)]
    assert rows(copies, "SELECT count(*) FROM counter_values") == [(0,)]
    assert rows(copies, "SELECT count(*), count(timestamp_ns) FROM sensor_samples") == [
        (2684, 2684)
    ]
    power = (
        "SELECT agent_id, min(value), max(value), any_value(unit) FROM sensor_samples"
        " WHERE name = 'device_power' AND agent_id = 2 GROUP BY 1"
    )
    assert rows(copies, power) == [(2, 162.0, 380.0, "w")]
    run = "SELECT tool, role, hostname, command FROM runs"
    assert rows(copies, run) == [("rocprofiler-systems", "timing", "node-b", "./build/transpose")]


def test_recorded_ids_are_those_of_nodes_and_threads(copies: Path) -> None:
    # Rows name agents and threads by their place in the file's own tables.
    query = "SELECT DISTINCT agent_id, thread_id FROM dispatches ORDER BY ALL"
    assert rows(copies, query) == [(2, 484153), (2, 484205)]


# -- agreement -------------------------------------------------------------------------------

QUERIES = {
    "dispatches": "SELECT runs.role, dispatch_id, name, d.start_ns, d.end_ns, agent_id, queue_id,"
    " stream_id, grid_size, workgroup_size, vgpr, sgpr, scratch_bytes, correlation_id"
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


@pytest.mark.parametrize("scenario", ["pageable_copies", "naive_transpose", "lds_heavy"])
def test_rocpd_and_csv_of_one_run_agree(scenario: str, tmp_path: Path) -> None:
    found: dict[str, dict[str, list[tuple[Any, ...]]]] = {}
    for form in ("csv", "rocpd"):
        folder = tmp_path / form
        counters = Request(counters=("SQ_WAVES", "GRBM_COUNT", "SQ_LDS_BANK_CONFLICT"))
        profile(scenario, folder / "timing" / "4242", Request(traces=EVERYTHING), [form])
        profile(scenario, folder / "counters" / "4343", counters, [form])
        path, notes = load(folder, folder)
        assert notes == []
        found[form] = {name: rows(path, query) for name, query in QUERIES.items()}
    for name in QUERIES:
        assert found["rocpd"][name] == found["csv"][name], name
    assert found["rocpd"]["dispatches"]
    assert found["rocpd"]["counters"]


def test_rocpd_and_json_have_equal_sizes_arguments_and_instances(tmp_path: Path) -> None:
    more = {
        "copies": "SELECT bytes FROM copies ORDER BY ALL",
        "arguments": "SELECT name, args FROM api_calls ORDER BY ALL",
        "lds": "SELECT lds_bytes, static_lds_bytes FROM all_dispatches ORDER BY ALL",
        "links": "SELECT from_agent_id, to_agent_id, kind, max_bandwidth FROM links ORDER BY ALL",
        "instances": "SELECT dispatch_id, counter, instance, value FROM counter_instances"
        " ORDER BY ALL",
    }
    found: dict[str, dict[str, list[tuple[Any, ...]]]] = {}
    for form in ("json", "rocpd"):
        folder = tmp_path / form
        profile("pinned_copies", folder / "timing" / "4242", Request(traces=EVERYTHING), [form])
        counters = Request(counters=("SQ_WAVES", "GRBM_GUI_ACTIVE"))
        profile("pinned_copies", folder / "counters" / "4343", counters, [form])
        path, _ = load(folder, folder)
        found[form] = {name: rows(path, query) for name, query in more.items()}
    assert found["rocpd"] == found["json"]
    assert all(found["rocpd"].values())


def test_csv_of_the_same_run_is_not_counted_twice(tmp_path: Path) -> None:
    request = Request(traces=EVERYTHING)
    profile("pageable_copies", tmp_path / "4242", request, ["csv", "rocpd"])
    path, notes = load(tmp_path, tmp_path)
    twice = "SELECT count(*) - count(DISTINCT dispatch_id), count(DISTINCT run_id)"
    assert rows(path, f"{twice} FROM all_dispatches") == [(0, 1)]
    assert rows(path, "SELECT bool_and(bytes > 0) FROM copies") == [(True,)]
    assert [note.code for note in notes] == ["recorded-twice"]


# -- files by hand ---------------------------------------------------------------------------


class Editable:
    """A small database that a test damages before it is read."""

    def __init__(self, path: Path, request: Request, scenario: str = "naive_transpose") -> None:
        (self.path,) = profile(scenario, path / "4242", request, ["rocpd"])
        self.connection = sqlite3.connect(self.path, isolation_level=None)
        ((uuid,),) = self.connection.execute(
            "SELECT value FROM rocpd_metadata WHERE tag = 'uuid'"
        ).fetchall()
        self.suffix = str(uuid)

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        """Run SQL in which ``{table}`` is the physical name."""
        names = {
            name: f'"rocpd_{name}{self.suffix}"'
            for name in (
                *("kernel_dispatch", "pmc_event", "event", "info_thread", "info_process"),
                *("metadata", "info_pmc", "memory_copy", "string", "region", "arg", "sample"),
                *("info_kernel_symbol", "info_agent", "track"),
            )
        }
        return self.connection.execute(sql.format(**names)).fetchall()

    def drop_views(self) -> None:
        """Drop the file's own views, which hold SQLite back from changing tables."""
        run = self.connection.execute
        for (name,) in run("SELECT name FROM sqlite_master WHERE type = 'view'").fetchall():
            run(f'DROP VIEW "{name}"')

    def done(self) -> Path:
        self.connection.close()
        return self.path


@pytest.fixture
def timing(tmp_path: Path) -> Editable:
    return Editable(tmp_path / "in", Request(traces=EVERYTHING))


@pytest.fixture
def counters(tmp_path: Path) -> Editable:
    return Editable(tmp_path / "in", Request(counters=("SQ_WAVES", "GRBM_COUNT")))


def test_replayed_values_are_taken_once(counters: Editable, tmp_path: Path) -> None:
    (waves,) = counters.run("SELECT id FROM {info_pmc} WHERE name = 'SQ_WAVES'")
    ((event,),) = counters.run("SELECT event_id FROM {kernel_dispatch} WHERE dispatch_id = 1")
    expected = counters.run(
        f"SELECT sum(value) FROM {{pmc_event}} WHERE event_id = {event} AND pmc_id = {waves[0]}"
    )
    counters.run(f"DELETE FROM {{pmc_event}} WHERE event_id = {event} AND pmc_id = {waves[0]}")
    ((guid,),) = counters.run("SELECT guid FROM {kernel_dispatch} LIMIT 1")
    for _ in range(3):
        counters.run(
            "INSERT INTO {pmc_event} (guid, event_id, pmc_id, value)"
            f" VALUES ('{guid}', {event}, {waves[0]}, {expected[0][0]})"
        )
    path, notes = load(tmp_path, counters.done())
    query = "SELECT value FROM counter_values WHERE dispatch_id = 1 AND counter = 'SQ_WAVES'"
    assert rows(path, query) == expected
    assert "3 rows for one counter of one dispatch (replay?)" in notes[0].message
    # Values of the other counter cannot be told from a replay's by themselves.
    other = (
        "SELECT value, reason FROM counter_values WHERE dispatch_id = 1 AND counter <> 'SQ_WAVES'"
    )
    ((value, reason),) = rows(path, other)
    assert value is None
    assert "several times" in reason


def test_counters_hang_on_events_and_id_0_is_an_id(counters: Editable, tmp_path: Path) -> None:
    counters.run("UPDATE {info_pmc} SET id = 0 WHERE name = 'GRBM_COUNT'")
    counters.run(
        "UPDATE {pmc_event} SET pmc_id = 0, value = 777 WHERE pmc_id NOT IN"
        " (SELECT id FROM {info_pmc})"
    )
    counters.run("UPDATE {event} SET id = id + 1000")
    counters.run("UPDATE {pmc_event} SET event_id = event_id + 1000")
    counters.run("UPDATE {kernel_dispatch} SET event_id = event_id + 1000")
    path, _ = load(tmp_path, counters.done())
    query = (
        "SELECT count(*), min(value / n), max(value / n) FROM counter_values JOIN"
        " (SELECT dispatch_id, counter, count(*) AS n FROM counter_instances GROUP BY ALL)"
        " USING (dispatch_id, counter) WHERE counter = 'GRBM_COUNT'"
    )
    assert rows(path, query) == [(3, 777.0, 777.0)]


def test_sums_keep_every_digit(counters: Editable, tmp_path: Path) -> None:
    # 2^53 - 1 is the largest odd number that a double holds; 0.1 has no short binary form.
    (pmc,) = counters.run("SELECT id FROM {info_pmc} WHERE name = 'GRBM_COUNT'")
    counters.run(f"UPDATE {{pmc_event}} SET value = 0.0 WHERE pmc_id = {pmc[0]}")
    for dispatch, value in ((1, "9007199254740991.0"), (2, "12345678.1"), (3, "9e999")):
        counters.run(
            f"UPDATE {{pmc_event}} SET value = {value} WHERE id ="
            f" (SELECT min(id) FROM {{pmc_event}} WHERE pmc_id = {pmc[0]} AND event_id ="
            f" (SELECT event_id FROM {{kernel_dispatch}} WHERE dispatch_id = {dispatch}))"
        )
    path, _ = load(tmp_path, counters.done())
    query = (
        "SELECT value, reason FROM counter_values WHERE counter = 'GRBM_COUNT' ORDER BY dispatch_id"
    )
    first, second, third = rows(path, query)
    assert first == (9007199254740991.0, None)
    assert second == (12345678.1, None)
    assert third[0] is None
    assert "not a number" in third[1]


def test_a_missing_parent_loses_no_row(timing: Editable, tmp_path: Path) -> None:
    timing.run("UPDATE {kernel_dispatch} SET tid = NULL WHERE dispatch_id = 1")
    timing.run("UPDATE {kernel_dispatch} SET kernel_id = 99, event_id = NULL WHERE dispatch_id = 2")
    path, notes = load(tmp_path, timing.done())
    names = rows(
        path,
        "SELECT dispatch_id, thread_id, name LIKE 'kernel 99 %' FROM all_dispatches"
        " JOIN kernels USING (kernel_id) ORDER BY dispatch_id",
    )
    assert [row[0] for row in names] == [1, 2, 3]
    assert names[0][1] is None
    assert [row[2] for row in names] == [False, True, False]
    (note,) = (each for each in notes if each.code == "parents-missing")
    assert "3 dispatches, of which 2 lack" in note.message
    assert "shows 1" in note.message


def test_several_processes_in_one_file(timing: Editable, tmp_path: Path) -> None:
    """A merged file holds each process under a suffix of its own, with equal row ids."""
    other = "_0000ffff_0000_7000_8000_000000000001"
    tables = timing.connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name LIKE 'rocpd_%'"
    ).fetchall()
    for name, sql in tables:
        copy = name.replace(timing.suffix, other)
        timing.connection.execute(sql.replace(name, copy))
        timing.connection.execute(f'INSERT INTO "{copy}" SELECT * FROM "{name}"')
    timing.connection.execute(f'UPDATE "rocpd_info_process{other}" SET pid = 5151')
    timing.connection.execute(
        f"UPDATE \"rocpd_info_kernel_symbol{other}\" SET display_name = 'z(int*)'"
    )
    path, notes = load(tmp_path, timing.done())
    assert notes == []
    runs = "SELECT pid, count(*), count(DISTINCT name) FROM all_dispatches JOIN runs USING (run_id)"
    assert rows(path, f"{runs} JOIN kernels USING (kernel_id) GROUP BY ALL ORDER BY ALL") == [
        (4242, 3, 1),
        (5151, 3, 1),
    ]
    assert rows(path, "SELECT count(*) FROM processes") == [(2,)]
    assert rows(path, "SELECT count(*) FROM files") == [(1,)]


def test_ranks_in_folders_with_equal_ids(tmp_path: Path) -> None:
    for rank in (0, 1):
        folder = tmp_path / "job" / f"rank{rank}"
        profile("naive_transpose", folder / "4242", Request(), ["rocpd"], start=10**15 + rank)
    path, _ = load(tmp_path, tmp_path / "job")
    assert rows(path, "SELECT count(*) FROM all_dispatches") == [(6,)]
    assert rows(path, "SELECT rank FROM processes ORDER BY rank") == [(0,), (1,)]


def test_views_and_triggers_never_run(timing: Editable, tmp_path: Path) -> None:
    run = timing.connection.execute
    timing.drop_views()
    run(
        "CREATE VIEW kernels AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
        " SELECT x AS id FROM c"
    )
    run("CREATE TABLE victim (x)")
    run("CREATE TRIGGER t AFTER INSERT ON victim BEGIN DELETE FROM victim; END")
    run('CREATE TABLE "rocpd_kernel_dispatch_x""; DROP TABLE victim; --" (x)')
    before = hashlib.sha256(timing.done().read_bytes()).hexdigest()
    path, notes = load(tmp_path, timing.path)
    assert rows(path, "SELECT count(*) FROM all_dispatches") == [(3,)]
    assert [note.message.partition(": ")[2] for note in notes] == [
        "ignored: 1 view, 1 trigger, 2 foreign tables"
    ]
    assert hashlib.sha256(timing.path.read_bytes()).hexdigest() == before
    assert sorted(each.name for each in timing.path.parent.iterdir()) == [timing.path.name]


def test_a_hot_journal_is_told_and_not_rolled_back(timing: Editable, tmp_path: Path) -> None:
    journal = Path(f"{timing.done()}-journal")
    journal.write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(504))
    path, notes = load(tmp_path, timing.path)
    assert rows(path, "SELECT count(*) FROM all_dispatches") == [(3,)]
    assert [note.code for note in notes] == ["unfinished-database"]
    assert journal.stat().st_size == 512


def test_an_unfinished_database_is_refused_by_name(timing: Editable, tmp_path: Path) -> None:
    timing.run("DELETE FROM {info_process}")
    timing.run("DELETE FROM {kernel_dispatch}")
    notes: list[str] = []
    with pytest.raises(NothingError, match=r"4242_results\.db"):
        ingest(
            [timing.done()],
            tmp_path / "out.rocperf",
            on_event=lambda e: notes.append(e.message) if isinstance(e, Note) else None,
        )
    assert notes == ["4242_results.db: no process row, 0 dispatches: the writer was interrupted"]


def test_rocmprofiledata_is_refused_by_name(tmp_path: Path) -> None:
    source = tmp_path / "trace.rpd"
    with sqlite3.connect(source) as connection:
        for table in ("rocpd_op", "rocpd_api", "rocpd_string"):
            connection.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY)")
    connection.close()
    with pytest.raises(InputError, match=r"trace\.rpd is rocmProfileData schema 2"):
        load(tmp_path, source)


def test_another_layout_of_dispatches_is_refused(timing: Editable, tmp_path: Path) -> None:
    timing.drop_views()
    timing.run("ALTER TABLE {kernel_dispatch} RENAME COLUMN kernel_id TO function_id")
    timing.run("UPDATE {metadata} SET value = '4.1.0' WHERE tag = 'schema_version'")
    with pytest.raises(InputError, match=r"schema 4\.1\.0, which rocperf cannot read"):
        load(tmp_path, timing.done())


def test_later_columns_and_absent_tables_do_not_matter(timing: Editable, tmp_path: Path) -> None:
    timing.drop_views()
    timing.run("ALTER TABLE {kernel_dispatch} ADD COLUMN graph_exec_id INTEGER")
    timing.run("UPDATE {metadata} SET value = '3.0.5' WHERE tag = 'schema_version'")
    timing.run("DROP TABLE {arg}")
    timing.run("ALTER TABLE {kernel_dispatch} DROP COLUMN stream_id")
    path, _ = load(tmp_path, timing.done())
    assert rows(path, "SELECT count(*), count(stream_id) FROM all_dispatches") == [(3, 0)]
    assert rows(path, "SELECT version FROM files") == [("3.0.5",)]
    assert rows(path, "SELECT count(*) > 0, count(args) FROM api_calls") == [(True, 0)]


def test_a_damaged_database_is_refused(timing: Editable, tmp_path: Path) -> None:
    whole = timing.done().read_bytes()
    half = tmp_path / "cut_results.db"
    half.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"cut_results\.db: the database is damaged"):
        load(tmp_path, half)


def test_calls_that_took_no_time_and_pieces_of_arguments(timing: Editable, tmp_path: Path) -> None:
    ((first, event),) = timing.run("SELECT id, event_id FROM {region} ORDER BY id LIMIT 1")
    ((guid,),) = timing.run("SELECT guid FROM {region} LIMIT 1")
    for position, name in ((7, "late"), (8, "quoted")):
        timing.run(
            "INSERT INTO {arg} (guid, event_id, position, type, name, value)"
            f" VALUES ('{guid}', {event}, {position}, 'int', '{name}', 'a\"b')"
        )
    ((category,),) = timing.run(f"SELECT category_id FROM {{event}} WHERE id = {event}")
    timing.run(
        "INSERT INTO {event} (id, guid, category_id, stack_id)"
        f" VALUES (9000, '{guid}', {category}, 4711)"
    )
    timing.run(f"INSERT INTO {{track}} (id, guid, name_id) VALUES (70, '{guid}', {category})")
    timing.run(
        "INSERT INTO {sample} (guid, track_id, timestamp, event_id)"
        f" VALUES ('{guid}', 70, 1234567, 9000)"
    )
    before = timing.run("SELECT count(*) FROM {region}")
    markers = timing.run(
        "SELECT count(*) FROM {region} r JOIN {event} e ON e.id = r.event_id"
        " JOIN {string} s ON s.id = e.category_id WHERE s.string LIKE 'MARKER%'"
    )
    path, _ = load(tmp_path, timing.done())
    query = (
        "SELECT args->>'late', args->>'quoted', json_valid(args) FROM api_calls"
        f" WHERE row = {first} AND start_ns <> 1234567"
    )
    assert rows(path, query) == [('a"b', 'a"b', True)]
    assert rows(
        path, "SELECT domain, start_ns, end_ns FROM api_calls WHERE correlation_id = 4711"
    ) == [("hip", 1234567, 1234567)]
    assert rows(path, "SELECT count(*) FROM api_calls") == [(before[0][0] - markers[0][0] + 1,)]


def test_batches_end_between_groups_and_skip_gaps(tmp_path: Path) -> None:
    source = tmp_path / "x.db"
    with sqlite3.connect(source) as connection:
        connection.execute("CREATE TABLE rocpd_arg_0a (id INTEGER PRIMARY KEY, g, v)")
        groups = [(1, 1), (5, 1), (9, 1), (10, 2), (4000, 2), (2**62, 3)]
        connection.executemany("INSERT INTO rocpd_arg_0a VALUES (?, ?, 'x')", groups)
        connection.execute("INSERT INTO rocpd_arg_0a VALUES (11, 2, X'ff')")
    connection.close()
    with Database(source) as database:
        single = [
            f["id"].to_list()
            for f in database.batches("rocpd_arg_0a", [Field("id", "t.id")], batch_rows=2)
        ]
        grouped = [
            frame.rows()
            for frame in database.batches(
                "rocpd_arg_0a",
                [Field("g", "t.g"), Field("n", "count(*)")],
                group_by="g",
                batch_rows=2,
            )
        ]
        (odd,) = database.batches("rocpd_arg_0a", [Field("v", "t.v")])
    assert single == [[1, 5], [9, 10], [11, 4000], [2**62]]
    assert grouped == [[(1, 3)], [(2, 3)], [(3, 1)]]
    # Text where a number should be is no number, and no error either.
    assert database.odd == {"rocpd_arg_0a"}
    assert odd["v"].null_count() == 7


def test_other_sqlite_files_are_not_claimed(tmp_path: Path) -> None:
    source = tmp_path / "other.db"
    with sqlite3.connect(source) as connection:
        connection.execute("CREATE TABLE kernels (id INTEGER)")
    connection.close()
    assert rocpd.recognise(source, source.read_bytes()) is None
    assert rocpd.recognise(source, b"Kind,Agent_Id\n") is None
    odd = tmp_path / "a?b#c%20_results.db"
    (made,) = profile("tiny_grid", tmp_path / "4242", Request(), ["rocpd"])
    shutil.copyfile(made, odd)
    found = rocpd.recognise(odd, odd.read_bytes())
    assert found is not None
    assert found.version == "3"
