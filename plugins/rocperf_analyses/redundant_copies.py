"""Whether the same bytes are copied again and again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import rocperf
from rocperf import Finding, Measure, Query, Requires, option
from rocperf_analyses import timeline
from rocperf_analyses.copy_groups import subject

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile

#: Copies between the same two addresses, of the same size, in order. One to the GPU after one
#: from it brought back what had left (`returned`); one to the GPU after one to it, with none
#: from it between, sent the same range again (`again`).
TURNS = """
WITH ends AS (
    SELECT c.run_id, c.direction, c.src_agent_id, c.dst_agent_id, c.bytes, c.start_ns, c.end_ns,
           CASE WHEN direction = 'host_to_device' THEN src_address ELSE dst_address END AS host,
           CASE WHEN direction = 'host_to_device' THEN dst_address ELSE src_address END AS device
    FROM copies c JOIN runs r USING (run_id)
    WHERE r.role = 'timing' AND c.end_ns > c.start_ns AND c.src_address IS NOT NULL
      AND c.dst_address IS NOT NULL AND c.direction IN ('host_to_device', 'device_to_host')
), turns AS (
    SELECT *, lag(direction) OVER w AS before, lag(end_ns - start_ns) OVER w AS before_ns
    FROM ends WINDOW w AS (PARTITION BY run_id, host, device, bytes ORDER BY start_ns)
), judged AS (
    SELECT *, CASE before WHEN 'device_to_host' THEN 'ping-pong' ELSE 'again' END AS kind
    FROM turns WHERE direction = 'host_to_device' AND before IS NOT NULL
)"""
GROUPS = (
    TURNS
    + """
SELECT run_id, direction, src_agent_id, dst_agent_id, kind, count(*) AS times,
       count(DISTINCT (host, device, bytes)) AS ranges, sum(bytes)::BIGINT AS bytes,
       sum(end_ns - start_ns + if(kind = 'ping-pong', before_ns, 0))::BIGINT AS cost_ns
FROM judged GROUP BY ALL ORDER BY cost_ns DESC, kind, run_id, src_agent_id, dst_agent_id
"""
)
SHOW = (
    TURNS
    + """
SELECT host, device, bytes, count(*) AS times, sum(end_ns - start_ns)::BIGINT AS total_ns
FROM judged WHERE run_id = $run_id AND kind = $kind GROUP BY ALL
ORDER BY total_ns DESC, host, device LIMIT 20
"""
)
SAYS = {
    "ping-pong": (
        "go to the host and come back to where they were",
        "Keep the data on the GPU: do the host's step in a kernel, or copy only the part that the "
        "host changes.",
    ),
    "again": (
        "are sent to the GPU again from the same address",
        "Copy what does not change once, before the loop, and what changes in part only in part.",
    ),
}


@dataclass(frozen=True)
class RedundantOptions(rocperf.Options):
    """Options of `RedundantCopies`."""

    min_times: int = option(
        2, help="Copies of one range that came back or went again, from which it is told; a "
        "choice.", minimum=1,
    )  # fmt: skip
    min_share: float = option(
        0.02, help="Leave out copies below this share of wall time; ours.", minimum=0, maximum=1
    )


class RedundantCopies(rocperf.Analysis[RedundantOptions]):
    """Find ranges that are copied again between the same addresses, or to and fro.

    Addresses tell the range, not what is in it: a buffer that is filled anew each time looks the
    same. So this is a hint, and claims no saving.
    """

    id = "redundant-copies"
    title = "The same bytes copied again"
    requires = Requires(tables=("copies",), columns=("copies.bytes", "copies.src_address"))

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield one finding a kind, direction and pair of agents."""
        timeline.need_timing(profile)
        rows = profile.sql(GROUPS).to_dicts()
        several = len({row["run_id"] for row in rows}) > 1
        wall = profile.wall_ns or 0
        for row in rows:
            often = row["times"] >= self.options.min_times * row["ranges"]
            cost = min(row["cost_ns"], wall)
            if often and cost >= self.options.min_share * wall:
                yield _finding(row, cost, several=several)


def _finding(row: dict[str, Any], cost: int, *, several: bool) -> Finding:
    what, advice = SAYS[row["kind"]]
    ranges = "1 range" if row["ranges"] == 1 else f"{row['ranges']:,} ranges"
    return Finding(
        rule=f"redundant-copies/{row['kind']}",
        subject=subject(row, several=several),
        title=f"The bytes of {ranges} {what}, {row['times']:,} times in all, "
        f"{timeline.lasting(cost)}",
        advice=advice,
        saves_ns=None,
        reasoning=f"They take {timeline.lasting(cost)}; whether the bytes had changed is not "
        "recorded, so no saving is claimed.",
        confidence="low",
        doubts=("whether the host changed the bytes meanwhile is not recorded",),
        evidence=(
            Measure("copies", row["times"], ""),
            Measure("bytes", row["bytes"], "B"),
            Query("ranges", SHOW, {"run_id": row["run_id"], "kind": row["kind"]}),
        ),
    )


@rocperf.hookimpl
def rocperf_analyses() -> list[type[RedundantCopies]]:
    """Register the analysis."""
    return [RedundantCopies]
