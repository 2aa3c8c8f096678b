"""rocpd since 7.13: events of the kernel driver, and tables of which no profile takes the rows."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import rocperf
from rocperf.ingest.load import Note, ingest
from rocperf.testing.simulator import Request, profile

Row = tuple[Any, ...]


class Editable:
    """A database of the simulator that a test adds to."""

    def __init__(self, folder: Path, request: Request) -> None:
        (self.path,) = profile("naive_transpose", folder / "4242", request, ["rocpd"])
        self.connection = sqlite3.connect(self.path, isolation_level=None)
        ((self.suffix,),) = self.run("SELECT value FROM rocpd_metadata WHERE tag = 'uuid'")
        ((self.guid,),) = self.run("SELECT value FROM rocpd_metadata WHERE tag = 'guid'")

    def run(self, sql: str, values: Row = ()) -> list[Row]:
        return self.connection.execute(sql, values).fetchall()

    def table(self, name: str) -> str:
        return f'"rocpd_{name}{self.suffix}"'

    def add(self, table: str, **columns: object) -> int:
        """Insert a row; return its id."""
        names = ", ".join(f'"{name}"' for name in columns)
        marks = ", ".join("?" * len(columns))
        sql = f"INSERT INTO {self.table(table)} (guid, {names}) VALUES (?, {marks})"
        return int(self.connection.execute(sql, (self.guid, *columns.values())).lastrowid or 0)

    def word(self, text: str) -> int:
        found = self.run(f"SELECT id FROM {self.table('string')} WHERE string = ?", (text,))
        return int(found[0][0]) if found else self.add("string", string=text)

    def driver_event(self, kind: str, name: str, told: object, start: int, end: int) -> int:
        event = self.add("event", category_id=self.word(kind), stack_id=0, extdata=json.dumps(told))
        ((nid, pid),) = self.run(f"SELECT nid, id FROM {self.table('info_process')}")
        times = {"start": start, "end": end}
        names = {"nid": nid, "pid": pid, "name_id": self.word(name), "event_id": event}
        self.add("region", **times, **names)
        return event


@pytest.fixture
def timing(tmp_path: Path) -> Iterator[Editable]:
    database = Editable(tmp_path / "in", Request(traces=frozenset({"kernel", "hip", "marker"})))
    yield database
    database.connection.close()


@pytest.fixture
def load(tmp_path: Path) -> Callable[[Editable], tuple[rocperf.Profile, list[Note]]]:
    def read(database: Editable) -> tuple[rocperf.Profile, list[Note]]:
        database.connection.close()
        notes: list[Note] = []
        path = ingest(
            [database.path],
            tmp_path / "out.rocperf",
            on_event=lambda event: notes.append(event) if isinstance(event, Note) else None,
        )
        return rocperf.open(path), notes

    return read


Load = Callable[[Editable], tuple[rocperf.Profile, list[Note]]]

MIGRATED = {
    "start_address": str(0x7F00_0000_0000),
    "end_address": str(0x7F00_0020_0000),
    "src_agent_id": "0",
    "dst_agent_id": "1",
    "prefetch_agent_id": "-1",
    "preferred_agent_id": "-1",
    "error_code": "0",
}


@pytest.mark.parametrize(
    "told",
    [
        {"kfd": MIGRATED},
        {"kfd": {"kfd": MIGRATED}},
        {"kfd": [{"key": key, "value": value} for key, value in MIGRATED.items()]},
        {"kfd": {"kfd": [{"key": key, "value": value} for key, value in MIGRATED.items()]}},
    ],
)
def test_a_migration_tells_who_gave_what_to_whom(
    told: object, timing: Editable, load: Load
) -> None:
    name = "KFD_PAGE_MIGRATE_PAGEFAULT_GPU"
    timing.driver_event("KFD_PAGE_MIGRATE", name, told, 500, 900)
    opened, notes = load(timing)
    with opened:
        row = opened.sql("SELECT * FROM kfd_events").row(0, named=True)
        calls = opened.sql("SELECT count(*) FROM api_calls WHERE name LIKE 'KFD%'")
        assert calls.item() == 0
    assert notes == []
    assert (row["kind"], row["operation"]) == ("page_migrate", name)
    assert (row["src_agent_id"], row["dst_agent_id"], row["agent_id"]) == (0, 1, None)
    # 2 MiB: the difference of the two addresses.
    assert (row["address"], row["bytes"]) == (0x7F00_0000_0000, 2_097_152)
    assert (row["start_ns"], row["end_ns"]) == (500, 900)
    assert json.loads(row["args"]) == MIGRATED


@pytest.mark.parametrize(
    ("kind", "told", "expected"),
    [
        (
            "KFD_EVENT_PAGE_FAULT",
            {"agent_id": "1", "address": "4096"},
            ("page_fault", 1, 4096, None),
        ),
        ("KFD_PAGE_FAULT", {"agent_id": "-1", "address": "0"}, ("page_fault", None, 0, None)),
        ("KFD_EVENT_QUEUE", {"agent_id": "1"}, ("queue", 1, None, None)),
        ("KFD_QUEUE", {"agent_id": "1"}, ("queue", 1, None, None)),
        (
            "KFD_EVENT_UNMAP_FROM_GPU",
            {"agent_id": "1", "start_address": "8192", "end_address": "12288"},
            ("unmap", 1, 8192, 4096),
        ),
        ("KFD_EVENT_DROPPED_EVENTS", {"count": "17"}, ("dropped", None, None, None)),
    ],
)
def test_every_kind_of_driver_event(
    kind: str,
    told: dict[str, str],
    expected: tuple[str, int | None, int | None, int | None],
    timing: Editable,
    load: Load,
) -> None:
    timing.driver_event(kind, f"{kind}_SOMETHING", {"kfd": told}, 700, 700)
    opened, _ = load(timing)
    with opened:
        rows = opened.sql(
            "SELECT kind, agent_id, address, bytes, start_ns, end_ns, args FROM kfd_events"
        ).rows()
    assert [row[:6] for row in rows] == [(*expected, 700, 700)]
    assert json.loads(rows[0][6]) == told


@pytest.mark.parametrize("told", ["{not json", "[]", '"text"', "{}", '{"kfd": 7}'])
def test_what_an_event_tells_may_be_anything(told: str, timing: Editable, load: Load) -> None:
    event = timing.driver_event("KFD_QUEUE", "KFD_QUEUE_EVICT_TTM", {}, 1, 2)
    timing.run(f"UPDATE {timing.table('event')} SET extdata = ? WHERE id = ?", (told, event))
    opened, _ = load(timing)
    with opened:
        query = "SELECT kind, operation, agent_id, start_ns FROM kfd_events"
        assert opened.sql(query).rows() == [("queue", "KFD_QUEUE_EVICT_TTM", None, 1)]


def test_the_value_of_a_driver_event_is_no_counter(timing: Editable, load: Load) -> None:
    event = timing.driver_event("KFD_QUEUE", "KFD_QUEUE_EVICT_TTM", {"kfd": {}}, 1, 2)
    pmc = timing.add("info_pmc", name="KFD_QUEUE", symbol="KFD_QUEUE", block="KFD")
    timing.add("pmc_event", event_id=event, pmc_id=pmc, value=1.0)
    opened, notes = load(timing)
    with opened:
        assert opened.sql("SELECT count(*) FROM counter_values").item() == 0
        assert opened.sql("SELECT count(*) FROM sensor_samples").item() == 0
        assert opened.sql("SELECT count(*) FROM kfd_events").item() == 1
    assert notes == []


def test_rows_that_are_not_stored_are_counted_by_table(timing: Editable, load: Load) -> None:
    for name, rows in (("graph_launch", 3), ("hip_event", 2), ("gpu_pc_sample", 5), ("empty", 0)):
        timing.run(f"CREATE TABLE {timing.table(name)} (id INTEGER PRIMARY KEY, guid TEXT)")
        for _ in range(rows):
            timing.add(name, id=None)
    opened, notes = load(timing)
    with opened:
        kept = opened.sql("SELECT message, rows FROM notes WHERE code = 'table-unread' ORDER BY 1")
    assert kept.rows() == [
        ("4242_results.db: gpu_pc_sample: 5 rows are not stored", 5),
        ("4242_results.db: graph_launch: 3 rows are not stored", 3),
        ("4242_results.db: hip_event: 2 rows are not stored", 2),
    ]
    # A later table of the format is not a foreign one.
    assert {note.code for note in notes} == {"table-unread"}


def test_values_sampled_within_kernels_are_not_added_to_totals(tmp_path: Path, load: Load) -> None:
    counters = Editable(tmp_path / "in", Request(counters=("SQ_WAVES",)))
    values = counters.table("pmc_event")
    for (name,) in counters.run("SELECT name FROM sqlite_master WHERE type = 'view'"):
        counters.run(f'DROP VIEW "{name}"')
    counters.run(f"ALTER TABLE {values} ADD COLUMN sample_id INTEGER")
    ((event, pmc),) = counters.run(f"SELECT event_id, pmc_id FROM {values} LIMIT 1")
    expected = counters.run(
        f"SELECT sum(value) FROM {values} WHERE event_id = {event} AND pmc_id = {pmc}"
    )
    for sample in (1, 2):
        counters.add("pmc_event", event_id=event, pmc_id=pmc, value=9e9, sample_id=sample)
    opened, notes = load(counters)
    with opened:
        query = "SELECT value FROM counter_values WHERE dispatch_id = 1"
        assert opened.sql(query).rows() == expected
    assert [note.message.partition(": ")[2] for note in notes] == [
        "values sampled within kernels: 2 rows are not stored"
    ]
