"""Look only inside a roctx range: temporary views hide everything else from every query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocperf.errors import UsageError

if TYPE_CHECKING:
    import duckdb

#: A launch is inside a range when its API call is; without API rows, when the dispatch starts
#: in it. Other runs have no ranges of their own: their dispatches go by launch.
_VIEWS = (
    """
    CREATE TEMP TABLE region_spans AS
    SELECT run_id, start_ns, end_ns FROM markers
    WHERE kind = 'range' AND message = $region AND end_ns > start_ns
    """,
    """
    CREATE TEMP TABLE region_dispatches AS
    WITH called AS (
        SELECT run_id, correlation_id, min(start_ns) AS call_ns FROM api_calls
        WHERE correlation_id > 0 GROUP BY ALL
    ), inside AS (
        SELECT DISTINCT d.run_id, d.dispatch_id, d.launch_id
        FROM all_dispatches d LEFT JOIN called c USING (run_id, correlation_id)
        JOIN region_spans s ON s.run_id = d.run_id
            AND coalesce(c.call_ns, d.start_ns) BETWEEN s.start_ns AND s.end_ns
    )
    SELECT run_id, dispatch_id FROM inside
    UNION
    SELECT d.run_id, d.dispatch_id FROM all_dispatches d
    JOIN inside i ON i.launch_id = d.launch_id
    """,
    """
    CREATE TEMP VIEW all_dispatches AS
    SELECT d.* FROM {home}.all_dispatches d
    SEMI JOIN region_dispatches r USING (run_id, dispatch_id)
    """,
    """
    CREATE TEMP VIEW counter_values AS
    SELECT c.* FROM {home}.counter_values c
    SEMI JOIN region_dispatches r USING (run_id, dispatch_id)
    """,
    """
    CREATE TEMP VIEW pc_samples AS
    SELECT p.* FROM {home}.pc_samples p
    SEMI JOIN region_dispatches r USING (run_id, dispatch_id)
    """,
    *(
        f"""
        CREATE TEMP VIEW {table} AS
        SELECT t.* FROM {{home}}.{table} t SEMI JOIN region_spans s
        ON s.run_id = t.run_id AND t.start_ns BETWEEN s.start_ns AND s.end_ns
        """
        for table in ("copies", "api_calls", "allocations", "scratch_events", "kfd_events")
    ),
    """
    CREATE TEMP VIEW runs AS
    SELECT r.* REPLACE (coalesce(s.start_ns, r.start_ns) AS start_ns,
                        coalesce(s.end_ns, r.end_ns) AS end_ns)
    FROM {home}.runs r LEFT JOIN (
        SELECT run_id, min(start_ns) AS start_ns,
               min(start_ns) + sum(end_ns - start_ns)::BIGINT AS end_ns
        FROM region_spans GROUP BY run_id
    ) s USING (run_id)
    """,
)


def restrict(connection: duckdb.DuckDBPyConnection, region: str) -> None:
    """Hide from a connection what was not launched inside ranges of one message.

    Parameters
    ----------
    connection
        An open profile; nothing is written to it.
    region
        Message of the ranges. The wall time becomes the sum of their lengths.

    Raises
    ------
    UsageError
        If the profile has no such range.
    """
    row = connection.execute(
        "SELECT count(*) FROM markers WHERE kind = 'range' AND message = ? AND end_ns > start_ns",
        [region],
    ).fetchone()
    if not row or not row[0]:
        known = connection.execute(
            "SELECT message FROM markers WHERE kind = 'range' AND end_ns > start_ns"
            " AND message IS NOT NULL GROUP BY message ORDER BY count(*) DESC LIMIT 8"
        ).fetchall()
        names = ", ".join(message for (message,) in known) or "none"
        raise UsageError(f"there is no roctx range {region!r}", hint=f"ranges here: {names}")
    home_row = connection.execute("SELECT current_database() || '.main'").fetchone()
    home = home_row[0] if home_row else "main"
    for view in _VIEWS:
        text = view.replace("{home}", f'"{home.split(".")[0]}".main')
        if "$region" in text:
            connection.execute(text, {"region": region})
        else:
            connection.execute(text)
