"""Where the counters of a formula come from: one run of a process, or several put together.

Of each process the run with most of a formula's counters gives them, then the earliest; what it
lacks comes from the next. Processes are added up.
"""

from __future__ import annotations

from rocperf.metrics.asked import FORMULAS, INPUTS
from rocperf.metrics.expression import TIME
from rocperf.metrics.sums import CELLS, GPUS, RUNS
from rocperf.metrics.trust import PARTIAL, run_doubts, stitched_doubts, texts

#: What a row of uses is about, below which are the inputs of a formula.
_PROCESS = "s, gpu, process, f"

#: Inputs of formulas by run, from the sums over all dispatches.
USES = f"""
    SELECT s, gpu, process, run, f, place, total, n, reason
    FROM {CELLS} JOIN {INPUTS} USING (gpu, c) WHERE total IS NOT NULL
"""


def complete_uses_sql(dispatches: str, names: list[str], formulas: list[int]) -> str:
    """Return SQL of inputs as `USES`, but over those dispatches alone that have all of them.

    Parameters
    ----------
    dispatches
        SQL of `rocperf.metrics.sums.dispatches_sql`.
    names
        Names of counters by number; the query has them as ``$names``.
    formulas
        Numbers of the formulas.
    """
    times = (
        f"UNION ALL SELECT run_id, dispatch_id, {names.index(TIME)}, ns FROM d WHERE ns > 0"
        if TIME in names
        else ""
    )
    return f"""
        WITH d AS ({dispatches}),
        names AS (
            SELECT unnest($names) AS counter, generate_subscripts($names, 1) - 1 AS c
        ), measured AS (
            SELECT run_id, dispatch_id, c, value FROM counter_values JOIN names USING (counter)
            WHERE value IS NOT NULL AND counter <> '{TIME}' {times}
        ), inputs AS (
            SELECT s, d.gpu, run_id, f, place, value,
                   count(*) OVER (PARTITION BY run_id, dispatch_id, f) AS found
            FROM measured JOIN d USING (run_id, dispatch_id)
            JOIN {INPUTS} i ON i.c = measured.c AND i.gpu = d.gpu
            WHERE f IN ({", ".join(map(str, formulas))})
        )
        SELECT s, inputs.gpu, coalesce(r.process_id::BIGINT, -inputs.run_id::BIGINT) AS process,
               inputs.run_id AS run, f, inputs.place, sum(value) AS total, count(value) AS n,
               NULL::VARCHAR AS reason
        FROM inputs JOIN {FORMULAS} USING (f) LEFT JOIN runs r ON r.run_id = inputs.run_id
        WHERE found = inputs
        GROUP BY s, inputs.gpu, process, inputs.run_id, f, inputs.place
    """


def sums_sql(uses: str, places: int, *, alone: bool) -> str:
    """Return SQL of the inputs of each formula and subject, added up over processes.

    Its columns are ``s``, ``gpu``, ``f``, ``a0`` and so on; ``whole`` when every process has
    one run that gives all, ``mixed`` when the inputs of a run cover different numbers of
    dispatches, ``runs``, ``n`` and ``most`` dispatches, and what is ``fatal`` and ``mild``.

    Parameters
    ----------
    uses
        SQL of uses.
    places
        Inputs of the longest formula.
    alone
        Whether every subject has one run: then there is nothing to choose or to put together.
    """
    kept = ", ".join(f"max(total) FILTER (place = {i}) AS a{i}" for i in range(places))
    if alone:
        return _alone_sql(uses, kept)
    added = ", ".join(f"sum(a{i}) AS a{i}" for i in range(places))
    fatal = texts(stitched_doubts(), fatal=True, also=["fatal"])
    mild = texts(stitched_doubts(), fatal=False, also=["mild"])
    return f"""
        WITH uses AS ({uses}), told AS ({_told()}),
        cover AS (SELECT {_PROCESS}, run, count(*) AS cover FROM uses GROUP BY {_PROCESS}, run),
        home AS (
            SELECT {_PROCESS}, place,
                   arg_min({{'run': run, 'total': total, 'n': n, 'reason': reason}},
                           run::BIGINT - cover * 4294967296) AS h
            FROM uses JOIN cover USING (s, gpu, process, f, run) GROUP BY {_PROCESS}, place
        ),
        part AS ({_part("(SELECT * EXCLUDE (h), unnest(h) FROM home)")}),
        processes AS (
            SELECT {_PROCESS}, any_value(timed) AS timed, {kept},
                   list_distinct(list(run)) AS runs, list(n) AS counts,
                   list(waves) AS waves, list(gui) AS guis,
                   string_agg(fatal, '; ') AS fatal, string_agg(mild, '; ') AS mild
            FROM part GROUP BY {_PROCESS} HAVING count(*) = any_value(inputs)
        )
        SELECT s, gpu, f, {added}, bool_and(len(runs) = 1) AS whole,
               bool_or(len(runs) = 1 AND list_min(counts) < list_max(counts)) AS mixed,
               list_sort(list_distinct(flatten(list(runs)))) AS runs,
               sum(list_min(counts))::UBIGINT AS n, sum(list_max(counts))::UBIGINT AS most,
               coalesce(string_agg({fatal}, '; '), '') AS fatal,
               coalesce(string_agg({mild}, '; '), '') AS mild
        FROM processes GROUP BY s, gpu, f
    """


def _alone_sql(uses: str, kept: str) -> str:
    """Return SQL of `sums_sql` where every subject has one run: added up first, then judged."""
    said, noted = _said()
    return f"""
        WITH uses AS ({uses}), told AS ({_told()}),
        summed AS (
            SELECT s, gpu, f, {kept}, any_value(run) AS run, min(n) AS least, max(n) AS most,
                   count(*) AS found, string_agg(reason, '; ') AS reason
            FROM uses GROUP BY s, gpu, f
        )
        SELECT u.* EXCLUDE (run, least, most, found, reason), true AS whole,
               least < most AS mixed, [u.run] AS runs,
               least::UBIGINT AS n, most::UBIGINT AS most,
               concat_ws('; ', CASE WHEN least < most THEN {PARTIAL.text} END, {said}) AS fatal,
               concat_ws('; ', u.reason, {noted}) AS mild
        FROM summed u JOIN told USING (s, gpu) JOIN {FORMULAS} q USING (f)
        WHERE found = q.inputs
    """


def _said() -> tuple[str, str]:
    """Return SQL of what is said of a run's counters as far as it concerns formula ``q``."""
    said, noted = (
        ", ".join(f"CASE WHEN q.{kind} THEN {kind}_{what} END" for kind in run_doubts())
        for what in ("doubt", "note")
    )
    return said, noted


def _told() -> str:
    """Say of each run why it may not be believed."""
    said = ", ".join(
        f"{texts(doubts, fatal=True)} AS {kind}_doubt, {texts(doubts, fatal=False)} AS {kind}_note"
        for kind, doubts in run_doubts().items()
    )
    return f"SELECT s, gpu, process, run, waves, gui, {said} FROM {RUNS} JOIN {GPUS} USING (gpu)"


def _part(source: str) -> str:
    """Join what is said of the runs to what is taken from them."""
    said, noted = _said()
    return f"""
        SELECT u.s, u.gpu, u.process, u.f, u.place, u.run, u.total, u.n, waves, gui,
               nullif(concat_ws('; ', u.reason, {noted}), '') AS mild,
               q.timed OR q.rated AS timed, q.inputs, nullif(concat_ws('; ', {said}), '') AS fatal
        FROM {source} u JOIN told USING (s, gpu, process, run) JOIN {FORMULAS} q USING (f)
    """
