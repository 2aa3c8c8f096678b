"""The small arithmetic language of formulas.

Names of counters, ``hw.<name>`` for facts of the GPU, numbers, ``+ - * /``, ``min``, ``max``,
``sum`` and brackets: nothing else. ``sum(NAME_)`` adds up every catalogued counter whose name
begins so. A formula is parsed with `ast`, so that the counters it needs, its SQL, its unit and
its explanation all follow from one text, and no SQL or code can hide in it.
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rocperf.errors import MetricError
from rocperf.hardware import HW_NAMES

#: Characters and parts that a formula may have. A choice of ours: the longest needs 700 and 100.
MAX_CHARACTERS, MAX_PARTS = 2000, 400

#: A name that is no counter: the time that the dispatches took in the run that counted.
TIME = "KERNEL_NS"

_COUNTER = re.compile(r"[A-Z][A-Za-z0-9_]*\Z", re.ASCII)
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
}
_FUNCTIONS = {"min": "least", "max": "greatest"}


@dataclass(frozen=True, slots=True)
class Problem:
    """A way in which a formula can have no value, as SQL.

    Parameters
    ----------
    kind
        ``zero`` for a denominator of 0, ``negative`` for a difference of counts below 0.
    condition
        SQL that is true when it is so.
    text
        SQL of the sentence that says so.
    """

    kind: Literal["zero", "negative"]
    condition: str
    text: str


@dataclass(frozen=True)
class Expression:
    """A parsed formula.

    Parameters
    ----------
    text
        As written.
    inputs
        Names of counters it needs, in order of appearance, `TIME` among them where it needs it.
    facts
        Names of ``hw`` facts it needs.
    tree
        Its syntax tree, with sums over families written out.
    """

    text: str
    inputs: tuple[str, ...]
    facts: tuple[str, ...]
    tree: ast.expr

    @property
    def counters(self) -> tuple[str, ...]:
        """Names of counters it needs, in order of appearance."""
        return tuple(name for name in self.inputs if name != TIME)

    @property
    def sql(self) -> str:
        """SQL of its value: columns named as counters, parameters ``$hw_<name>``.

        It is NULL where a denominator is 0; of a negative difference it is what comes out.
        """
        return self.sql_of({})

    def sql_of(self, terms: Mapping[str, str]) -> str:
        """Return SQL of its value, with other SQL in place of some names.

        Parameters
        ----------
        terms
            Name of a counter, or ``hw.<name>``, to SQL.
        """
        return _sql(self.tree, terms)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What can keep it from having a value, in the order of evaluation."""
        return self.problems_of({})

    def problems_of(self, terms: Mapping[str, str]) -> tuple[Problem, ...]:
        """Return `problems`, with other SQL in place of some names, as `sql_of` does."""
        found: list[Problem] = []
        _problems(self.tree, found, terms)
        return tuple(found)


def parse(text: str, known: Sequence[str] = ()) -> Expression:
    """Parse a formula.

    Parameters
    ----------
    text
        The formula.
    known
        Names that ``sum(NAME_)`` looks among.

    Raises
    ------
    MetricError
        If it is anything but arithmetic over counters, facts and numbers.
    """
    if len(text) > MAX_CHARACTERS:
        raise MetricError(f"formula of {len(text)} characters: {MAX_CHARACTERS} are allowed")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as of `1or 2`, which is refused below
            tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise MetricError(f"formula {text!r} cannot be parsed: {error}") from error
    if sum(1 for _ in ast.walk(tree)) > MAX_PARTS:
        raise MetricError(f"formula {text[:60]!r}… has more than {MAX_PARTS} parts")
    reader = _Reader(text, tuple(known))
    tree = reader.read(tree)
    return Expression(text.strip(), tuple(reader.counters), tuple(reader.facts), tree)


