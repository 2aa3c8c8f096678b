"""From a path to a read-only connection of DuckDB."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import duckdb

from rocperf.errors import BusyError, InputError

_MAGIC_AT, _MAGIC = 8, b"DUCK"

#: Memory that questions may take. A choice of ours: all analyses of a million dispatches fit.
MEMORY_LIMIT = "1GB"

#: Settings belong to the database, not to a connection: two threads that open one at once must
#: not both set what the first then locks.
_SETTING = threading.Lock()


def is_profile(path: Path) -> bool:
    """Tell whether a file is a DuckDB database, by its first bytes."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(_MAGIC_AT + len(_MAGIC))[_MAGIC_AT:] == _MAGIC


def connect(path: Path) -> duckdb.DuckDBPyConnection:
    """Connect to a profile for reading, with no way from a question to other files.

    Raises
    ------
    InputError
        If DuckDB cannot open it.
    BusyError
        If another program holds it for writing.
    """
    settings: dict[str, str | bool | int | float | list[str]] = {
        "enable_external_access": "false",
        "memory_limit": MEMORY_LIMIT,
    }
    try:
        connection = duckdb.connect(str(path), read_only=True, config=settings)
        # A profile that is open twice is one database of DuckDB's, locked when first opened.
        with _SETTING:
            _settle(connection)
        return connection
    except duckdb.Error as error:
        text = str(error)
        if "Could not set lock" in text:
            holder = re.search(r"PID (\d+)", text)
            who = f"PID {holder[1]}" if holder else "another program"
            raise BusyError(
                f"{path} is in use by {who}", hint="wait until it has finished, or stop it"
            ) from error
        raise InputError(
            f"{path} cannot be opened: {text.splitlines()[0]}",
            hint="was it written by a newer rocperf? Then upgrade; else ingest again",
        ) from error


def _settle(connection: duckdb.DuckDBPyConnection) -> None:
    locked = connection.execute("SELECT current_setting('lock_configuration')").fetchall()
    if not locked[0][0]:
        # DuckDB's own bar, in a notebook, goes to where data goes.
        connection.execute("SET enable_progress_bar = false")
        # A question cannot switch external access on again.
        connection.execute("SET lock_configuration = true")
