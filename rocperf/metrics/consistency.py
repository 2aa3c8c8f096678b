"""Which dispatches break what counters must satisfy: set by set, inside DuckDB."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import duckdb

from rocperf.hardware import Gpu
from rocperf.metrics.invariants import CLOCK, WAVES, Invariant, invariants, linear
from rocperf.metrics.sums import AGENTS, GPUS, GpuOf, table, tell_gpus
from rocperf.metrics.trust import DILUTED, SHORTEST_NS

#: Name of the temporary table: of each rule and GPU the counters with their factors.
TERMS = "rocperf_metric_terms"
#: What rounding of sums may add. A choice of ours: doubles hold 15 digits.
_ROUNDING = 1e-9
#: Counter rows from which joining them beats grouping them. A choice of ours, measured: planning
#: a join a rule takes 10 ms, joining a million rows a third of what grouping them does.
_MANY_ROWS = 200_000

_GPU_OF_DISPATCH = f"""
    SELECT run_id, dispatch_id, coalesce(gpu, 0) AS gpu
    FROM all_dispatches LEFT JOIN {AGENTS} USING (run_id, agent_id)
"""

_WAVES_SAY = "a launch makes the waves that its size asks for"
_CLOCK_SAYS = "cycles fit the time and the highest clock"


@dataclass(frozen=True)
class Broken:
    """Dispatches of one run that break a rule.

    Parameters
    ----------
    invariant, says
        The rule.
    run_id
        The run.
    dispatches
        How many break it.
    dispatch_id, left, right
        One of them, and what stands on either side.
    """

    invariant: str
    says: str
    run_id: int
    dispatches: int
    dispatch_id: int
    left: float
    right: float

    def __str__(self) -> str:
        many = f"{self.dispatches:,} dispatch{'es' if self.dispatches != 1 else ''}"
        return (
            f"{self.says}: not so in {many} of run {self.run_id}, such as dispatch "
            f"{self.dispatch_id} ({self.left:.12g} against {self.right:.12g})"
        )


def broken(connection: duckdb.DuckDBPyConnection, gpu_of: GpuOf) -> list[Broken]:
    """Return the rules that dispatches break, one entry a rule and run.

    Parameters
    ----------
    connection
        A database with the tables of a profile.
    gpu_of
        Finds the GPU of a run's agent.
    """
    facts = sorted({f for i in invariants().values() for f in (*i.left.facts, *i.right.facts)})
    try:
        gpus = tell_gpus(connection, gpu_of, ["clock_hz", "xccs", *facts])
        found = list(_broken_rules(connection, gpus))
        return [*found, *_wrong_waves(connection, gpus), *_wrong_cycles(connection)]
    finally:
        for each in (AGENTS, GPUS, TERMS):
            connection.execute(f"DROP TABLE IF EXISTS temp.{each}")


def _broken_rules(
    connection: duckdb.DuckDBPyConnection, gpus: Sequence[Gpu | None]
) -> Iterator[Broken]:
    rows: list[tuple[int, str, int]] = connection.execute(
        "SELECT run_id, counter, count(*) FROM counter_values GROUP BY run_id, counter"
    ).fetchall()
    by_run: dict[int, set[str]] = {}
    for run_id, counter, _ in rows:
        by_run.setdefault(run_id, set()).add(counter)
    rules = [
        each
        for each in invariants().values()
        if any(counters >= each.counters for counters in by_run.values())
    ]
    if not rules:
        return
    if sum(count for *_, count in rows) > _MANY_ROWS:
        sides = " UNION ALL ".join(_joined(n, rule, gpus) for n, rule in enumerate(rules))
    else:
        sides = _grouped(connection, rules, gpus)
    found: list[tuple[int, int, int, int, float, float]] = connection.execute(
        f"""
        SELECT i, run_id, count(*), min(dispatch_id), arg_min(l, dispatch_id),
               arg_min(r, dispatch_id)
        FROM ({sides})
        WHERE l > r + slack * abs(r) OR (equal AND l < r - slack * abs(r))
        GROUP BY i, run_id ORDER BY i, run_id
        """
    ).fetchall()
    for number, run_id, count, dispatch_id, left, right in found:
        rule = rules[number]
        yield Broken(rule.id, rule.says, run_id, count, dispatch_id, left, right)


def _grouped(
    connection: duckdb.DuckDBPyConnection, rules: Sequence[Invariant], gpus: Sequence[Gpu | None]
) -> str:
    """Return SQL of both sides of every rule, in one scan: fast to plan."""
    terms = [
        (number, gpu, name, left.get(name, 0.0), right.get(name, 0.0))
        for number, rule in enumerate(rules)
        for gpu, left, right in _sides(rule, gpus)
        for name in sorted(rule.counters)
    ]
    columns: dict[str, tuple[str, list[object]]] = {
        "i": ("INTEGER", [term[0] for term in terms]),
        "gpu": ("UINTEGER", [term[1] for term in terms]),
        "counter": ("VARCHAR", [term[2] for term in terms]),
        "l": ("DOUBLE", [term[3] for term in terms]),
        "r": ("DOUBLE", [term[4] for term in terms]),
        "size": ("INTEGER", [len(rules[term[0]].counters) for term in terms]),
        "slack": ("DOUBLE", [rules[term[0]].slack + _ROUNDING for term in terms]),
        "equal": ("BOOLEAN", [rules[term[0]].equal for term in terms]),
    }
    table(connection, TERMS, columns)
    return f"""
        SELECT i, c.run_id, c.dispatch_id, sum(value * l) AS l, sum(value * r) AS r,
               any_value(slack) AS slack, any_value(equal) AS equal
        FROM counter_values c JOIN ({_GPU_OF_DISPATCH}) d USING (run_id, dispatch_id)
        JOIN {TERMS} t USING (gpu, counter)
        GROUP BY i, c.run_id, c.dispatch_id HAVING count(value) = any_value(size)
    """


def _joined(number: int, rule: Invariant, gpus: Sequence[Gpu | None]) -> str:
    """Return SQL of both sides of one rule, its counters joined: fast to run."""
    names = sorted(rule.counters)
    parts = " JOIN ".join(
        f"(SELECT run_id, dispatch_id, value AS v{n} FROM counter_values "
        f"WHERE counter = '{name}') t{n}" + (" USING (run_id, dispatch_id)" if n else "")
        for n, name in enumerate(names)
    )
    sides = list(_sides(rule, gpus))
    anywhere = not rule.targets and not rule.left.facts and not rule.right.facts
    if anywhere:  # the same on every GPU: no need to know which it was
        sides = sides[:1]
    else:
        parts += f" JOIN ({_GPU_OF_DISPATCH}) d USING (run_id, dispatch_id)"
    selected = [
        f"""
        SELECT {number} AS i, run_id, dispatch_id, {_sum(left, names)} AS l,
               {_sum(right, names)} AS r, {rule.slack + _ROUNDING!r}::DOUBLE AS slack,
               {rule.equal} AS equal
        FROM {parts} {"" if anywhere else f"WHERE gpu = {gpu}"}
        """
        for gpu, left, right in sides
    ]
    nothing = """SELECT 0 AS i, 0::UINTEGER AS run_id, 0::UBIGINT AS dispatch_id, 0.0::DOUBLE AS l,
        0.0::DOUBLE AS r, 0.0::DOUBLE AS slack, false AS equal WHERE false"""
    return " UNION ALL ".join(selected) or nothing


def _sum(factors: Mapping[str, float], names: Sequence[str]) -> str:
    return " + ".join(f"{v!r}::DOUBLE * v{names.index(n)}" for n, v in factors.items() if v)


def _sides(
    rule: Invariant, gpus: Sequence[Gpu | None]
) -> Iterator[tuple[int, dict[str, float], dict[str, float]]]:
    """Return the factors of a rule on each GPU that it holds on."""
    for number, gpu in enumerate(gpus):
        target = gpu.target if gpu else None
        if rule.targets and target not in rule.targets:
            continue
        names = (*rule.left.facts, *rule.right.facts)
        known = {name: gpu.hw(name) if gpu else None for name in names}
        facts = {name: value for name, value in known.items() if value is not None}
        if len(facts) == len(known):
            yield number, linear(rule.left, facts), linear(rule.right, facts)


def _wrong_waves(connection: duckdb.DuckDBPyConnection, gpus: Sequence[Gpu | None]) -> list[Broken]:
    """Hold waves against the launch: workgroups times waves of one.

    A wave has 64 work-items, on RDNA 32 where the compiler chose so.
    """
    targets = [(gpu.target if gpu else None) or "" for gpu in gpus]
    both = [number for number, target in enumerate(targets) if not target.startswith("gfx9")]
    rows = connection.execute(
        f"""
        WITH launched AS (
            SELECT run_id, dispatch_id, workgroup_size AS size, coalesce(gpu, 0) AS gpu,
                   CASE WHEN workgroup_x > 0 AND workgroup_y > 0 AND workgroup_z > 0
                             AND grid_x > 0 AND grid_y > 0 AND grid_z > 0
                        THEN ceil(grid_x / workgroup_x) * ceil(grid_y / workgroup_y)
                             * ceil(grid_z / workgroup_z)
                        WHEN grid_size % workgroup_size = 0 THEN grid_size / workgroup_size
                   END AS groups
            FROM all_dispatches LEFT JOIN {AGENTS} USING (run_id, agent_id)
            WHERE workgroup_size > 0
        ), compared AS (
            SELECT c.run_id, c.dispatch_id, value, groups * ceil(size / 64) AS wide,
                   groups * ceil(size / 32) AS narrow, list_contains($both, gpu) AS narrow_too
            FROM (SELECT * FROM counter_values WHERE counter = 'SQ_WAVES' AND value IS NOT NULL) c
            JOIN launched USING (run_id, dispatch_id)
            WHERE groups IS NOT NULL
        )
        SELECT run_id, count(*), min(dispatch_id), arg_min(value, dispatch_id),
               arg_min(wide, dispatch_id)
        FROM compared WHERE value <> wide AND NOT (narrow_too AND value = narrow)
        GROUP BY run_id ORDER BY run_id
        """,
        {"both": both},
    ).fetchall()
    return [Broken(WAVES, _WAVES_SAY, *row) for row in rows]


def _wrong_cycles(connection: duckdb.DuckDBPyConnection) -> list[Broken]:
    """Hold cycles of dispatches that last long enough against time and clock, of one run."""
    rows = connection.execute(
        f"""
        SELECT c.run_id, count(*), min(c.dispatch_id), arg_min(cycles, c.dispatch_id),
               arg_min(fitting, c.dispatch_id)
        FROM (
            SELECT c.run_id, c.dispatch_id, value / xccs AS cycles,
                   (end_ns - start_ns) * 1e-9 * clock_hz AS fitting
            FROM (SELECT * FROM counter_values WHERE counter = 'GRBM_GUI_ACTIVE') c
            JOIN all_dispatches USING (run_id, dispatch_id)
            JOIN {AGENTS} USING (run_id, agent_id) JOIN {GPUS} USING (gpu)
            WHERE end_ns - start_ns >= {SHORTEST_NS}
        ) c
        WHERE cycles > {DILUTED}::DOUBLE * fitting GROUP BY c.run_id ORDER BY c.run_id
        """
    ).fetchall()
    return [Broken(CLOCK, _CLOCK_SAYS, *row) for row in rows]
