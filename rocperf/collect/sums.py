"""Which metrics only add counters up, so that the counters may come from several runs. Pure."""

from __future__ import annotations

import ast

from rocperf.metrics import catalogue


def is_sum(metric: str, target: str) -> bool:
    """Tell whether a metric is a sum of counters, each with a factor of numbers and GPU facts.

    Parameters
    ----------
    metric
        Its id.
    target
        gfx target; the preferred formula counts.
    """
    formulas = catalogue.metric(metric).on(target)
    return bool(formulas) and _adds(formulas[0].expression.tree)


def _adds(node: ast.expr) -> bool:
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            return _adds(left) and _adds(right)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return (_plain(left) and _adds(right)) or (_adds(left) and _plain(right))
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return _adds(left) and _plain(right)
        case ast.Call(func=ast.Name(id="sum"), args=terms):
            return all(map(_adds, terms))
        case ast.Name() | ast.Constant() | ast.Attribute():
            return True
        case _:
            return False


def _plain(node: ast.expr) -> bool:
    """Tell whether nothing measured is in it."""
    match node:
        case ast.Constant() | ast.Attribute():
            return True
        case ast.BinOp(left=left, right=right):
            return _plain(left) and _plain(right)
        case _:
            return False
