"""The formulas that a question needs, as tables beside the sums, so that one query serves all.

A formula's inputs have places: the first is column ``a0`` of its rows, and so on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import duckdb

from rocperf.hardware import Gpu
from rocperf.metrics.catalogue import Formula, Metric
from rocperf.metrics.sums import table

#: Names of the temporary tables: formulas, their inputs, metrics by GPU that lack a counter.
FORMULAS, INPUTS, ABSENT = (f"rocperf_metric_{name}" for name in ("formulas", "inputs", "absent"))


@dataclass(frozen=True)
class Asked:
    """One formula for one GPU.

    Parameters
    ----------
    number
        Unique among those asked.
    gpu
        Number of the GPU.
    at
        Place of its metric among those asked for.
    order
        Place of the formula among those of its metric; lower ones are preferred.
    facts
        Figures of the GPU that it needs; None for what nobody knows.
    """

    number: int
    gpu: int
    at: int
    order: int
    metric: Metric
    formula: Formula
    facts: Mapping[str, float | None]

    @property
    def terms(self) -> dict[str, str]:
        """SQL of each name in it."""
        inputs = self.formula.expression.inputs
        places = {name: f"a{place}" for place, name in enumerate(inputs)}
        return places | {f"hw.{k}": f"{v!r}::DOUBLE" for k, v in self.facts.items()}

    @property
    def unknown(self) -> str | None:
        """A fact that it needs and nobody knows."""
        return next((name for name, value in self.facts.items() if value is None), None)


class Asking:
    """All that is asked of a profile.

    Parameters
    ----------
    wanted
        Metrics, in the order of the answer.
    gpus
        By number; None for one of which nothing is known.
    present
        Of each GPU the counters that have a value somewhere.
    """

    def __init__(
        self,
        wanted: Sequence[Metric],
        gpus: Sequence[Gpu | None],
        present: Mapping[int, frozenset[str]],
    ) -> None:
        self.wanted = wanted
        self.gpus = gpus
        self.present = present
        self.formulas = tuple(self._usable())

    def target(self, gpu: int) -> str:
        """Return the target of a GPU, ``unknown`` where nobody knows."""
        found = self.gpus[gpu]
        return (found.target if found else None) or "unknown"

    def _usable(self) -> Iterator[Asked]:
        number = 0
        for gpu, counters in self.present.items():
            found = self.gpus[gpu]
            for at, metric in enumerate(self.wanted):
                for order, formula in enumerate(metric.on(self.target(gpu))):
                    expression = formula.expression
                    if not counters.issuperset(expression.inputs):
                        continue
                    facts = {n: found.hw(n) if found else None for n in expression.facts}
                    yield Asked(number, gpu, at, order, metric, formula, facts)
                    number += 1

    @property
    def places(self) -> int:
        """Inputs of the longest formula."""
        return max((len(each.formula.expression.inputs) for each in self.formulas), default=1)

    def write(self, connection: duckdb.DuckDBPyConnection, names: Sequence[str]) -> None:
        """Write ``FORMULAS`` and ``INPUTS``, whose counters are numbered as in `names`."""
        asked = self.formulas
        columns: dict[str, tuple[str, list[object]]] = {
            "f": ("INTEGER", [each.number for each in asked]),
            "gpu": ("UINTEGER", [each.gpu for each in asked]),
            "slot": ("INTEGER", [each.at for each in asked]),
            "place": ("INTEGER", [each.order for each in asked]),
            "inputs": ("INTEGER", [len(each.formula.expression.inputs) for each in asked]),
            "timed": ("BOOLEAN", [each.formula.needs == "cycles" for each in asked]),
            "rated": ("BOOLEAN", [each.formula.needs == "time" for each in asked]),
            "shader": ("BOOLEAN", [_shader(each.formula) for each in asked]),
            "gated": ("BOOLEAN", [each.metric.id != "waves" for each in asked]),
            "wave_cycles": (
                "BOOLEAN",
                ["SQ_WAVE_CYCLES" in each.formula.expression.counters for each in asked],
            ),
            "low": ("DOUBLE", [_bound(each.metric.low, -1) for each in asked]),
            "high": ("DOUBLE", [_bound(each.metric.high, 1) for each in asked]),
            "bounds": ("VARCHAR", [each.metric.bounds for each in asked]),
            "doubt": ("VARCHAR", [each.formula.doubt or None for each in asked]),
            "unknown": ("VARCHAR", [each.unknown for each in asked]),
        }
        table(connection, FORMULAS, columns)
        number = {name: c for c, name in enumerate(names)}
        rows = [
            (each.number, each.gpu, place, number[name])
            for each in asked
            for place, name in enumerate(each.formula.expression.inputs)
        ]
        inputs: dict[str, tuple[str, list[object]]] = {
            "f": ("INTEGER", [row[0] for row in rows]),
            "gpu": ("UINTEGER", [row[1] for row in rows]),
            "place": ("INTEGER", [row[2] for row in rows]),
            "c": ("BIGINT", [row[3] for row in rows]),
        }
        table(connection, INPUTS, inputs)

    def value_sql(self) -> str:
        """Return SQL of a row's value: a case for each formula."""
        cases = " ".join(
            f"WHEN f = {each.number} THEN {each.formula.expression.sql_of(each.terms)}"
            for each in self.formulas
            if each.unknown is None
        )
        return f"CASE {cases} END" if cases else "NULL::DOUBLE"

    def problem_sql(self, numbers: Sequence[int]) -> tuple[str, str]:
        """Return SQL of what keeps rows of some formulas from a value: its kind and its text."""
        kinds: list[str] = []
        texts: list[str] = []
        for each in self.formulas:
            if each.number not in numbers or each.unknown is not None:
                continue
            for problem in each.formula.expression.problems_of(each.terms):
                here = f"WHEN f = {each.number} AND {problem.condition}"
                kinds.append(f"{here} THEN '{problem.kind}'")
                texts.append(f"{here} THEN {problem.text}")
        if not kinds:
            return "NULL::VARCHAR", "NULL::VARCHAR"
        return f"CASE {' '.join(kinds)} END", f"CASE {' '.join(texts)} END"


def _shader(formula: Formula) -> bool:
    """Tell whether a formula has a counter that stands still when no wave runs."""
    return any(not name.startswith("GRBM_") for name in formula.expression.counters)


def _bound(value: float | None, sign: int) -> float | None:
    """Widen a bound by what rounding of sums may add."""
    return None if value is None else value + sign * 1e-9 * abs(value)
