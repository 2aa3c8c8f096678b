"""Whether queues get their scratch memory again and again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import rocperf
from rocperf import Finding, Measure, Query, Requires, Subject, UnjudgedError, option
from rocperf_analyses import timeline

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile

#: Allocations of scratch memory by GPU: those after the first of their queue, and their time.
AGAIN = """
WITH given AS (
    SELECT s.run_id, s.agent_id, s.queue_id, s.bytes, s.end_ns - s.start_ns AS took_ns,
           row_number() OVER (PARTITION BY s.run_id, s.agent_id, s.queue_id ORDER BY s.start_ns)
               AS nth
    FROM scratch_events s JOIN runs r USING (run_id)
    WHERE r.role = 'timing' AND s.operation = 'alloc' AND s.end_ns >= s.start_ns
)
SELECT run_id, agent_id, count(DISTINCT queue_id) AS queues, count(*) AS allocations,
       count(*) FILTER (nth > 1) AS again, max(bytes) AS largest_bytes,
       coalesce(sum(took_ns) FILTER (nth > 1), 0)::BIGINT AS again_ns
FROM given GROUP BY ALL ORDER BY again_ns DESC, run_id, agent_id
"""
#: Kernels that need scratch memory.
USERS = """
SELECT k.short_name, max(d.scratch_bytes) AS bytes_per_work_item, count(*) AS launches
FROM dispatches d JOIN kernels k USING (kernel_id) WHERE d.scratch_bytes > 0
GROUP BY ALL ORDER BY bytes_per_work_item DESC, k.short_name LIMIT 3
"""


@dataclass(frozen=True)
class ScratchOptions(rocperf.Options):
    """Options of `ScratchReallocation`."""

    min_again: int = option(
        2, help="Allocations after the first of a queue from which it is told; ours.", minimum=1
    )
    min_share: float = option(
        0.02, help="Leave out savings below this share of wall time; ours.", minimum=0, maximum=1
    )


class ScratchReallocation(rocperf.Analysis[ScratchOptions]):
    """Find queues whose scratch memory is allocated anew, while a kernel waits for it.

    Scratch holds spilled registers and private arrays; a launch that needs more than its queue
    has waits until the runtime has given it.
    """

    id = "scratch-reallocation"
    title = "Scratch memory allocated again"
    requires = Requires(tables=("dispatches",))

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield one finding, about the GPU that loses most."""
        timeline.need_timing(profile)
        if not profile.scalar("SELECT count(*) FROM (SELECT 1 FROM scratch_events LIMIT 1)"):
            self._need_events(profile)
            return
        wall = profile.wall_ns or 0
        rows = [
            row
            for row in profile.sql(AGAIN).to_dicts()
            if row["again"] >= self.options.min_again
            and row["again_ns"] >= max(1, self.options.min_share * wall)
        ]
        if not rows:
            return
        worst = rows[0]
        users = profile.sql(USERS)["short_name"].to_list()
        need = f", needed by {', '.join(users)}" if users else ""
        yield Finding(
            rule="scratch-reallocation/again",
            subject=Subject(
                "gpu",
                f"GPU agent {worst['agent_id']}",
                {"run_id": worst["run_id"], "agent_id": worst["agent_id"]},
            ),
            title=f"Scratch memory was allocated {worst['again']:,} times more than once a queue"
            f"{need}{timeline.worst_of(len(rows))}",
            advice="Need less of it: smaller private arrays, fewer spills (__launch_bounds__), no "
            "recursion; launch the kernel that needs most first; or let the runtime keep more "
            "(HSA_SCRATCH_SINGLE_LIMIT).",
            saves_ns=min(worst["again_ns"], wall),
            reasoning="The time of the allocations after the first of each queue.",
            evidence=(
                Measure("allocations", worst["allocations"], ""),
                Measure("queues", worst["queues"], ""),
                Query("allocations of scratch memory", AGAIN),
            ),
        )

    def _need_events(self, profile: Profile) -> None:
        """Raise where kernels use scratch memory, or may, and its events are not there.

        Raises
        ------
        UnjudgedError
            With the command that records them.
        """
        most = profile.scalar("SELECT max(scratch_bytes) FROM dispatches")
        if most == 0:
            return  # no kernel needs any
        events = Requires(tables=("scratch_events",))
        raise UnjudgedError(
            "; ".join(profile.missing(events)), hint=profile.command_for(self.id, events)
        )


@rocperf.hookimpl
def rocperf_analyses() -> list[type[ScratchReallocation]]:
    """Register the analysis."""
    return [ScratchReallocation]
