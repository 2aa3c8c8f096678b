"""Adding runs to a profile that exists: what is checked, numbered on and matched again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from rocperf.errors import BusyError, InputError
from rocperf.ingest.sink import INCOMING
from rocperf.schema import SCHEMA_VERSION

if TYPE_CHECKING:
    from rocperf.store import Store


def check_base(base: Path) -> None:
    """Refuse a file that no runs can be added to.

    Raises
    ------
    InputError
        If it is not a profile of this version of rocperf.
    BusyError
        If another program holds it.
    """
    try:
        with duckdb.connect(str(base), read_only=True) as connection:
            row = connection.execute(
                "SELECT value FROM meta WHERE key = 'schema_version'"
            ).fetchone()
    except duckdb.IOException as error:
        if "lock" in str(error):
            raise BusyError(f"{base} is in use", hint="close it there and try again") from error
        raise InputError(f"{base} is not a profile", hint="choose another -o") from error
    except duckdb.Error as error:
        raise InputError(f"{base} is not a profile", hint="choose another -o") from error
    if row is None or int(row[0]) != SCHEMA_VERSION:
        raise InputError(
            f"{base} was written by another version of rocperf", hint="ingest into a new file"
        )


def next_ids(store: Store) -> tuple[int, int]:
    """Return the first numbers of a run and of a file that are free."""
    row = store.connection.execute(
        "SELECT (SELECT coalesce(max(run_id), 0) FROM runs) + 1,"
        " (SELECT coalesce(max(file_id), 0) FROM files) + 1"
    ).fetchone()
    return (int(row[0]), int(row[1])) if row else (1, 1)


def take_back_dispatches(store: Store) -> None:
    """Let dispatches of the profile that is appended to be numbered and matched again."""
    run = store.connection.execute
    run(
        f"INSERT INTO {INCOMING} BY NAME SELECT d.* EXCLUDE (launch_id, kernel_id),"
        " k.name AS kernel FROM all_dispatches d JOIN kernels k USING (kernel_id)"
    )
    for table in ("all_dispatches", "launches", "kernels"):
        run(f"DELETE FROM {table}")
    run("DELETE FROM notes WHERE code = 'launches-unmatched'")
