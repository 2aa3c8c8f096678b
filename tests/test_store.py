"""A profile is written beside its place and put there whole, or not at all."""

from __future__ import annotations

from pathlib import Path

import duckdb
import polars as pl
import pytest

from rocperf.errors import InputError
from rocperf.schema import SCHEMA_VERSION, TABLES, VIEWS
from rocperf.store import Store

AGENT = pl.DataFrame({"run_id": [1], "agent_id": [4], "kind": ["GPU"], "target": ["gfx942"]})


def ask(path: Path, query: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.execute(query).fetchall()


def test_every_table_and_view_is_there(tmp_path: Path) -> None:
    with Store.create(tmp_path / "a.rocperf") as store:
        path = store.commit()
    names = {row[0] for row in ask(path, "SELECT table_name FROM information_schema.tables")}
    assert names == {table.name for table in (*TABLES, *VIEWS)}
    facts = dict(ask(path, "SELECT key, value FROM meta"))
    assert facts["schema_version"] == str(SCHEMA_VERSION)


def test_only_the_profile_is_left(tmp_path: Path) -> None:
    with Store.create(tmp_path / "a.rocperf") as store:
        store.append("agents", AGENT)
        store.commit()
    assert [each.name for each in tmp_path.iterdir()] == ["a.rocperf"]


def test_columns_go_by_name_and_the_rest_is_null(tmp_path: Path) -> None:
    with Store.create(tmp_path / "a.rocperf") as store:
        assert store.append("agents", AGENT.select("kind", "target", "run_id", "agent_id")) == 1
        path = store.commit()
    assert ask(path, "SELECT agent_id, target, cu_count FROM agents") == [(4, "gfx942", None)]


def test_an_unknown_column_is_an_error_of_the_reader(tmp_path: Path) -> None:
    with Store.create(tmp_path / "a.rocperf") as store, pytest.raises(ValueError, match="colour"):
        store.append("agents", AGENT.with_columns(colour=pl.lit("red")))


def test_after_a_failure_the_old_file_is_as_it_was(tmp_path: Path) -> None:
    target = tmp_path / "a.rocperf"
    target.write_bytes(b"the old one")
    store = Store.create(target, replace=True)
    store.append("agents", AGENT)
    store.abandon()
    assert target.read_bytes() == b"the old one"
    assert [each.name for each in tmp_path.iterdir()] == ["a.rocperf"]


def test_an_existing_file_is_refused_unless_it_may_be_replaced(tmp_path: Path) -> None:
    target = tmp_path / "a.rocperf"
    target.write_bytes(b"")
    with pytest.raises(InputError, match="already exists"):
        Store.create(target)


def test_rows_of_a_base_are_kept(tmp_path: Path) -> None:
    with Store.create(tmp_path / "a.rocperf") as store:
        store.append("agents", AGENT)
        base = store.commit()
    with Store.create(base, replace=True, base=base) as store:
        store.append("agents", AGENT.with_columns(run_id=pl.lit(2)))
        store.commit()
    assert ask(base, "SELECT run_id FROM agents ORDER BY 1") == [(1,), (2,)]
