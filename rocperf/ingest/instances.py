"""Counter values that come one for each hardware instance: summed once, and kept apart.

Databases and JSON hold one value for each die, engine or channel that a counter has; CSV holds
their sum. A replayed dispatch has each value several times instead, which must not be summed:
SQ_WAVES tells the two apart, because the launch says how many waves there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocperf.ingest.sink import INCOMING

if TYPE_CHECKING:
    from rocperf.ingest.source import Sink

_SUMS = "scratch.main.counter_sums"
_REPLAYS = "scratch.main.counter_replays"
_NO_NUMBER = "not a number: a division by zero, as a rule"
_NO_COUNT = "below 0 or beyond 2^63: no hardware counts so"

#: SQL: whether ``value`` can be a counter's. NULL, NaN and infinities cannot.
USABLE = "(value >= 0 AND value < 9223372036854775808) IS TRUE"
#: SQL: why ``value`` is not usable; NULL when it is.
REASON = (
    f"CASE WHEN {USABLE} THEN NULL WHEN value IS NULL OR NOT isfinite(value)"
    f" THEN '{_NO_NUMBER}' ELSE '{_NO_COUNT}' END"
)


def repeats(sink: Sink, stage: str) -> bool:
    """Say whether some dispatch has several rows of one counter.

    Parameters
    ----------
    sink
        Its connection knows the rows.
    stage
        Relation with ``dispatch_id`` and ``counter``.
    """
    # One group a dispatch costs a fraction of one a pair: a dispatch that has as many rows as
    # its counters set bits repeats none. Two words hold the counters of any file there is.
    low = "bit_or(CASE WHEN place < 63 THEN 1::BIGINT << place ELSE 0 END)"
    high = "bit_or(CASE WHEN place BETWEEN 63 AND 125 THEN 1::BIGINT << (place - 63) ELSE 0 END)"
    found = sink.connection.execute(
        "WITH names AS (SELECT counter, row_number() OVER () - 1 AS place"
        f" FROM (SELECT DISTINCT counter FROM {stage}))"
        f" SELECT 1 FROM {stage} s JOIN names n ON n.counter IS NOT DISTINCT FROM s.counter"
        f" GROUP BY s.dispatch_id HAVING count(*) <> bit_count({low}) + bit_count({high}) LIMIT 1"
    ).fetchall()
    return bool(found)


def store_counters(sink: Sink, stage: str, *, run_id: int, file_id: int, name: str) -> None:
    """Store counters of dispatches that are stored already.

    Parameters
    ----------
    sink
        Takes the rows.
    stage
        Table with ``dispatch_id``, ``counter``, ``value`` (NULL when it is no finite number) and
        ``row``: one row for each instance.
    run_id, file_id
        Their numbers.
    name
        Name of the file, for notes.
    """
    run = sink.connection.execute
    note_unusable(sink, stage, file_id=file_id, name=name)
    if not repeats(sink, stage):
        sink.append_sql(
            "counter_values",
            f"SELECT dispatch_id, counter, CASE WHEN {USABLE} THEN value END AS value,"
            f" {REASON} AS reason, row FROM {stage}",
            (),
            run_id=run_id,
            file_id=file_id,
        )
        run(f"DROP TABLE {stage}")
        return
    run(
        f"CREATE OR REPLACE TABLE {_SUMS} AS SELECT dispatch_id, counter,"
        f" CASE WHEN bool_and({USABLE}) THEN sum(value) END AS total, min({REASON}) AS reason,"
        " count(*) AS n,"
        " min(value) AS low, max(value) AS high, min(row) AS row"
        f" FROM {stage} GROUP BY dispatch_id, counter"
    )
    _find_replays(sink, run_id)
    _store_sums(sink, run_id, file_id)
    sink.append_sql(
        "counter_instances",
        "SELECT p.dispatch_id, p.counter, row_number() OVER"
        " (PARTITION BY p.dispatch_id, p.counter ORDER BY p.row, p.value) - 1 AS instance,"
        f" p.value, p.row FROM {stage} p JOIN {_SUMS} s USING (dispatch_id, counter)"
        f" WHERE s.n > 1 AND s.dispatch_id NOT IN (SELECT dispatch_id FROM {_REPLAYS})",
        (),
        run_id=run_id,
        file_id=file_id,
    )
    _note_replays(sink, file_id, name)
    for table in (stage, _SUMS, _REPLAYS):
        run(f"DROP TABLE {table}")


def _find_replays(sink: Sink, run_id: int) -> None:
    """Find dispatches whose waves were counted a whole number of times over.

    A wave has 64 lanes where the agent says so, and 32 or 64 on agents whose waves have 32.
    """
    groups = " * ".join(
        f"ceil(i.grid_{axis} / nullif(i.workgroup_{axis}, 0))" for axis in ("x", "y", "z")
    )
    waves = f"({groups} * ceil(i.workgroup_size / {{lanes}}))"
    wide, narrow = waves.format(lanes=64), waves.format(lanes=32)
    sink.connection.execute(
        f"CREATE OR REPLACE TABLE {_REPLAYS} AS"
        f" WITH agent AS (SELECT agent_id, any_value(wave_size) AS lanes FROM agents"
        f" WHERE run_id = {run_id} GROUP BY agent_id),"
        f" launch AS (SELECT s.dispatch_id, s.n, s.total, {wide} AS wide,"
        f" CASE WHEN coalesce(a.lanes, 64) = 32 THEN {narrow} END AS narrow"
        f" FROM {_SUMS} s JOIN {INCOMING} i ON i.dispatch_id = s.dispatch_id"
        " LEFT JOIN agent a ON a.agent_id = i.agent_id"
        f" WHERE i.run_id = {run_id} AND s.counter = 'SQ_WAVES' AND s.n > 1),"
        " times AS (SELECT dispatch_id, n, total, CASE"
        " WHEN total % wide = 0 THEN total / wide"
        " WHEN total % narrow = 0 THEN total / narrow END AS times"
        " FROM launch WHERE total <> wide AND total IS DISTINCT FROM narrow)"
        " SELECT dispatch_id, times::UBIGINT AS times FROM times"
        " WHERE times >= 2 AND n % times = 0"
    )


def _store_sums(sink: Sink, run_id: int, file_id: int) -> None:
    repeated = "r.times IS NOT NULL"
    same = "s.n = r.times AND s.low = s.high"
    sink.append_sql(
        "counter_values",
        f"SELECT s.dispatch_id, s.counter, CASE WHEN NOT ({repeated}) THEN s.total"
        f" WHEN {same} THEN s.low WHEN s.counter = 'SQ_WAVES' THEN s.total / r.times END AS value,"
        f" CASE WHEN s.total IS NULL THEN s.reason WHEN {repeated} AND NOT ({same})"
        " AND s.counter <> 'SQ_WAVES' THEN 'recorded several times, with different values' END"
        f" AS reason, s.row FROM {_SUMS} s LEFT JOIN {_REPLAYS} r USING (dispatch_id)",
        (),
        run_id=run_id,
        file_id=file_id,
    )


def note_unusable(sink: Sink, stage: str, *, file_id: int, name: str) -> None:
    """Count the values of a stage that cannot be a counter's."""
    ((rows, first, odd),) = sink.connection.execute(
        "SELECT count(*), min(row), count(*) FILTER (isfinite(value))"
        f" FROM {stage} WHERE NOT ({USABLE})"
    ).fetchall()
    if rows:
        text = f"{rows:,} values are no counts: not a number, below 0, or 2^63 and more; kept empty"
        # A derived counter of a kernel that did nothing of its kind is 0/0: that is no oddity.
        sink.note(
            "warning" if odd else "info",
            "values-unusable",
            f"{name}: {text}",
            file_id=file_id,
            row=int(first),
            rows=int(rows),
        )


def _note_replays(sink: Sink, file_id: int, name: str) -> None:
    query = f"SELECT count(*), max(times) FROM {_REPLAYS}"
    ((dispatches, times),) = sink.connection.execute(query).fetchall()
    if dispatches:
        sink.note(
            "warning",
            "counter-repeated",
            f"{name}: {times} rows for one counter of one dispatch (replay?);"
            " equal values are taken once, others not at all",
            file_id=file_id,
            rows=int(dispatches),
        )
