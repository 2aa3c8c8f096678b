"""The catalogue of metrics: what each means, its unit, range, source and formulas."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

from rocperf.errors import MetricError
from rocperf.hardware import HW_NAMES
from rocperf.metrics.expression import Expression, parse
from rocperf.metrics.units import check_unit, counter, counters

#: Version of the formulas; stored with what is computed from them.
CATALOGUE_VERSION = 2


@dataclass(frozen=True)
class Formula:
    """One way to compute a metric on some targets.

    Parameters
    ----------
    needs
        ``counts`` when only counts are compared, ``cycles`` when something is held against the
        cycles that the kernel took, ``time`` when it is a rate.
    numbers
        Unit that its constants bring in, such as ``B/requests``; empty for plain numbers.
    doubt
        What is not confirmed about it, which lowers the confidence; empty for nothing.
    """

    targets: tuple[str, ...]
    expression: Expression
    needs: str
    numbers: str
    doubt: str


@dataclass(frozen=True)
class Metric:
    """One metric.

    Parameters
    ----------
    section
        Heading under which it is listed.
    low, high
        Documented range; None where it is open.
    better
        ``high``, ``low`` or ``neither``.
    plain
        What it means, for people.
    dimension
        What its formulas must give, where `unit` says it otherwise for people.
    written
        Its formulas as the catalogue has them; parsed when first needed, for of all metrics a
        question needs a few.
    source
        Where formula and range come from.
    disagreements
        How other tools define what they call the same.
    """

    id: str
    section: str
    title: str
    unit: str
    low: float | None
    high: float | None
    better: str
    plain: str
    written: tuple[Mapping[str, Any], ...]
    dimension: str
    source: str
    disagreements: str

    @cached_property
    def formulas(self) -> tuple[Formula, ...]:
        """Tried in order; the first whose counters were collected is used."""
        return tuple(_formula(each, self.dimension) for each in self.written)

    @property
    def bounds(self) -> str:
        """Its range as text, such as ``0..100``."""
        low, high = ("" if each is None else f"{each:g}" for each in (self.low, self.high))
        return f"{low}..{high}"

    def on(self, target: str) -> tuple[Formula, ...]:
        """Return the formulas for a target; empty where it cannot be measured.

        On an unknown GPU, a formula of counts alone holds where every target that has its
        counters agrees on it.
        """
        if target != "unknown":
            return tuple(formula for formula in self.formulas if target in formula.targets)
        texts: dict[frozenset[str], set[str]] = {}
        for each in self.formulas:
            names = frozenset(each.expression.counters)
            texts.setdefault(names, set()).add(each.expression.text)
        return tuple(
            each
            for each in self.formulas
            if each.needs == "counts"
            and not each.expression.facts
            and len(texts[frozenset(each.expression.counters)]) == 1
        )


@cache
def metrics() -> dict[str, Metric]:
    """Return every metric by id, in the order of sections."""
    folder = files("rocperf.metrics").joinpath("formulas")
    sections = [
        tomllib.loads(file.read_text(encoding="utf-8"))
        for file in folder.iterdir()
        if file.name.endswith(".toml")
    ]
    return {
        row["id"]: _metric(row, data["section"])
        for data in sorted(sections, key=lambda each: int(each["place"]))
        for row in data["metric"]
    }


def metric(name: str) -> Metric:
    """Return one metric.

    Raises
    ------
    MetricError
        If there is none of that id.
    """
    known = metrics()
    if name in known:
        return known[name]
    near = get_close_matches(name.lower().replace("_", "-"), known, n=3, cutoff=0.5)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    raise MetricError(
        f"there is no metric {name!r}", hint=f"{meant}`rocperf explain` lists what there is"
    )


def counters_of(name: str, target: str) -> tuple[str, ...]:
    """Return the counters that the preferred formula needs on a target; empty if there is none."""
    formulas = metric(name).on(target)
    return formulas[0].expression.counters if formulas else ()


def explain(name: str, target: str) -> str:
    """Say in text how a metric is computed on a target: formula, counters, units, source.

    Raises
    ------
    MetricError
        If there is no such metric.
    """
    found = metric(name)
    lines = [f"{found.title} ({found.id}): {found.plain}"]
    formulas = found.on(target)
    if not formulas:
        return "\n".join([*lines, f"Not available on {target}."])
    for formula in formulas:
        lines.append(f"On {target}: {formula.expression.text}, in {found.unit}")
        for each in map(counter, formula.expression.inputs):
            lines.append(f"  {each.name} [{each.unit_on(target)}]: {each.doc}")
        for fact in formula.expression.facts:
            unit = f" [{HW_NAMES[fact].unit}]" if HW_NAMES[fact].unit else ""
            lines.append(f"  hw.{fact}{unit}: {HW_NAMES[fact].doc}")
    lines.append(f"Range: {found.bounds} {found.unit}. Source: {found.source}.")
    if found.disagreements:
        lines.append(f"Elsewhere: {found.disagreements}")
    return "\n".join(lines)


def _formula(row: Mapping[str, Any], unit: str) -> Formula:
    expression = parse(row["expression"], tuple(counters()))
    numbers = row.get("numbers", "")
    for target in row["targets"]:
        check_unit(expression, target, numbers, unit)
    return Formula(tuple(row["targets"]), expression, row["needs"], numbers, row.get("doubt", ""))


def _metric(row: dict[str, Any], section: str) -> Metric:
    return Metric(
        id=row["id"],
        section=section,
        title=row["title"],
        unit=row["unit"],
        low=row.get("low"),
        high=row.get("high"),
        better=row["better"],
        plain=row["plain"],
        written=tuple(row["formula"]),
        dimension=row.get("dimension", row["unit"]),
        source=row["source"],
        disagreements=row.get("disagreements", ""),
    )