class _Reader:
    """Checks a tree, collects its names, and writes out its sums."""

    def __init__(self, text: str, known: tuple[str, ...]) -> None:
        self.text = text
        self.known = known
        self.counters: dict[str, None] = {}
        self.facts: dict[str, None] = {}

    def read(self, node: ast.expr) -> ast.expr:
        match node:
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
                return ast.BinOp(self.read(left), operator, self.read(right))
            case ast.Constant(value=value) if _is_number(value):
                return node
            case ast.Name(id=name) if _COUNTER.match(name):
                self.counters[name] = None
                return node
            case ast.Attribute(value=ast.Name(id="hw"), attr=name) if name in HW_NAMES:
                self.facts[name] = None
                return node
            case ast.Call(func=ast.Name(id="sum"), args=[_, *_] as terms, keywords=[]):
                return self._sum([each for term in terms for each in self._family(term)])
            case ast.Call(func=ast.Name(id=name) as func, args=[_, _, *_] as terms, keywords=[]):
                if name in _FUNCTIONS:
                    return ast.Call(func, [self.read(term) for term in terms], [])
            case _:
                pass
        raise MetricError(
            f"formula {self.text!r}: {ast.unparse(node)!r} is not allowed",
            hint="counters, hw.<name>, numbers, + - * /, min, max, sum and brackets are",
        )

    def _family(self, term: ast.expr) -> list[ast.expr]:
        if not (isinstance(term, ast.Name) and term.id.endswith("_")):
            return [term]
        names = [name for name in self.known if name.startswith(term.id)]
        if not names:
            raise MetricError(f"formula {self.text!r}: no counter begins with {term.id!r}")
        return [ast.Name(name) for name in names]

    def _sum(self, terms: Sequence[ast.expr]) -> ast.expr:
        total = self.read(terms[0])
        for term in terms[1:]:
            total = ast.BinOp(total, ast.Add(), self.read(term))
        return total


def _is_number(value: object) -> bool:
    try:
        return type(value) in (int, float) and math.isfinite(float(str(value)))
    except (OverflowError, ValueError):
        return False


def _sql(node: ast.expr, terms: Mapping[str, str]) -> str:
    match node:
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return f"({_sql(left, terms)} / nullif({_sql(right, terms)}, 0))"
        case ast.BinOp(left=left, op=operator, right=right):
            return f"({_sql(left, terms)} {_OPERATORS[type(operator)]} {_sql(right, terms)})"
        case ast.Constant(value=int() | float() as number):
            return f"{float(number)!r}::DOUBLE"
        case ast.Name(id=name):
            return terms.get(name, f'"{name}"')
        case ast.Attribute(attr=name):
            return terms.get(f"hw.{name}", f"$hw_{name}::DOUBLE")
        case ast.Call(func=ast.Name(id=name), args=args):
            return f"{_FUNCTIONS[name]}({', '.join(_sql(each, terms) for each in args)})"
        case _:  # parse() let nothing else through
            raise MetricError(f"{ast.unparse(node)!r} is not arithmetic")


def _problems(node: ast.expr, found: list[Problem], terms: Mapping[str, str]) -> None:
    if isinstance(node, ast.Call):
        for term in node.args:
            _problems(term, found, terms)
    if not isinstance(node, ast.BinOp):
        return
    _problems(node.left, found, terms)
    _problems(node.right, found, terms)
    left, right = _sql(node.left, terms), _sql(node.right, terms)
    if isinstance(node.op, ast.Div) and not _never_zero(node.right):
        found.append(Problem("zero", f"{right} = 0", f"'{ast.unparse(node.right)} is 0'"))
    elif isinstance(node.op, ast.Sub):
        spelled = _spelled(node, terms)
        text = f"'negative difference ({ast.unparse(node)} = ' || {spelled} || ')'"
        found.append(Problem("negative", f"{left} < {right}", text))


def _never_zero(node: ast.expr) -> bool:
    """Tell whether a denominator is a number other than 0, or a fact, of which none is 0."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _never_zero(node.left) and _never_zero(node.right)
    return isinstance(node, ast.Attribute) or (isinstance(node, ast.Constant) and bool(node.value))


def _spelled(node: ast.expr, terms: Mapping[str, str]) -> str:
    """Return SQL that spells a formula out, values in place of names."""
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        right = _spelled(node.right, terms)
        if isinstance(node.right, ast.BinOp):
            right = f"'(' || {right} || ')'"
        return f"{_spelled(node.left, terms)} || ' {_OPERATORS[type(node.op)]} ' || {right}"
    return f"format('{{:.15g}}', {_sql(node, terms)})"
