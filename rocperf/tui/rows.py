"""Rows that anybody asked for: as they are, as the screen shows them, and as files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from rocperf.engine import Stop
from rocperf.errors import InputError, UsageError
from rocperf.profile import check_one, open_profile
from rocperf.report.amounts import count
from rocperf.report.tables import csv_text
from rocperf.report.visible import visible
from rocperf.schema import BY_NAME

#: Rows that a table on the screen takes; a file gets them all. A choice of ours.
MOST_ROWS = 100_000
#: Characters of a cell. A choice of ours.
MOST_CHARACTERS = 200
#: What makes a spreadsheet take a text for a formula.
_FORMULA = r"^[=+\-@\t\r]"
_SAFE = r"^[ -~ -¬®-Ϳ]*$"


@dataclass(frozen=True)
class Rows:
    """What a query brought.

    Parameters
    ----------
    cells
        All text, shape (rows, columns): what acts on a terminal is escaped.
    note
        How many rows there are, for people.
    """

    cells: pl.DataFrame
    note: str


@dataclass(frozen=True)
class Place:
    """Whom to ask: a profile, and the roctx range to look inside of; None for everything."""

    path: Path
    region: str | None = None


def ask(place: Place, sql: str, params: Mapping[str, object], stop: Stop | None = None) -> Rows:
    """Ask a profile, for the screen.

    Parameters
    ----------
    place
        The profile, or a part of it.
    sql
        One query.
    params
        Values of its parameters; those that it does not name are left out.
    stop
        Asked from another thread to end it.

    Raises
    ------
    RocperfError
        If the query cannot be answered; the message says why.
    """
    frame = _ask(place, sql, params, stop)
    shown = frame.head(MOST_ROWS)
    note = count(frame.height, "row")
    if frame.height > shown.height:
        note += f", the first {shown.height:,} shown: export has all, LIMIT takes fewer"
    return Rows(cells_of(shown), note)


def cells_of(frame: pl.DataFrame) -> pl.DataFrame:
    """Write every value as the screen shows it; unknown ones as a dash."""
    taken: dict[str, pl.Series] = {}
    for name in frame.columns:
        label = visible(name)
        while label in taken:
            label += " "
        taken[label] = _column(frame[name]).alias(label)
    return pl.DataFrame(list(taken.values()))


def export(
    place: Place, sql: str, params: Mapping[str, object], target: Path, stop: Stop | None = None
) -> str:
    """Write all rows of a query to a file and say how many.

    Parameters
    ----------
    place, sql, params, stop
        As for `ask`.
    target
        Its ending decides: ``.csv`` or ``.parquet``. In CSV, text that a spreadsheet would take
        for a formula gets an apostrophe before it.

    Raises
    ------
    RocperfError
        If the ending is another, the file exists, or it cannot be written.
    """
    if target.suffix not in (".csv", ".parquet"):
        raise UsageError(f"{target} is neither .csv nor .parquet", hint="end the name in one")
    if target.exists():
        raise InputError(f"{target} already exists", hint="choose another name")
    frame = _ask(place, sql, params, stop)
    try:
        if target.suffix == ".csv":
            target.write_text(csv_text(_harmless(frame)), encoding="utf-8")
        else:
            frame.write_parquet(target)
    except OSError as error:
        raise InputError(
            f"{target} cannot be written: {error.strerror}", hint="choose another folder"
        ) from error
    return f"{count(frame.height, 'row')} written to {target}"


def schema() -> dict[str, tuple[tuple[str, str], ...]]:
    """Return each table with its columns: name and what it is."""
    return {
        table.name: tuple(
            (each.name, f"{each.type.lower()}{f' {each.unit}' if each.unit else ''}")
            for each in table.columns
        )
        for table in BY_NAME.values()
    }


def _ask(place: Place, sql: str, params: Mapping[str, object], stop: Stop | None) -> pl.DataFrame:
    check_one(sql)
    stop = stop or Stop()
    named = {key: value for key, value in params.items() if re.search(rf"\${key}\b", sql)}
    with open_profile(place.path, region=place.region) as profile, stop.watching(profile.interrupt):
        return profile.sql(sql, named)


def _column(series: pl.Series) -> pl.Series:
    if series.dtype.is_float():
        text = [None if value is None else f"{value:,.6g}" for value in series.to_list()]
    elif series.dtype.is_nested() or not (series.dtype.is_integer() or series.dtype == pl.String):
        text = [None if value is None else visible(str(value)) for value in series.to_list()]
    else:
        written = series.cast(pl.String).str.slice(0, MOST_CHARACTERS)
        if written.str.contains(_SAFE).all():
            return _aligned(series, written.fill_null("–"))
        text = [None if value is None else visible(value) for value in written.to_list()]
    return _aligned(series, pl.Series(text, dtype=pl.String).fill_null("–"))


def _aligned(series: pl.Series, text: pl.Series) -> pl.Series:
    if not series.dtype.is_numeric() or not text.len():
        return text
    longest = text.str.len_chars().max()
    return text.str.pad_start(longest if isinstance(longest, int) else 0)


def _harmless(frame: pl.DataFrame) -> pl.DataFrame:
    texts = [name for name in frame.columns if frame[name].dtype == pl.String]
    return frame.with_columns(
        pl.when(pl.col(name).str.contains(_FORMULA))
        .then(pl.concat_str(pl.lit("'"), pl.col(name)))
        .otherwise(pl.col(name))
        .alias(name)
        for name in texts
    )
