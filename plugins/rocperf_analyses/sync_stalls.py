"""Whether the host waits for the GPU in a way that leaves it without work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import rocperf
from rocperf import Finding, Measure, Query, Requires, Subject, option
from rocperf_analyses import timeline

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile

CALLS = """
SELECT name, thread_id, count(*) AS calls, sum(end_ns - start_ns)::BIGINT AS total_ns,
       max(end_ns - start_ns) AS longest_ns
FROM api_calls WHERE run_id = $run_id AND domain = 'hip' AND end_ns >= start_ns
  AND (name LIKE 'hip%Synchronize%' OR name LIKE 'hipStreamWait%')
GROUP BY ALL ORDER BY total_ns DESC
"""


@dataclass(frozen=True)
class SyncOptions(rocperf.Options):
    """Options of `SyncStalls`."""

    min_share: float = option(
        0.02, help="Leave out idle time below this share of wall time; ours.", minimum=0, maximum=1
    )


class SyncStalls(rocperf.Analysis[SyncOptions]):
    """Find waits of the host after which the GPU has nothing to do until the next launch.

    A wait is harmless while the GPU is busy. What counts is the gap that follows: the work had
    ended, the host was still in the wait, and nothing had been launched ahead.
    """

    id = "sync-stalls"
    title = "Waits of the host that stall the GPU"
    requires = Requires(tables=("dispatches", "api_calls"))

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield one finding, about the GPU that idles longest for it."""
        timeline.need_timing(profile)
        rows, wall = timeline.idle(profile), profile.wall_ns or 0
        stalls = {
            each: picked
            for each in timeline.work(profile)
            if (picked := timeline.of(each, rows, "sync"))
        }
        worst = max(stalls, key=lambda each: sum(r.idle_ns for r in stalls[each]), default=None)
        if worst is None:
            return
        lost, gaps = (
            min(sum(row.idle_ns for row in stalls[worst]), wall),
            sum(row.gaps for row in stalls[worst]),
        )
        if not lost or lost < self.options.min_share * wall:
            return
        calls = profile.sql(CALLS, {"run_id": worst.run_id})
        name = calls["name"][0] if calls.height else "a wait"
        count = int(calls["calls"].sum()) if calls.height else 0
        yield Finding(
            rule="sync-stalls/idle",
            subject=Subject(
                "gpu", timeline.gpu_name(worst, several=len(stalls) > 1), timeline.keys(worst)
            ),
            title=f"{gaps:,} waits of the host, mostly {name}, leave the GPU idle "
            f"{timeline.lasting(lost)}{timeline.worst_of(len(stalls))}",
            advice=f"Wait once, where a result is read: remove {name} between launches of one "
            "stream, which run in order anyway, and make streams depend on one another with "
            "hipEventRecord and hipStreamWaitEvent instead.",
            saves_ns=lost,
            reasoning="The gaps in which the host was still in the wait; launched ahead, the next "
            "kernel starts at once.",
            confidence="high",
            evidence=(
                Measure("gaps after a wait", gaps, ""),
                Measure("calls that wait", count, ""),
                Query("calls that wait", CALLS, {"run_id": worst.run_id}),
            ),
        )


@rocperf.hookimpl
def rocperf_analyses() -> list[type[SyncStalls]]:
    """Register the analysis."""
    return [SyncStalls]
