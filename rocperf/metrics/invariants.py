"""What counters of one dispatch must satisfy, as data: ``invariants.toml``.

A part is at most its whole, two counts of one thing are equal, nothing is busy for longer than
the kernel ran. `rocperf.metrics.consistency` finds the dispatches that break a rule.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from rocperf.errors import MetricError
from rocperf.metrics.expression import Expression, parse

#: Two rules that need more than counters: the size of the launch, and its time.
WAVES, CLOCK = "launch-waves", "clock"
#: What a note of a broken rule has for its code: this and the rule's id.
CODE = "invariant-"


@dataclass(frozen=True)
class Invariant:
    """One rule.

    Parameters
    ----------
    says
        What holds, in a clause.
    left, right
        Sums of counters; the left one must be at most the right one or equal to it.
    equal
        Whether they must be equal.
    slack
        Share of the right side that may be missing or too much.
    targets
        Where it holds; empty for wherever its counters exist.
    """

    id: str
    says: str
    left: Expression
    right: Expression
    equal: bool
    slack: float
    targets: tuple[str, ...]

    @property
    def counters(self) -> frozenset[str]:
        """Counters of both sides."""
        return frozenset((*self.left.counters, *self.right.counters))


@cache
def invariants() -> dict[str, Invariant]:
    """Return the rules among counters, by id."""
    text = files("rocperf.metrics").joinpath("invariants.toml").read_text(encoding="utf-8")
    return {
        row["id"]: Invariant(
            row["id"],
            row["says"],
            parse(row["left"]),
            parse(row["right"]),
            {"equal": True, "at most": False}[row["relation"]],
            float(row["slack"]),
            tuple(row.get("targets", ())),
        )
        for row in tomllib.loads(text)["invariant"]
    }


def concerned(name: str) -> frozenset[str]:
    """Return the counters that a broken rule makes doubtful; of an unknown one there are none.

    Cycles that do not fit the clock are judged with each kernel, see `rocperf.metrics.trust`.
    """
    if name == WAVES:
        return frozenset({"SQ_WAVES"})
    found = invariants().get(name)
    return found.counters if found else frozenset()


def linear(expression: Expression, facts: Mapping[str, float]) -> dict[str, float]:
    """Return the factor of each counter in a sum of counters.

    Raises
    ------
    MetricError
        If it is not such a sum.
    """
    factors, constant = _linear(expression.tree, facts)
    if constant:
        raise MetricError(f"{expression.text!r} adds a number to counters")
    return factors


def _linear(node: ast.expr, facts: Mapping[str, float]) -> tuple[dict[str, float], float]:
    match node:
        case ast.Name(id=name):
            return {name: 1.0}, 0.0
        case ast.Constant(value=int() | float() as number):
            return {}, float(number)
        case ast.Attribute(attr=name):
            return {}, facts[name]
        case ast.BinOp(left=left, op=operator, right=right):
            (one, a), (two, b) = _linear(left, facts), _linear(right, facts)
            match operator:
                case ast.Add() | ast.Sub():
                    sign = 1.0 if isinstance(operator, ast.Add) else -1.0
                    names = dict.fromkeys((*one, *two))
                    return {n: one.get(n, 0) + sign * two.get(n, 0) for n in names}, a + sign * b
                case ast.Mult() if not (one and two):
                    factors, by = (one, b) if one else (two, a)
                    return {n: v * by for n, v in factors.items()}, 0.0 if factors else a * b
                case ast.Div() if not two and b:
                    return {n: v / b for n, v in one.items()}, a / b
                case _:
                    pass
        case _:
            pass
    raise MetricError(f"{ast.unparse(node)!r} is not a sum of counters")
