"""SQL that applies one formula to sums of counters and says in which state each value is."""

from __future__ import annotations

from collections.abc import Sequence

from rocperf.metrics.catalogue import Formula, Metric
from rocperf.metrics.sums import SUBJECT
from rocperf.metrics.trust import Doubt, run_doubts, stitched_doubts, texts


def answer_sql(
    metric: Metric,
    formula: Formula,
    table: str,
    read: Sequence[str],
    *,
    clock_known: bool = False,
    unknown_fact: str | None = None,
) -> str:
    """Return the query of one formula over a table of sums, for the GPU ``$gpu``.

    Parameters
    ----------
    metric, formula
        What to compute.
    table
        Table that `rocperf.metrics.sums.add_up` made.
    read
        Counters that are its columns.
    clock_known
        Whether ``$clock_hz`` and ``$xccs`` are given.
    unknown_fact
        A fact of the GPU that the formula needs and nobody knows: then there is no value.
    """
    names = formula.expression.counters
    judged = run_doubts(metric.id, names, read, formula.needs, clock_known=clock_known)
    passes = stitched_doubts(formula.needs)
    fatal, mild = (
        f"coalesce(string_agg(nullif({told}, ''), '; '), '')"
        for told in (
            texts(passes, fatal=True, also=["fatal"]),
            texts(passes, fatal=False, also=["mild"]),
        )
    )
    homes = ", ".join(f"arg_min(part, rank) FILTER (h{i}) AS p{i}" for i in range(len(names)))
    text = f"""
    WITH runs AS ({_runs(names, table, judged)}),
    processes AS (SELECT {SUBJECT}, process, {homes} FROM runs GROUP BY {SUBJECT}, process),
    covered AS ({_covered(names)}),
    sums AS (
        SELECT {SUBJECT}, {", ".join(f'sum("{name}") AS "{name}"' for name in names)},
               bool_and(len(runs) = 1) AS whole,
               bool_or(len(runs) = 1 AND list_min(counts) < list_max(counts)) AS mixed,
               list_sort(list_distinct(flatten(list(runs)))) AS runs,
               sum(list_min(counts))::UBIGINT AS n, sum(list_max(counts))::UBIGINT AS most,
               {fatal} AS fatal, {mild} AS mild
        FROM covered GROUP BY {SUBJECT}
    )
    """
    if unknown_fact is not None:
        return text + _answer(
            "'not collected'",
            f"'hw.{unknown_fact} of this GPU is not known'",
            "(SELECT *, NULL::DOUBLE AS raw FROM sums)",
        )
    return text + _judged(metric, formula)


def _runs(names: Sequence[str], table: str, judged: Sequence[Doubt]) -> str:
    """Of each run: which of the counters it has, and a struct of what to take from it.

    The run with most of the counters goes first, then the earliest.
    """
    has = [f'"{name}" IS NOT NULL' for name in names]
    cover = " + ".join(f"({each})::BIGINT" for each in has)
    taken = [f"'c{i}': \"{name}\", 'n{i}': \"n:{name}\"" for i, name in enumerate(names)]
    return f"""
        SELECT {SUBJECT}, process, run::BIGINT - ({cover}) * 4294967296 AS rank,
               {", ".join(f"{each} AS h{i}" for i, each in enumerate(has))},
               {{'run': run, 'waves': "SQ_WAVES", 'gui': "GRBM_GUI_ACTIVE",
                 'fatal': nullif({texts(judged, fatal=True)}, ''),
                 'mild': nullif({texts(judged, fatal=False)}, ''), {", ".join(taken)}}} AS part
        FROM {table} WHERE gpu = $gpu
    """


def _covered(names: Sequence[str]) -> str:
    """Find processes that have every counter in some run."""
    every = range(len(names))

    def each(field: str) -> str:
        return ", ".join(f"p{i}.{field}" for i in every)

    return f"""
        SELECT {SUBJECT}, {", ".join(f'p{i}.c{i} AS "{name}"' for i, name in enumerate(names))},
               [{", ".join(f"p{i}.n{i}" for i in every)}] AS counts,
               list_distinct([{each("run")}]) AS runs,
               nullif(concat_ws('; ', {each("fatal")}), '') AS fatal,
               nullif(concat_ws('; ', {each("mild")}), '') AS mild,
               [{each("waves")}] AS waves, [{each("gui")}] AS guis
        FROM processes WHERE {" AND ".join(f"p{i} IS NOT NULL" for i in every)}
    """


