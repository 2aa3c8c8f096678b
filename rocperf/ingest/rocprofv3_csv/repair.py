"""A second look at the records that DuckDB rejects: rocprofv3 does not escape quotes in names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from rocperf.ingest.rocprofv3_csv.headers import FREE_TEXT, TIMES, TYPES
from rocperf.ingest.rocprofv3_csv.table import Rejected, Table

_FIELD = r'(?:"([^"]*)"|([^",]*))'


@dataclass
class Repaired:
    """What came of the rejected records.

    Parameters
    ----------
    rows
        Repaired records: number of the record, then one text a column.
    headers
        How many were a repetition of the header.
    cut
        Line of a last record that ends in the middle.
    lost
        Records that stay out, each with the reason.
    """

    rows: list[tuple[int, tuple[str, ...]]] = field(
        default_factory=list[tuple[int, tuple[str, ...]]]
    )
    headers: int = 0
    cut: int | None = None
    lost: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])


def repair(table: Table, records: Sequence[Rejected], *, cut_line: int | None) -> Repaired:
    """Look at rejected records one by one.

    Parameters
    ----------
    table
        Their file.
    records
        As DuckDB rejected them.
    cut_line
        Last line of the file when it does not end with a newline, else None.
    """
    result = Repaired()
    for each in records:
        text = each.text.rstrip("\r\n")
        values = _split(text, table.header)
        if values == table.header:
            result.headers += 1
        elif values is not None and _fits(table.header, values):
            result.rows.append((each.line - 1, values))
        elif each.line == cut_line:
            result.cut = each.line
        else:
            result.lost.append((each.line, _reason(each, text, table.header)))
    return result


def _reason(record: Rejected, text: str, header: Sequence[str]) -> str:
    fields = len(re.findall(r'(?:^|,)(?:"[^"]*"|[^,]*)', text))
    if fields != len(header):
        return f"{fields} fields, header has {len(header)}"
    return record.reason.splitlines()[0]


@cache
def _pattern(header: tuple[str, ...]) -> re.Pattern[str] | None:
    name = next((column for column in FREE_TEXT if column in header), None)
    if name is None:
        return None
    place = header.index(name)
    parts = [_FIELD] * len(header)
    # Everything between the fields before and those after it is the name.
    parts[place] = r'"(.*)"()'
    return re.compile(",".join(parts), re.DOTALL)


def _split(text: str, header: tuple[str, ...]) -> tuple[str, ...] | None:
    pattern = _pattern(header)
    found = pattern.fullmatch(text) if pattern else None
    if found is None:
        return None
    pairs = zip(found.groups()[::2], found.groups()[1::2], strict=True)
    values = tuple(quoted if quoted is not None else bare or "" for quoted, bare in pairs)
    # A quote that is never closed swallows the records after it: their beginnings are in the name.
    begins = re.compile(rf'\n"?{re.escape(values[0])}"?,')
    return None if any(begins.search(value) for value in values) else values


def _fits(header: Sequence[str], values: Sequence[str]) -> bool:
    """Say whether every number is one: else the record was split at the wrong places."""
    for name, value in zip(header, values, strict=True):
        kind = TYPES.get(name)
        if kind in ("UBIGINT", "BIGINT") and not re.fullmatch(r"-?\d{1,20}", value):
            return False
        # A value that is no number is kept as unknown, but a piece of text stands for a bad split.
        if kind == "DOUBLE" and not (_is_number(value) or re.fullmatch(r"[\w.+-]*", value)):
            return False
        if name in TIMES and not value:
            return False
    return True


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
