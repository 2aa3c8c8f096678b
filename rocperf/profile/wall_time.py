"""Where the wall time went: what GPUs did, each nanosecond counted once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocperf.profile.opening import Profile

#: The process that took longest, and what its GPUs were busy with: computing before all else,
#: then communicating, then copying. Of spans that end before an earlier one nothing is added.
#: Copies and fills that the runtime makes by kernels are copies.
_SPENT = """
WITH longest AS (
    SELECT run_id, start_ns, end_ns FROM runs
    WHERE role = 'timing' AND start_ns IS NOT NULL AND end_ns IS NOT NULL
    ORDER BY end_ns - start_ns DESC, run_id LIMIT 1
), spans AS (
    SELECT CASE WHEN k.role IN ('copy', 'fill') THEN 2 WHEN k.role = 'communication' THEN 1
           ELSE 0 END AS kind, d.start_ns, d.end_ns
    FROM all_dispatches d JOIN kernels k USING (kernel_id) SEMI JOIN longest USING (run_id)
    WHERE d.end_ns > d.start_ns
    UNION ALL
    SELECT 2, c.start_ns, c.end_ns FROM copies c SEMI JOIN longest USING (run_id)
    WHERE c.end_ns > c.start_ns
), reached AS (
    SELECT kind, start_ns, end_ns, max(end_ns) OVER w AS any_ns,
           max(CASE WHEN kind < 2 THEN end_ns END) OVER w AS work_ns,
           max(CASE WHEN kind < 1 THEN end_ns END) OVER w AS compute_ns
    FROM spans WINDOW w AS (ORDER BY start_ns, end_ns
                            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
)
SELECT (SELECT end_ns - start_ns FROM longest) AS wall_ns,
       coalesce(sum(greatest(0, end_ns - greatest(start_ns, coalesce(compute_ns, start_ns))))
                FILTER (kind = 0), 0)::BIGINT AS compute_ns,
       coalesce(sum(greatest(0, end_ns - greatest(start_ns, coalesce(work_ns, start_ns))))
                FILTER (kind < 2), 0)::BIGINT AS work_ns,
       coalesce(sum(greatest(0, end_ns - greatest(start_ns, coalesce(any_ns, start_ns)))), 0)
           ::BIGINT AS busy_ns
FROM reached
"""


@dataclass(frozen=True)
class WallTime:
    """What the wall time of the longest process went to; the four parts add up to it.

    Parameters
    ----------
    compute_ns
        Some GPU ran a kernel of the program, nanoseconds.
    communication_ns
        None did, but one ran a kernel of a collective.
    copies_ns
        Neither, but something was copied or filled.
    idle_ns
        No GPU did anything.
    """

    compute_ns: int
    communication_ns: int
    copies_ns: int
    idle_ns: int


def spent(profile: Profile) -> WallTime | None:
    """Say where the wall time went.

    Parameters
    ----------
    profile
        An open profile.

    Returns
    -------
    WallTime or None
        None without a timing run, without any work of a GPU in it, and where work lasts longer
        than the time looked at, as it may in a region that only launches it.
    """
    if profile.wall_ns is None:
        return None
    row = profile.sql(_SPENT).row(0, named=True)
    wall, busy = row["wall_ns"], row["busy_ns"]
    if not wall or not busy or busy > wall:
        return None
    return WallTime(
        compute_ns=row["compute_ns"],
        communication_ns=row["work_ns"] - row["compute_ns"],
        copies_ns=busy - row["work_ns"],
        idle_ns=wall - busy,
    )
