"""SQL that judges values, and says of the others why there is none."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb

from rocperf.metrics.asked import ABSENT, FORMULAS, Asking
from rocperf.metrics.expression import TIME
from rocperf.metrics.sums import CELLS, SUBJECTS, table
from rocperf.metrics.trust import Doubt, texts

#: Name of the temporary table of sums with their ``raw`` values.
VALUED = "rocperf_metric_valued"

NO_TIMES = "the run that counted has no times"

_COLUMNS = "kernel_id, launch_id, t.run_id, t.dispatch_id"


def judged_sql(kind: str, text: str) -> str:
    """Return SQL of the answer: value, state, reason and confidence of each row of ``VALUED``.

    Parameters
    ----------
    kind, text
        SQL of what keeps a row from a value, see `Asking.problem_sql`.
    """
    more = [
        Doubt("raw IS NOT NULL AND NOT isfinite(raw)", "'the counters are not finite numbers'"),
        Doubt(
            "coalesce(raw < low, false) OR coalesce(raw > high, false)",
            "format('{:.6g} is outside {}', raw, bounds)",
        ),
        Doubt("raw IS NOT NULL AND doubt IS NOT NULL", "doubt", fatal=False),
    ]
    fatal = texts(more, fatal=True, also=["nullif(fatal, '')"])
    mild = texts(more, fatal=False, also=["nullif(mild, '')"])
    return f"""
    WITH troubled AS (
        SELECT v.*, q.* EXCLUDE (f, gpu, inputs, place), q.place AS formula,
               {kind} AS problem, {text} AS problem_text
        FROM {VALUED} v JOIN {FORMULAS} q USING (f)
    ),
    weighed AS (
        SELECT * REPLACE (coalesce({fatal}, '') AS fatal, coalesce({mild}, '') AS mild)
        FROM troubled
    ),
    said AS (
        SELECT *, CASE
            WHEN unknown IS NOT NULL THEN 'not collected'
            WHEN problem = 'negative' OR fatal <> '' THEN 'not trustworthy'
            WHEN problem = 'zero' THEN 'not applicable' ELSE 'value' END AS state,
            CASE
            WHEN unknown IS NOT NULL THEN 'hw.' || unknown || ' of this GPU is not known'
            WHEN problem = 'negative' OR (problem = 'zero' AND fatal = '') THEN problem_text
            WHEN problem = 'zero' THEN fatal
            ELSE nullif(concat_ws('; ', nullif(fatal, ''), nullif(mild, '')), '') END AS reason
        FROM weighed
    )
    SELECT {_COLUMNS}, gpu, slot, CASE WHEN state = 'value' THEN raw END AS value, raw,
           state, reason, CASE WHEN state <> 'value' THEN 'low' WHEN reason IS NULL THEN 'high'
                               ELSE 'medium' END AS confidence,
           runs, n, f, formula, whole, most, mixed
    FROM said JOIN {SUBJECTS} t USING (s, gpu)
    """


def lacking_sql() -> str:
    """Return SQL that says of every subject and metric without a row why it has no value.

    ``ABSENT`` must have been written. Where a metric has a ``reason`` there, it holds for every
    subject; else the subject's own counters tell.
    """
    absent, spoilt = "coalesce(absent, '')", "coalesce(spoilt, '')"
    return f"""
    WITH open AS (
        SELECT s, gpu, slot, counter, c, state, reason FROM {SUBJECTS} JOIN {ABSENT} USING (gpu)
        ANTI JOIN (SELECT s, gpu, slot FROM {VALUED} JOIN {FORMULAS} USING (f, gpu)) a
        USING (s, gpu, slot)
    ),
    have AS (
        SELECT s, gpu, c, max(total) AS total, max(n) AS n, max(reason) AS why
        FROM {CELLS} SEMI JOIN (SELECT c FROM {ABSENT} WHERE reason IS NULL) USING (c)
        GROUP BY s, gpu, c
    ),
    told AS (
        SELECT s, gpu, slot, any_value(state) AS state, any_value(reason) AS reason,
               string_agg(counter, ', ' ORDER BY c) FILTER (h.n IS NULL) AS absent,
               string_agg(why, '; ' ORDER BY c) FILTER (h.n IS NOT NULL AND total IS NULL)
                   AS spoilt
        FROM open LEFT JOIN have h USING (s, gpu, c) GROUP BY s, gpu, slot
    )
    SELECT {_COLUMNS}, gpu, slot, NULL::DOUBLE AS value, NULL::DOUBLE AS raw,
           coalesce(told.state, CASE WHEN {spoilt} <> '' THEN 'not trustworthy'
                                ELSE 'not collected' END) AS state,
           coalesce(told.reason, CASE
               WHEN {spoilt} <> '' THEN spoilt
               WHEN {absent} = '' THEN 'no process has all of its counters'
               WHEN {absent} = '{TIME}' THEN '{NO_TIMES}'
               ELSE 'counters ' || absent || ' were not collected' END) AS reason,
           'low' AS confidence, []::UINTEGER[] AS runs, 0::UBIGINT AS n
    FROM told JOIN {SUBJECTS} t USING (s, gpu)
    """


def write_absent(
    connection: duckdb.DuckDBPyConnection,
    asking: Asking,
    names: list[str],
    seen: dict[int, frozenset[str]],
) -> None:
    """Write ``ABSENT``: what can be said of a metric on a GPU where it has no value.

    Parameters
    ----------
    names
        Counters by number.
    seen
        Of each GPU the counters that have rows, with or without a value.
    """
    rows = list(_absent(asking, names, seen))
    columns: dict[str, tuple[str, list[object]]] = {
        "gpu": ("UINTEGER", [row[0] for row in rows]),
        "slot": ("INTEGER", [row[1] for row in rows]),
        "c": ("BIGINT", [row[2] for row in rows]),
        "counter": ("VARCHAR", [row[3] for row in rows]),
        "state": ("VARCHAR", ["not collected" if row[4] else None for row in rows]),
        "reason": ("VARCHAR", [row[4] for row in rows]),
    }
    table(connection, ABSENT, columns)


def _absent(
    asking: Asking, names: list[str], seen: dict[int, frozenset[str]]
) -> Iterator[tuple[int, int, int | None, str | None, str | None]]:
    number = {name: c for c, name in enumerate(names)}
    for gpu, present in asking.present.items():
        for at, metric in enumerate(asking.wanted):
            formulas = metric.on(asking.target(gpu))
            if not formulas:
                yield gpu, at, None, None, f"not available on {asking.target(gpu)}"
                continue
            inputs = formulas[0].expression.inputs
            never = [name for name in inputs if name not in seen[gpu]]
            spoilt = [name for name in inputs if name in seen[gpu] and name not in present]
            if not never or spoilt:
                for name in inputs:
                    yield gpu, at, number[name], name, None
            elif never == [TIME]:
                yield gpu, at, None, None, NO_TIMES
            else:
                told = ", ".join(name for name in never if name != TIME)
                yield gpu, at, None, None, f"counters {told} were not collected"
