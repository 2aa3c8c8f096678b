"""What can be opened, what is refused and why, and what an open profile answers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import rocperf
from rocperf.errors import BusyError, InputError, MetricError, NothingError, UsageError
from rocperf.ingest.load import cached_profile
from rocperf.model import Requires
from rocperf.profile import Profile, is_profile, open_profile
from rocperf.schema import SCHEMA_VERSION
from rocperf.store import Store

Rows = list[dict[str, Any]]
Make = Callable[..., Path]

RUN = {"run_id": 1, "process_id": 1, "role": "timing", "status": "complete"}
GPU = {"run_id": 1, "agent_id": 4, "kind": "GPU", "target": "gfx942", "cu_count": 304}
KERNEL = {"kernel_id": 1, "name": "k(int)", "group_name": "k", "short_name": "k", "role": "compute"}


def dispatch(number: int, start: int, end: int, **more: Any) -> dict[str, Any]:
    key = {"run_id": 1, "dispatch_id": number, "kernel_id": 1, "agent_id": 4}
    return key | {"start_ns": start, "end_ns": end} | more


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Return a maker of profiles from rows by table; runs, agents and kernels have defaults."""

    def profile(**tables: Rows) -> Path:
        rows = {"runs": [RUN], "agents": [GPU], "kernels": [KERNEL]} | tables
        with Store.create(tmp_path / "a.rocperf", replace=True) as store:
            for table, each in rows.items():
                if each:
                    store.append(table, pl.DataFrame(each, infer_schema_length=None))
            return store.commit()

    return profile


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        open_profile(tmp_path / "none.rocperf")


@pytest.mark.parametrize(
    "content", [b"", b"DUCK", b"SQLite format 3\0" + b"x" * 100, b"a,b\n1,2\n"]
)
def test_a_file_of_something_else(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.rocperf"
    path.write_bytes(content)
    assert not is_profile(path)
    with pytest.raises(InputError, match="not a DuckDB file"):
        open_profile(path)


def test_a_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a DuckDB file"):
        open_profile(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(make: Make) -> None:
    path = make()
    path.chmod(0)
    with pytest.raises(InputError, match="cannot be read"):
        open_profile(path)


def test_a_file_cut_short(make: Make) -> None:
    path = make()
    path.write_bytes(path.read_bytes()[:5000])
    assert is_profile(path)
    with pytest.raises(InputError, match="cannot be opened"):
        open_profile(path)


def test_a_damaged_file_in_a_folder_named_lock_is_not_called_busy(make: Make) -> None:
    whole = make()
    path = whole.parent / "block lock" / "a.rocperf"
    path.parent.mkdir()
    path.write_bytes(whole.read_bytes()[:5000])
    with pytest.raises(InputError, match="cannot be opened"):
        open_profile(path)


def test_another_duckdb_file(tmp_path: Path) -> None:
    path = tmp_path / "other.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE meta (key VARCHAR, value VARCHAR)")
    with pytest.raises(InputError, match="not a profile"):
        open_profile(path)


def test_a_newer_profile_names_both_versions_and_what_reads_it(make: Make) -> None:
    path = make()
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "UPDATE meta SET value = CASE key WHEN 'schema_version' THEN $version"
            " WHEN 'rocperf_version' THEN '7.5.0' ELSE value END",
            {"version": str(SCHEMA_VERSION + 1)},
        )
    with pytest.raises(InputError) as error:
        open_profile(path)
    for part in (f"schema {SCHEMA_VERSION + 1}", "7.5.0", str(SCHEMA_VERSION), "upgrade rocperf"):
        assert part in error.value.message


def test_a_profile_that_is_being_written(make: Make) -> None:
    path = make()
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import duckdb, sys; held = duckdb.connect(sys.argv[1]); print(1, flush=True); input()",
            str(path),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(BusyError, match=f"PID {holder.pid}"):
            open_profile(path)
        holder.communicate(b"\n")
    with open_profile(path) as profile:
        assert profile.id


@pytest.mark.parametrize(
    "query",
    [
        "INSERT INTO meta VALUES ('a', 'b')",
        "SET enable_external_access = true",
        "SET memory_limit = '90GB'",
        "SELECT * FROM read_csv('/etc/hostname')",
        "COPY (SELECT 1) TO 'x.csv'",
        "ATTACH 'x.duckdb'",
        "INSTALL httpfs",
        "SELECT no_such_column FROM kernels",
    ],
)
def test_a_question_can_neither_write_nor_reach_out(make: Make, query: str) -> None:
    with open_profile(make()) as profile, pytest.raises(InputError, match="the query failed"):
        profile.sql(query)


