"""Questions whose rows a screen lists: copies and links, runs and the quality of the data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    """One list.

    Parameters
    ----------
    title
        What it lists.
    sql
        The query; it names every unit.
    empty
        Why it may have no row, and what to do.
    """

    title: str
    sql: str
    empty: str


#: Copies share their link while they run at once, so the rate is bytes over the time in which at
#: least one ran. Times come from timing runs, where there are any.
_KEPT = """
WITH kept AS (
    SELECT c.*, max(c.end_ns) OVER (PARTITION BY c.run_id, direction, src_agent_id, dst_agent_id
        ORDER BY c.start_ns, c.end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
    FROM copies c JOIN runs r USING (run_id)
    WHERE c.end_ns > c.start_ns
      AND (r.role = 'timing' OR NOT EXISTS (FROM runs WHERE role = 'timing'))
)
"""
COPIES = (
    Question(
        "Copies by direction and pair",
        _KEPT
        + """
SELECT direction, src_agent_id AS "from", dst_agent_id AS "to", run_id AS run,
       count(*) AS copies, round(sum(bytes) / 1e6, 3) AS "MB",
       round(sum(greatest(0, end_ns - greatest(start_ns, coalesce(before, start_ns)))) / 1e6, 3)
           AS "busy ms",
       round(sum(bytes) FILTER (bytes IS NOT NULL) / nullif(sum(greatest(0,
           end_ns - greatest(start_ns, coalesce(before, start_ns))))
           FILTER (bytes IS NOT NULL), 0), 2) AS "GB/s"
FROM kept GROUP BY ALL ORDER BY 7 DESC
""",
        "No copy with a time was recorded. rocperf collect records copies in its timing run; a "
        "CSV of rocprofv3 needs --memory-copy-trace.",
    ),
    Question(
        "Copies by size",
        _KEPT
        + """
SELECT direction, CASE WHEN bytes IS NULL THEN 'unknown' WHEN bytes < 4096 THEN 'under 4 KiB'
           WHEN bytes < 65536 THEN '4 to 64 KiB' WHEN bytes < 1048576 THEN '64 KiB to 1 MiB'
           WHEN bytes < 16777216 THEN '1 to 16 MiB' ELSE '16 MiB and more' END AS size,
       count(*) AS copies, bar(count(*), 0, max(count(*)) OVER (), 20) AS "of the most",
       round(sum(bytes) / 1e6, 3) AS "MB", round(avg(end_ns - start_ns) / 1e3, 2) AS "mean µs"
FROM kept GROUP BY ALL ORDER BY direction, min(bytes)
""",
        "No copy with a time was recorded; see copies by direction and pair.",
    ),
    Question(
        "Communication kernels",
        """
SELECT k.short_name AS kernel, count(*) AS dispatches,
       round(sum(end_ns - start_ns) / 1e6, 3) AS "total ms",
       round(avg(end_ns - start_ns) / 1e3, 2) AS "mean µs"
FROM dispatches d JOIN kernels k USING (kernel_id)
WHERE k.role = 'communication' AND end_ns >= start_ns GROUP BY ALL ORDER BY 3 DESC
""",
        "No kernel of RCCL ran: this program, or this rank, did not communicate by kernels.",
    ),
    Question(
        "Links between agents",
        """
SELECT l.from_agent_id AS "from", coalesce(a.product, a.kind) AS "from what",
       l.to_agent_id AS "to", coalesce(b.product, b.kind) AS "to what", l.kind AS link, l.hops,
       l.weight, round(l.max_bandwidth / 1e9, 1) AS "GB/s stated"
FROM links l
LEFT JOIN agents a ON a.run_id = l.run_id AND a.agent_id = l.from_agent_id
LEFT JOIN agents b ON b.run_id = l.run_id AND b.agent_id = l.to_agent_id
WHERE l.run_id = (SELECT min(run_id) FROM links) ORDER BY ALL
""",
        "No topology was recorded. rocperf ingest --append adds the text of rocm-smi --showtopo, "
        "or a copy of the driver's topology folder.",
    ),
)
RUNS = (
    Question(
        "Runs",
        """
SELECT run_id AS run, role, pass, status, round((end_ns - start_ns) / 1e6, 3) AS "span ms",
       hostname AS host, pid, rank, command FROM runs ORDER BY run_id
""",
        "No run was recorded: the notes say what was read.",
    ),
    Question(
        "Counters asked for and received",
        """
SELECT q.pass, q.counter, CASE WHEN q.received THEN 'came' ELSE 'never came' END AS outcome,
       count(c.value) AS "values", any_value(c.reason) AS "why some are not usable"
FROM requested_counters q LEFT JOIN runs r ON r.pass = q.pass
LEFT JOIN counter_values c ON c.run_id = r.run_id AND c.counter = q.counter
GROUP BY q.pass, q.counter, q.received ORDER BY q.received, q.pass, q.counter
""",
        "Nothing says what was asked for: only rocperf collect keeps that.",
    ),
    Question(
        "Passes",
        """
SELECT pass, role, status, round(duration_ns / 1e9, 2) AS seconds, exit_code AS exit, message,
       purpose, command FROM passes ORDER BY pass
""",
        "No plan of passes: this profile was read from files, not collected by rocperf.",
    ),
    Question(
        "Notes on the data",
        """
SELECT severity, code, message, rows, file_id AS file, row FROM notes
ORDER BY severity = 'info', severity, code, message
""",
        "Nothing was odd.",
    ),
    Question("Files", "SELECT * FROM files ORDER BY file_id", "No file was read."),
    Question(
        "Rows of each kind",
        """
SELECT 'dispatches' AS what, count(*) AS rows FROM dispatches
UNION ALL SELECT 'dispatches of all runs', count(*) FROM all_dispatches
UNION ALL SELECT 'counter values', count(*) FROM counter_values
UNION ALL SELECT 'copies', count(*) FROM copies
UNION ALL SELECT 'API calls', count(*) FROM api_calls
UNION ALL SELECT 'markers', count(*) FROM markers
UNION ALL SELECT 'allocations', count(*) FROM allocations
UNION ALL SELECT 'PC samples', count(*) FROM pc_samples
""",
        "",
    ),
)
#: Of one kernel.
KERNEL = (
    Question(
        "Dispatches, the longest first",
        """
SELECT run_id AS run, dispatch_id AS dispatch, agent_id AS gpu, queue_id AS queue,
       stream_id AS stream, CASE WHEN end_ns >= start_ns THEN round((end_ns - start_ns) / 1e3, 3)
       END AS "µs", grid_size AS grid, workgroup_size AS workgroup, vgpr, agpr, sgpr, lds_bytes,
       scratch_bytes, start_ns
FROM dispatches WHERE kernel_id = $kernel ORDER BY 6 DESC NULLS LAST
""",
        "It was not dispatched.",
    ),
    Question(
        "Durations",
        """
WITH timed AS (
    SELECT end_ns - start_ns AS ns FROM dispatches
    WHERE kernel_id = $kernel AND end_ns >= start_ns
), edges AS (SELECT min(ns) AS low, greatest(max(ns) - min(ns), 1) AS span FROM timed)
SELECT round((low + span * part / 16) / 1e3, 3) AS "from µs", count(*) AS dispatches,
       bar(count(*), 0, max(count(*)) OVER (), 40) AS "of the most"
FROM (SELECT low, span, least((ns - low) * 16 // span, 15) AS part FROM timed, edges)
GROUP BY low, span, part ORDER BY part
""",
        "No dispatch of it has a duration.",
    ),
    Question(
        "Counters of a dispatch",
        """
SELECT counter, count(value) AS "values", avg(value) AS mean,
       min(value) AS least, max(value) AS most, any_value(reason) AS "why some are missing",
       count(DISTINCT run_id) AS runs
FROM counters WHERE kernel_id = $kernel GROUP BY counter ORDER BY counter
""",
        "No counter was taken of it: rocperf collect ./app takes them in further runs.",
    ),
    Question(
        "Spread of times",
        """
SELECT count(*) AS dispatches, round(min(ns) / 1e3, 3) AS "least µs",
       round(avg(ns) / 1e3, 3) AS "mean µs", round(median(ns) / 1e3, 3) AS "median µs",
       round(quantile_cont(ns, 0.95) / 1e3, 3) AS "p95 µs", round(max(ns) / 1e3, 3) AS "most µs"
FROM (SELECT end_ns - start_ns AS ns FROM dispatches
      WHERE kernel_id = $kernel AND end_ns >= start_ns) HAVING count(*) > 0
""",
        "No dispatch of it has a duration.",
    ),
)
