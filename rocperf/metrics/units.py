"""Units of counters and formulas, so that a formula cannot add waves to bytes.

A unit is a product of words with exponents, written ``B``, ``cycles*waves`` or
``lines/instructions``; ``%`` and nothing are plain numbers.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from rocperf.errors import MetricError
from rocperf.hardware import HW_NAMES
from rocperf.metrics.expression import Expression

Unit = Mapping[str, int]


@dataclass(frozen=True)
class Counter:
    """A hardware counter.

    Parameters
    ----------
    name
        As rocprofv3 names it.
    unit
        Unit of its value.
    doc
        What it counts, in one sentence.
    on
        Target -> unit, where it differs.
    """

    name: str
    unit: str
    doc: str
    on: Mapping[str, str]

    def unit_on(self, target: str) -> str:
        """Return the unit on a target."""
        return self.on.get(target, self.unit)


@cache
def counters() -> dict[str, Counter]:
    """Return every counter that formulas may use, by name."""
    text = files("rocperf.metrics").joinpath("counters.toml").read_text(encoding="utf-8")
    return {
        name: Counter(name, row["unit"], row["doc"], row.get("on", {}))
        for name, row in tomllib.loads(text)["counter"].items()
    }


def counter(name: str) -> Counter:
    """Return one counter.

    Raises
    ------
    MetricError
        If ``counters.toml`` does not know it.
    """
    try:
        return counters()[name]
    except KeyError:
        raise MetricError(
            f"there is no counter {name!r}", hint="counters.toml says which formulas may use"
        ) from None


def parse_unit(text: str) -> dict[str, int]:
    """Read a unit such as ``cycles*waves/instructions``; plain numbers give an empty one."""
    unit: dict[str, int] = {}
    over, *under = text.replace("%", "").split("/")
    for part, sign in ((over, 1), *((each, -1) for each in under)):
        for word in filter(None, (each.strip() for each in part.split("*"))):
            if word != "1":
                unit[word] = unit.get(word, 0) + sign
    return _clean(unit)


def check_unit(expression: Expression, target: str, numbers: str, unit: str) -> None:
    """Check that a formula gives what it promises.

    Parameters
    ----------
    expression
        The formula.
    target
        gfx target.
    numbers
        Unit that its constants bring in, such as ``B/requests``.
    unit
        Unit that must come out.

    Raises
    ------
    MetricError
        If it adds unlike things, gives another unit, or names an unknown counter.
    """
    found = _times(_unit(expression.tree, target, expression.text), parse_unit(numbers), 1)
    if found != parse_unit(unit):
        raise MetricError(
            f"formula {expression.text!r} gives {_spell(found)}, not {_spell(parse_unit(unit))}",
            hint="say in `numbers` which unit its constants stand for, such as B/requests",
        )


def _unit(node: ast.expr, target: str, text: str) -> dict[str, int]:
    match node:
        case ast.Name(id=name):
            return parse_unit(counter(name).unit_on(target))
        case ast.Attribute(attr=name):
            return parse_unit(HW_NAMES[name].unit)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _times(_unit(left, target, text), _unit(right, target, text), 1)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return _times(_unit(left, target, text), _unit(right, target, text), -1)
        case ast.BinOp(left=left, right=right):
            return _same([_unit(each, target, text) for each in (left, right)], text)
        case ast.Call(args=terms):
            return _same([_unit(each, target, text) for each in terms], text)
        case _:
            return {}


def _same(units: list[dict[str, int]], text: str) -> dict[str, int]:
    for other in units[1:]:
        if other != units[0]:
            raise MetricError(
                f"formula {text!r} puts {_spell(units[0])} together with {_spell(other)}"
            )
    return units[0]


def _times(left: Unit, right: Unit, sign: int) -> dict[str, int]:
    return _clean({w: left.get(w, 0) + sign * right.get(w, 0) for w in {*left, *right}})


def _clean(unit: Unit) -> dict[str, int]:
    return {word: power for word, power in unit.items() if power}


def _spell(unit: Unit) -> str:
    words = [f"{word}^{power}" if power != 1 else word for word, power in sorted(unit.items())]
    return "*".join(words) or "a plain number"