def test_questions_take_parameters(make: Make) -> None:
    with rocperf.open(make()) as profile:
        name = "'; DROP TABLE kernels; --"
        assert profile.sql("SELECT * FROM kernels WHERE name = $name", {"name": name}).height == 0
        assert profile.scalar("SELECT name FROM kernels WHERE kernel_id = $k", {"k": 1}) == "k(int)"
        assert profile.scalar("SELECT name FROM kernels WHERE false") is None


def test_a_closed_profile_lets_others_write(make: Make) -> None:
    path = make()
    with open_profile(path) as profile:
        assert profile.runs.height == 1
    with duckdb.connect(str(path)) as connection:  # raises while a reader is open
        connection.execute("DELETE FROM runs")


def test_times_are_sums_and_spans(make: Make) -> None:
    path = make(
        runs=[
            RUN | {"start_ns": 100, "end_ns": 1100},
            RUN | {"run_id": 2, "process_id": 2, "start_ns": 10_000, "end_ns": 10_500},
            RUN | {"run_id": 3, "role": "counters", "start_ns": 0, "end_ns": 90_000},
        ],
        all_dispatches=[
            dispatch(1, 200, 300),
            dispatch(2, 400, 450),
            dispatch(1, 0, 80_000, run_id=3),
        ],
    )
    with open_profile(path) as profile:
        assert profile.wall_ns == 1000  # the longest process; clocks are never mixed
        assert profile.kernel_ns == 150  # the counter run's times do not count
        assert profile.serialised is False


def test_without_a_timing_run_there_is_no_wall_time(make: Make) -> None:
    path = make(
        runs=[RUN | {"role": "counters", "start_ns": 0, "end_ns": 90_000}],
        all_dispatches=[dispatch(1, 0, 80_000)],
    )
    with open_profile(path) as profile:
        assert profile.wall_ns is None
        assert profile.kernel_ns == 80_000
        assert profile.serialised is True


def test_times_that_nobody_knows_are_none(make: Make) -> None:
    path = make(all_dispatches=[dispatch(1, 5, 4), dispatch(2, 0, 0, start_ns=None, end_ns=None)])
    with open_profile(path) as profile:
        assert profile.kernel_ns is None
        assert profile.wall_ns is None


def test_the_busiest_gpu_comes_first(make: Make) -> None:
    agents = [GPU, GPU | {"agent_id": 5, "target": "gfx90a"}, GPU | {"agent_id": 6}]
    rows = [dispatch(1, 0, 9)] + [dispatch(n, 0, 9, agent_id=5) for n in (2, 3)]
    with open_profile(make(agents=agents, all_dispatches=rows)) as profile:
        assert [gpu.target for gpu in profile.gpus] == ["gfx90a", "gfx942"]
        known = profile.gpu_of(1, 5)
        assert known is not None
        assert known.target == "gfx90a"
        assert profile.gpu_of(1, 99) is None
        assert profile.gpu_of(1, None) is None


def test_what_is_missing_is_named(make: Make) -> None:
    counted = {"run_id": 1, "dispatch_id": 1, "counter": "SQ_LDS_BANK_CONFLICT", "value": 1.0}
    path = make(all_dispatches=[dispatch(1, 0, 9)], counter_values=[counted])
    with open_profile(path) as profile:
        assert profile.missing(Requires(tables=("dispatches",))) == ()
        assert profile.missing(Requires(tables=("copies",))) == ("rows in copies",)
        [vgpr] = profile.missing(Requires(columns=("dispatches.vgpr",)))
        assert vgpr.startswith("dispatches.vgpr, which no row has: ")
        [share] = profile.missing(Requires(metrics=("lds-conflict-share",)))
        assert share == "counters SQ_LDS_IDX_ACTIVE"
        either = (("lds-conflict-share",), ("lds-conflicts-per-instruction",))
        assert profile.missing(Requires(any_of=(either,))) == (
            "counters SQ_LDS_IDX_ACTIVE or counters SQ_INSTS_LDS",
        )
        assert profile.missing(Requires(optional=("lds-conflict-share",))) == ()


def test_a_metric_that_no_counter_gives_on_this_gpu(make: Make) -> None:
    with open_profile(make(agents=[GPU | {"target": "gfx1201"}])) as profile:
        [text] = profile.missing(Requires(metrics=("coalescing",)))
    assert text == "coalescing (not available on gfx1201)"


def test_the_command_that_would_collect_it(make: Make) -> None:
    with open_profile(make(runs=[RUN | {"command": "./app --n 3"}])) as profile:
        assert profile.command_for("occupancy") == (
            "rocperf collect --for occupancy -- ./app --n 3"
        )
    with open_profile(make()) as profile:
        assert str(profile.command_for("occupancy")).endswith("-- ./app")


