"""A question is one statement."""

from __future__ import annotations

import duckdb

from rocperf.errors import UsageError


def check_one(sql: str) -> None:
    """Refuse several statements, of which only the last would be answered.

    Raises
    ------
    UsageError
        If there is another number than one.
    """
    try:
        number = len(duckdb.extract_statements(sql))
    except duckdb.Error:
        return  # asking it says what is wrong
    if number != 1:
        raise UsageError(f"{number} statements where one query belongs", hint="ask them one by one")