def _judged(metric: Metric, formula: Formula) -> str:
    problems = formula.expression.problems
    kind = " ".join(f"WHEN {each.condition} THEN '{each.kind}'" for each in problems)
    text = " ".join(f"WHEN {each.condition} THEN {each.text}" for each in problems)
    more = [
        Doubt("raw IS NOT NULL AND NOT isfinite(raw)", "'the counters are not finite numbers'"),
        Doubt(_outside(metric), _range_text(metric)),
    ]
    if formula.doubt:
        quoted = formula.doubt.replace("'", "''")
        more.append(Doubt("raw IS NOT NULL", f"'{quoted}'", fatal=False))
    state = """CASE WHEN problem = 'negative' OR fatal <> '' THEN 'not trustworthy'
        WHEN problem = 'zero' THEN 'not applicable' ELSE 'value' END"""
    reason = """CASE
        WHEN problem = 'negative' OR (problem = 'zero' AND fatal = '') THEN problem_text
        WHEN problem = 'zero' THEN fatal
        ELSE nullif(concat_ws('; ', nullif(fatal, ''), nullif(mild, '')), '') END"""
    return f""",
    valued AS (
        SELECT *, {formula.expression.sql} AS raw,
               {f"CASE {kind} END" if kind else "NULL"} AS problem,
               {f"CASE {text} END" if text else "NULL"} AS problem_text
        FROM sums
    ),
    weighed AS (
        SELECT * REPLACE ({texts(more, fatal=True, also=["nullif(fatal, '')"])} AS fatal,
                          {texts(more, fatal=False, also=["nullif(mild, '')"])} AS mild)
        FROM valued
    )
    {_answer(state, reason, "weighed")}
    """


def _answer(state: str, reason: str, source: str) -> str:
    return f"""
    SELECT kernel_id, launch_id, key_run AS run_id, key_dispatch AS dispatch_id,
           CASE WHEN state = 'value' THEN raw END AS value, raw, state, reason,
           CASE WHEN state <> 'value' THEN 'low' WHEN reason IS NULL THEN 'high'
                ELSE 'medium' END AS confidence,
           runs, n, whole, most, mixed
    FROM (SELECT *, {state} AS state, {reason} AS reason FROM {source})
    """


def _outside(metric: Metric) -> str:
    bounds: list[str] = []
    if metric.low is not None:
        bounds.append(f"raw < {metric.low * (1 - 1e-9)!r}::DOUBLE")
    if metric.high is not None:
        bounds.append(f"raw > {metric.high * (1 + 1e-9)!r}::DOUBLE")
    return f"coalesce({' OR '.join(bounds) or 'false'}, false)"


def _range_text(metric: Metric) -> str:
    low, high = ("" if each is None else f"{each:g}" for each in (metric.low, metric.high))
    return f"format('{{:.6g}} is outside {low}..{high}', raw)"


def lacking_sql(table: str, formulas: Sequence[Formula]) -> str:
    """Return the query that says of every subject why a metric has no value there.

    It has an answer for every subject of the GPU ``$gpu``: use it for those left over. Without
    formulas it names the GPU's ``$target``.
    """
    if not formulas:
        state, reason = "'not collected'", "'not available on ' || $target"
    else:
        names = formulas[0].expression.counters
        absent = ", ".join(f"CASE WHEN count(\"n:{c}\") = 0 THEN '{c}' END" for c in names)
        spoilt = ", ".join(f'CASE WHEN count("{c}") = 0 THEN max("r:{c}") END' for c in names)
        absent, spoilt = f"concat_ws(', ', {absent})", f"concat_ws('; ', {spoilt})"
        state = f"CASE WHEN {spoilt} <> '' THEN 'not trustworthy' ELSE 'not collected' END"
        reason = f"""CASE
            WHEN {spoilt} <> '' THEN {spoilt}
            WHEN {absent} = '' THEN 'no process has all of its counters'
            ELSE 'counters ' || {absent} || ' were not collected' END"""
    return f"""
    SELECT kernel_id, launch_id, key_run AS run_id, key_dispatch AS dispatch_id,
           NULL::DOUBLE AS value,
           NULL::DOUBLE AS raw, {state} AS state, {reason} AS reason, 'low' AS confidence,
           []::UINTEGER[] AS runs, 0::UBIGINT AS n
    FROM {table} WHERE gpu = $gpu GROUP BY {SUBJECT}
    """
