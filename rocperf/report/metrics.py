"""Metrics of kernels or launches: text of 80 columns, JSON and CSV.

The layout of the JSON is described in ``docs/reference/metrics-json.md``.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import rocperf
from rocperf.metrics.catalogue import CATALOGUE_VERSION, metrics
from rocperf.report.visible import visible

if TYPE_CHECKING:
    import polars as pl

#: Version of the JSON layout.
SCHEMA: Final = "rocperf.metrics/1"
WIDTH: Final = 80
#: Kernels or launches that the text shows; the other formats have them all. A choice of ours.
TEXT_SUBJECTS: Final = 10
#: Rows that are turned into text at once. A choice of ours: memory stays bounded.
_SLICE: Final = 20_000
#: Columns of the CSV, in order.
CSV_COLUMNS: Final = (
    "kernel",
    "kernel_id",
    "launch_id",
    "run_id",
    "dispatch_id",
    "target",
    "metric",
    "value",
    "unit",
    "state",
    "confidence",
    "n",
    "stitched",
    "reason",
)
#: Whole numbers below it are printed to the last digit; it is where doubles hold no more of them.
_EXACT: Final = 2**53
_SUBJECT: Final = ("kernel_id", "launch_id", "run_id", "dispatch_id", "target")
_SPREAD: Final = ("min", "mean", "max", "stdev", "dispatches")


@dataclass(frozen=True)
class Answer:
    """What was asked of a profile, and what came out.

    Parameters
    ----------
    frame
        As `rocperf.Profile.metrics` returns it, with the columns ``kernel`` (full name) and
        ``short_name``; the busiest kernel first.
    path, id
        The profile.
    named
        Whether metrics were asked for by name: then none is left out.
    """

    frame: pl.DataFrame
    path: str
    id: str
    named: bool


def csv(answer: Answer) -> Iterator[str]:
    """Return one header line, then rows, in pieces."""
    import polars as pl

    units = {name: each.unit for name, each in metrics().items()}
    frame = answer.frame.with_columns(
        pl.col("metric").replace_strict(units, default=None).alias("unit")
    )
    spread = [name for name in _SPREAD if name in frame.columns]
    chosen = frame.select(*CSV_COLUMNS, *spread)
    if not chosen.height:
        yield chosen.write_csv()
    for number, part in enumerate(chosen.iter_slices(_SLICE)):
        yield part.write_csv(include_header=number == 0)


def text_of_json(answer: Answer) -> Iterator[str]:
    """Return one JSON document, in pieces."""
    asked = list(dict.fromkeys(answer.frame["metric"].to_list()))
    head = {
        "schema": SCHEMA,
        "rocperf": rocperf.__version__,
        "catalogue": CATALOGUE_VERSION,
        "profile": {"path": answer.path, "id": answer.id},
        "metrics": {name: _about(name) for name in asked},
    }
    yield json.dumps(head, indent=1, allow_nan=False)[:-2] + ',\n "values": ['
    before = "\n  "
    for part in answer.frame.iter_slices(_SLICE):
        for row in part.iter_rows(named=True):
            yield before + json.dumps(_value(row), allow_nan=False)
            before = ",\n  "
    yield "\n ]\n}\n"


def _about(name: str) -> dict[str, Any]:
    found = metrics()[name]
    return {
        "title": found.title,
        "section": found.section,
        "unit": found.unit,
        "low": found.low,
        "high": found.high,
        "better": found.better,
    }


def _value(row: Mapping[str, Any]) -> dict[str, Any]:
    raw = row["raw"]
    value: dict[str, Any] = {
        "metric": row["metric"],
        "kernel": {"id": row["kernel_id"], "name": row["kernel"]},
        "launch": row["launch_id"],
        "run": row["run_id"],
        "dispatch": row["dispatch_id"],
        "gpu": row["target"],
        "state": row["state"],
        "value": row["value"],
        "raw": raw if raw is not None and abs(raw) < float("inf") else None,
        "reason": row["reason"],
        "confidence": row["confidence"],
        "formula": row["formula"],
        "runs": row["runs"],
        "stitched": row["stitched"],
        "n": row["n"],
    }
    if "dispatches" in row:
        value["spread"] = {name: row[name] for name in _SPREAD} if row["dispatches"] else None
    return value


def text(answer: Answer) -> Iterator[str]:
    """Return lines for people: each kernel or launch, by sections of the catalogue."""
    parts = answer.frame.partition_by(*_SUBJECT, maintain_order=True)
    for part in parts[:TEXT_SUBJECTS]:
        yield from _subject(part, answer.named)
    if len(parts) > TEXT_SUBJECTS:
        what = "launches" if answer.frame["launch_id"].count() else "kernels"
        rest = f"{len(parts) - TEXT_SUBJECTS:,} more {what} are not shown: "
        yield from _wrapped(rest + "--kernel REGEX chooses, --format csv prints all", "")


def _subject(part: pl.DataFrame, named: bool) -> Iterator[str]:
    rows = part.to_dicts()
    yield f"{_fitting(visible(rows[0]['short_name'] or rows[0]['kernel'] or '?'), WIDTH)}\n"
    yield f"  {_which(rows)}\n"
    absent = [row for row in rows if row["state"] == "not collected"]
    shown = rows if named else [row for row in rows if row["state"] != "not collected"]
    reasons: dict[str, int] = {}
    section = None
    for row in sorted(shown, key=lambda row: _places()[metrics()[row["metric"]].section]):
        about = metrics()[row["metric"]]
        if about.section != section:
            section = about.section
            yield f"\n  {section}\n"
        mark = ""
        if row["reason"]:
            number = reasons.setdefault(visible(str(row["reason"])), len(reasons) + 1)
            mark = f"  [{number}]"
        yield f"    {row['metric']:<32}{_amount(row, about.unit)}{mark}\n"
        if row.get("dispatches"):
            low, mean, high = (f"{row[name]:,.4g}" for name in ("min", "mean", "max"))
            yield f"      single dispatches {low} to {high}, mean {mean}\n"
    yield "\n" if shown else ""
    for reason, number in reasons.items():
        yield from _wrapped(f"[{number}] {reason}", "  ")
    if absent and not named:
        told = f"{len(absent)} metrics were not collected: --metric ID says why"
        yield from _wrapped(told, "  ")
    yield "\n"


def _which(rows: Sequence[Mapping[str, Any]]) -> str:
    first = rows[0]
    most = max(int(row["n"]) for row in rows)
    if first["launch_id"] is not None:
        what = f"launch {first['launch_id']}"
    elif first["dispatch_id"] is not None:
        what = f"run {first['run_id']}, dispatch {first['dispatch_id']}"
    else:
        what = f"{most:,} dispatch{'es' if most != 1 else ''} counted"
    return f"{visible(str(first['target']))}, {what}"


def _amount(row: Mapping[str, Any], unit: str) -> str:
    if row["state"] != "value":
        return f"{row['state']:>18}"
    value = float(row["value"])
    whole = value.is_integer() and abs(value) < _EXACT
    return f"{value:>18{',.0f' if whole else ',.6g'}} {'' if unit == '1' else unit}".rstrip()


def _places() -> dict[str, int]:
    """Return the order of sections: that of their first metrics in the catalogue."""
    sections = dict.fromkeys(each.section for each in metrics().values())
    return {section: place for place, section in enumerate(sections)}


def _fitting(name: str, width: int) -> str:
    return name if len(name) <= width else name[: width - 1] + "…"


def _wrapped(words: str, indent: str) -> Iterator[str]:
    lines = textwrap.wrap(words, WIDTH, initial_indent=indent, subsequent_indent=indent + "    ")
    for line in lines:
        yield line + "\n"
