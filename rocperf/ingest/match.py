"""Dispatches of several runs that are the same launch of the program.

Two dispatches are one launch when process, GPU, kernel, grid and workgroup agree and each is
the n-th of these in its run. Ids of a run are never compared: they differ between runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocperf.schema import ALL_DISPATCHES

if TYPE_CHECKING:
    import duckdb

    from rocperf.ingest.sink import StoreSink

# Equal dispatches of one run, in order of their ids, are numbered; then every group of equal
# dispatches is measured against its reference: the first timing run that saw it, else the first.
_GROUPS = """
CREATE TABLE scratch.main.groups AS
WITH counted AS (
    SELECT r.process_id, d.run_id, r.role, coalesce(d.agent_id, 0) AS agent, g.group_no,
           coalesce(d.grid_size, 0) AS grid, coalesce(d.workgroup_size, 0) AS workgroup,
           any_value(k.kernel_id) AS kernel_id, count(*) AS n
    FROM {incoming} d JOIN scratch.main.run_roles r USING (run_id)
    JOIN scratch.main.names k ON k.name = d.kernel
    JOIN scratch.main.group_numbers g USING (group_name)
    GROUP BY ALL
), held AS (
    SELECT *, first(n) OVER w AS wanted, first(run_id) OVER w AS reference,
           first(kernel_id) OVER w AS reference_kernel
    FROM counted
    WINDOW w AS (PARTITION BY process_id, agent, group_no, grid, workgroup
                 ORDER BY (role = 'timing') DESC, run_id
                 ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
), shapes AS (
    SELECT process_id, agent, group_no, grid, workgroup, reference_kernel, wanted,
           count(*) FILTER (n = wanted) AS runs
    FROM held GROUP BY ALL
), numbered AS (
    SELECT *, (sum(wanted) OVER (ORDER BY process_id, agent, group_no, grid, workgroup)
               - wanted)::UBIGINT AS before
    FROM shapes
)
SELECT h.run_id, h.agent, h.group_no, h.grid, h.workgroup, h.n, h.process_id,
       h.run_id = h.reference AS is_reference, n.runs,
       n.reference_kernel AS kernel_id, CASE WHEN h.n = h.wanted THEN n.before END AS before
FROM held h JOIN numbered n
  ON h.process_id IS NOT DISTINCT FROM n.process_id AND h.agent = n.agent
 AND h.group_no = n.group_no AND h.grid = n.grid AND h.workgroup = n.workgroup
"""


def match_launches(sink: StoreSink) -> None:
    """Move the incoming dispatches to their table, each with kernel and launch.

    Parameters
    ----------
    sink
        Holds the dispatches; the scratch tables ``names`` (kernel_id, name, group_name) and
        ``run_roles`` (run_id, process_id, role) are filled.
    """
    from rocperf.ingest.sink import INCOMING

    run = sink.connection.execute
    run(
        "CREATE TABLE scratch.main.group_numbers AS SELECT group_name,"
        " row_number() OVER (ORDER BY min(kernel_id)) AS group_no"
        " FROM scratch.main.names GROUP BY group_name"
    )
    run(_GROUPS.format(incoming=INCOMING))
    later = ("launch_id", "kernel_id")
    kept = [c for c in ALL_DISPATCHES.column_names if c not in later]
    columns = ", ".join(kept)
    # One number for a group keeps the sort narrow; rows of a kernel end up side by side, which
    # also makes them small on disk.
    run(
        f"INSERT INTO all_dispatches ({columns}, kernel_id, launch_id)"
        f" SELECT {', '.join(f'd.{c}' for c in kept)}, k.kernel_id, g.before"
        " + row_number() OVER (PARTITION BY g.rowid ORDER BY d.dispatch_id)"
        f" FROM {INCOMING} d JOIN (SELECT * FROM scratch.main.names JOIN"
        " scratch.main.group_numbers USING (group_name)) k ON k.name = d.kernel"
        " JOIN scratch.main.groups g ON g.run_id = d.run_id AND g.agent = coalesce(d.agent_id, 0)"
        " AND g.group_no = k.group_no AND g.grid = coalesce(d.grid_size, 0)"
        " AND g.workgroup = coalesce(d.workgroup_size, 0)"
    )
    run(
        "INSERT INTO launches (launch_id, process_id, kernel_id, nth, runs)"
        " SELECT before + i, process_id, kernel_id, i, runs"
        " FROM scratch.main.groups, LATERAL (SELECT unnest(range(1, n + 1)) AS i)"
        " WHERE is_reference"
    )
    _tell(sink, sink.connection)


def _tell(sink: StoreSink, connection: duckdb.DuckDBPyConnection) -> None:
    """Count what could not be matched."""
    rows = connection.execute(
        "SELECT run_id, sum(n)::BIGINT, count(*) FROM scratch.main.groups"
        " WHERE before IS NULL GROUP BY run_id ORDER BY run_id"
    ).fetchall()
    for run_id, dispatches, groups in rows:
        sink.note(
            "info",
            "launches-unmatched",
            f"run {run_id}: {dispatches:,} dispatches of {groups:,} kernel shapes occur another"
            " number of times than in the run compared with; they are compared per kernel only",
            rows=int(dispatches),
            run_id=int(run_id),
        )