def test_a_profile_without_events(make: Make) -> None:
    with open_profile(make()) as profile, pytest.raises(NothingError, match="nothing to analyse"):
        profile.require_rows()
    with open_profile(make(all_dispatches=[dispatch(1, 0, 9)])) as profile:
        profile.require_rows()


def test_metrics_through_the_profile(make: Make) -> None:
    counts = {"TA_TOTAL_WAVEFRONTS_sum": 1000.0, "TCP_TOTAL_ACCESSES_sum": 16_000.0}
    counted = [{"run_id": 1, "dispatch_id": 1, "counter": c, "value": v} for c, v in counts.items()]
    path = make(all_dispatches=[dispatch(1, 0, 9)], counter_values=counted)
    with open_profile(path) as profile:
        [row] = profile.metrics(["coalescing"]).to_dicts()
    assert (row["value"], row["state"], row["kernel_id"]) == (100.0, "value", 1)


@pytest.fixture
def in_regions(make: Make) -> Path:
    """Return a profile of three launches: the second one was made inside a range."""
    calls = [
        {"run_id": 1, "domain": "hip", "name": "hipLaunchKernel", "correlation_id": n}
        | {"start_ns": start, "end_ns": start + 5}
        for n, start in ((1, 10), (2, 110), (3, 310))
    ]
    spans = [("step", 100, 200), ("other", 300, 400)]
    return make(
        runs=[RUN | {"start_ns": 0, "end_ns": 1000}, RUN | {"run_id": 2, "role": "counters"}],
        # The second starts only after its range has ended: kernels are asynchronous.
        all_dispatches=[
            dispatch(1, 20, 30, correlation_id=1, launch_id=1),
            dispatch(2, 250, 290, correlation_id=2, launch_id=2),
            dispatch(3, 320, 330, correlation_id=3, launch_id=3),
            dispatch(1, 0, 70, run_id=2, launch_id=1),
            dispatch(2, 0, 70, run_id=2, launch_id=2),
        ],
        api_calls=calls,
        markers=[
            {"run_id": 1, "kind": "range", "message": message, "start_ns": start, "end_ns": end}
            for message, start, end in spans
        ]
        # A pause of the profiler takes its time, too, and is no range.
        + [
            {"run_id": 1, "kind": "control", "message": "roctxProfilerPause"}
            | {"start_ns": 900, "end_ns": 905}
        ],
        counter_values=[
            {"run_id": 2, "dispatch_id": n, "counter": "SQ_WAVES", "value": 10.0 * n}
            for n in (1, 2)
        ],
    )


def test_a_region_shows_what_was_launched_inside_it(in_regions: Path) -> None:
    with open_profile(in_regions, region="step") as profile:
        assert profile.sql("SELECT dispatch_id FROM dispatches").rows() == [(2,)]
        assert profile.sql("SELECT name FROM api_calls").height == 1
        assert profile.kernel_ns == 40
        assert profile.wall_ns == 100
        [row] = profile.metrics(["waves"]).to_dicts()
        assert (row["value"], row["n"]) == (20.0, 1)


def test_an_unknown_region_names_those_there_are(in_regions: Path) -> None:
    with pytest.raises(UsageError, match="no roctx range 'warmup'") as error:
        open_profile(in_regions, region="warmup")
    hint = str(error.value.hint)
    assert "step" in hint
    assert "other" in hint
    assert "roctxProfilerPause" not in hint
    with pytest.raises(UsageError):
        open_profile(in_regions, region="roctxProfilerPause")


def test_a_profile_can_be_in_memory() -> None:
    with Profile(duckdb.connect(":memory:")) as profile:
        assert profile.path is None
        assert profile.scalar("SELECT 1") == 1


def test_metrics_asked_together_are_those_asked_alone(recorded: Callable[[str], Path]) -> None:
    ids = ["waves", "l2-hit-rate", "valu-utilisation", "coalescing"]
    path = cached_profile([recorded("mi300x_ubench/bank_conflict/conflict")])
    with open_profile(path) as profile:
        alone = [profile.metrics([name]) for name in ids]
        some = profile.metrics(ids[2:] + ids[:1])
        profile.ask_together([*ids, "no-such-metric"])
        for name, expected in zip(ids, alone, strict=True):
            assert profile.metrics([name]).equals(expected), name
        assert profile.metrics(ids[2:] + ids[:1]).equals(some)
        with pytest.raises(MetricError):
            profile.metrics(["no-such-metric"])


def test_a_profile_can_be_open_twice(make: Make) -> None:
    """Both are one database of DuckDB's, whose settings the first one locked."""
    path = make(all_dispatches=[dispatch(1, 10, 20)])
    with open_profile(path), open_profile(path) as second:
        assert second.scalar("SELECT count(*) FROM dispatches") == 1
        with pytest.raises(InputError):
            second.sql("SET enable_external_access = true")
