"""rocpd read as a stream of Arrow batches gives what reading value by value gives."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from rocperf.ingest.load import ingest
from rocperf.ingest.rocpd.part import Part
from rocperf.testing.simulator import generate

Row = tuple[object, ...]
Edit = Callable[[sqlite3.Connection, dict[str, str]], None]
TABLES = ("all_dispatches", "api_calls", "counter_values", "copies", "markers", "notes")


@pytest.fixture(scope="module")
def recorded_twice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of 20,000 dispatches: more calls and values than one batch holds."""
    folder = tmp_path_factory.mktemp("bulk")
    generate(folder, 20_000)
    return folder / "rocpd"


def contents(source: Path, output: Path) -> dict[str, list[Row]]:
    ingest([source], output)
    with duckdb.connect(str(output), read_only=True) as connection:
        return {
            table: connection.execute(f"SELECT * FROM {table} ORDER BY ALL").fetchall()
            for table in TABLES
        }


def edited(source: Path, target: Path, run: str, edit: Edit) -> Path:
    shutil.copytree(source, target)
    (path,) = (target / run).glob("*.db")
    with sqlite3.connect(path) as connection:
        found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        names = {name.rsplit("_", 5)[0]: name for (name,) in found}
        edit(connection, names)
    connection.close()
    return target


def nothing(_connection: sqlite3.Connection, _names: dict[str, str]) -> None:
    """Leave the file as it is."""


def text_at(table: str, column: str, row: int) -> Edit:
    """Put a word where a number belongs."""

    def edit(connection: sqlite3.Connection, names: dict[str, str]) -> None:
        connection.execute(f"UPDATE \"{names[table]}\" SET {column} = 'oops' WHERE id = ?", [row])

    return edit


def missing_events(connection: sqlite3.Connection, names: dict[str, str]) -> None:
    """Take away the events of some dispatches and values."""
    connection.execute(f'DELETE FROM "{names["rocpd_event"]}" WHERE id % 7 = 0')


def no_finite_value(connection: sqlite3.Connection, names: dict[str, str]) -> None:
    """Put infinity, nothing and a whole number among the values."""
    for row, value in ((3, float("inf")), (5, None), (9, 12)):
        connection.execute(
            f'UPDATE "{names["rocpd_pmc_event"]}" SET value = ? WHERE id = ?', [value, row]
        )


@pytest.mark.parametrize(
    ("run", "edit"),
    [
        pytest.param("timing", nothing, id="whole"),
        pytest.param("timing", text_at("rocpd_region", "tid", 2), id="text-in-the-first-batch"),
        pytest.param("timing", text_at("rocpd_region", "tid", 79_000), id="text-in-a-later-one"),
        pytest.param("timing", text_at("rocpd_kernel_dispatch", "queue_id", 9), id="dispatch"),
        pytest.param("counters", text_at("rocpd_pmc_event", "value", 70_000), id="value"),
        pytest.param("counters", no_finite_value, id="no-finite-value"),
        pytest.param("timing", missing_events, id="lost-events"),
        pytest.param("counters", missing_events, id="lost-events-of-values"),
    ],
)
def test_a_stream_gives_what_reading_each_value_gives(
    recorded_twice: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: str, edit: Edit
) -> None:
    source = edited(recorded_twice, tmp_path / "raw", run, edit)
    quick = contents(source, tmp_path / "quick.rocperf")
    monkeypatch.setattr(Part, "whole", lambda *_, **__: False)
    careful = contents(source, tmp_path / "careful.rocperf")
    for table in TABLES:
        assert quick[table] == careful[table], table
    assert len(quick["all_dispatches"]) == 40_000
    assert len(quick["counter_values"]) == 80_000


def test_a_word_among_numbers_is_told_and_the_other_rows_are_there(
    recorded_twice: Path, tmp_path: Path
) -> None:
    edit = text_at("rocpd_region", "tid", 79_000)
    source = edited(recorded_twice, tmp_path / "raw", "timing", edit)
    found = contents(source, tmp_path / "out.rocperf")
    assert len(found["api_calls"]) == 80_000
    assert sum("values-odd" in row for row in found["notes"]) == 1
