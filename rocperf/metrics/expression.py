"""The small arithmetic language of formulas.

Names of counters, ``hw.<name>`` for facts of the GPU, numbers, ``+ - * /``, ``min``, ``max`` and
brackets: nothing else. A formula is parsed with `ast`, so that the counters it needs, its value
and its explanation all follow from one text, and no SQL or code can hide in it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rocperf.errors import MetricError
from rocperf.hardware import HW_NAMES

_COUNTER = re.compile(r"[A-Z][A-Za-z0-9_]*\Z")
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
}
_FUNCTIONS: dict[str, Callable[..., float]] = {"min": min, "max": max}


class ZeroDivisorError(Exception):
    """A denominator is 0, so that the formula does not apply."""


class NegativeDifferenceError(Exception):
    """A difference of counts came out below 0, which no count can be."""


@dataclass(frozen=True)
class Expression:
    """A parsed formula.

    Parameters
    ----------
    text
        As written.
    counters
        Names of counters it needs, in order of appearance.
    facts
        Names of ``hw`` facts it needs.
    """

    text: str
    counters: tuple[str, ...]
    facts: tuple[str, ...]
    tree: ast.expr

    def value(self, counters: Mapping[str, float], facts: Mapping[str, float]) -> float:
        """Evaluate.

        Parameters
        ----------
        counters, facts
            Values of every name in `counters` and `facts`.

        Raises
        ------
        ZeroDivisorError
            If a denominator is 0.
        NegativeDifferenceError
            If a difference of counts is below 0.
        """
        return _value(self.tree, counters, facts)


def parse(text: str) -> Expression:
    """Parse a formula.

    Raises
    ------
    MetricError
        If it is anything but arithmetic over counters, facts and numbers.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise MetricError(f"formula {text!r} cannot be parsed: {error}") from error
    counters: dict[str, None] = {}
    facts: dict[str, None] = {}
    _check(tree, text, counters, facts)
    return Expression(text.strip(), tuple(counters), tuple(facts), tree)


def _check(node: ast.expr, text: str, counters: dict[str, None], facts: dict[str, None]) -> None:
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        _check(node.left, text, counters, facts)
        _check(node.right, text, counters, facts)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        pass
    elif isinstance(node, ast.Name) and _COUNTER.match(node.id):
        counters[node.id] = None
    elif isinstance(node, ast.Attribute) and _is_fact(node):
        facts[node.attr] = None
    elif isinstance(node, ast.Call) and _is_function(node):
        for argument in node.args:
            _check(argument, text, counters, facts)
    else:
        raise MetricError(
            f"formula {text!r}: {ast.unparse(node)!r} is not allowed",
            hint="counters, hw.<name>, numbers, + - * /, min, max and brackets are",
        )


def _is_fact(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "hw" and node.attr in HW_NAMES


def _is_function(node: ast.Call) -> bool:
    return (
        isinstance(node.func, ast.Name)
        and node.func.id in _FUNCTIONS
        and len(node.args) > 1
        and not node.keywords
        and not any(isinstance(argument, ast.Starred) for argument in node.args)
    )


def _value(node: ast.expr, counters: Mapping[str, float], facts: Mapping[str, float]) -> float:
    match node:
        case ast.BinOp(left=left, op=operator, right=right):
            return _combine(
                operator, _value(left, counters, facts), _value(right, counters, facts), node
            )
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=name):
            return counters[name]
        case ast.Attribute(attr=name):
            return facts[name]
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _FUNCTIONS[name](*(_value(each, counters, facts) for each in arguments))
        case _:  # parse() let nothing else through
            raise MetricError(f"{ast.unparse(node)!r} is not arithmetic")


def _combine(operator: ast.operator, left: float, right: float, node: ast.BinOp) -> float:
    match operator:
        case ast.Add():
            return left + right
        case ast.Mult():
            return left * right
        case ast.Sub():
            if left < right:
                raise NegativeDifferenceError(f"{ast.unparse(node)} = {left:g} - {right:g}")
            return left - right
        case _:
            if right == 0:
                raise ZeroDivisorError(f"{ast.unparse(node.right)} is 0")
            return left / right
