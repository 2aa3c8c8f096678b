"""Whether kernels that leave most of the GPU empty could run beside one another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import rocperf
from rocperf import Finding, Measure, Query, Requires, Subject, option
from rocperf_analyses import timeline

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile

#: By GPU: time of launches that give fewer than `$full` of its compute units a workgroup, their
#: time weighted by the units they leave empty, and the time of all kernels, summed and as one.
SMALL = """
WITH launches AS (
    SELECT d.run_id, d.agent_id, d.kernel_id, d.start_ns, d.end_ns,
           coalesce(d.stream_id, d.queue_id) AS lane,
           ceil(d.grid_size / d.workgroup_size) / nullif(a.cu_count, 0) AS filled,
           max(d.end_ns) OVER (PARTITION BY d.run_id, d.agent_id ORDER BY d.start_ns, d.end_ns
               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS from_ns
    FROM dispatches d JOIN kernels k USING (kernel_id)
    LEFT JOIN agents a USING (run_id, agent_id)
    WHERE NOT d.serialised AND d.end_ns > d.start_ns AND k.role = 'compute'
), judged AS (
    SELECT *, end_ns - start_ns AS took_ns, coalesce(filled < $full, false) AS small FROM launches
)
SELECT run_id, agent_id, count(*) FILTER (small) AS launches,
       count(DISTINCT kernel_id) FILTER (small) AS kernels, count(DISTINCT lane) AS lanes,
       coalesce(sum(took_ns) FILTER (small), 0)::BIGINT AS small_ns,
       coalesce(sum(took_ns * (1 - filled)) FILTER (small), 0)::BIGINT AS empty_ns,
       sum(took_ns)::BIGINT AS summed_ns,
       sum(greatest(0, end_ns - greatest(start_ns, coalesce(from_ns, start_ns))))::BIGINT AS busy_ns
FROM judged GROUP BY ALL ORDER BY empty_ns DESC, run_id, agent_id
"""
SHOW = """
SELECT k.short_name, count(*) AS launches, any_value(ceil(d.grid_size / d.workgroup_size))
           AS workgroups, count(DISTINCT coalesce(d.stream_id, d.queue_id)) AS streams,
       sum(d.end_ns - d.start_ns)::BIGINT AS total_ns
FROM dispatches d JOIN kernels k USING (kernel_id) JOIN agents a USING (run_id, agent_id)
WHERE d.run_id = $run_id AND d.agent_id = $agent_id AND d.end_ns > d.start_ns
  AND ceil(d.grid_size / d.workgroup_size) < $full * a.cu_count
GROUP BY ALL ORDER BY total_ns DESC LIMIT 20
"""


@dataclass(frozen=True)
class ConcurrencyOptions(rocperf.Options):
    """Options of `StreamConcurrency`."""

    full: float = option(
        0.5,
        help="Workgroups for each compute unit below which a launch leaves room for another; ours.",
        minimum=0,
        maximum=1,
    )
    overlapped: float = option(
        0.1,
        help="Share of summed kernel time beside other kernels from which streams do their work; "
        "ours.",
        minimum=0,
        maximum=1,
    )
    min_share: float = option(
        0.02, help="Leave out savings below this share of wall time; ours.", minimum=0, maximum=1
    )


class StreamConcurrency(rocperf.Analysis[ConcurrencyOptions]):
    """Find different small kernels that run one after the other on a GPU they leave empty.

    One kernel of few workgroups is told by `occupancy`; here are several that could share the GPU.
    """

    id = "stream-concurrency"
    title = "Small kernels side by side"
    requires = Requires(tables=("dispatches",), columns=("dispatches.grid_size",))

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield one finding, about the GPU that could save most."""
        timeline.need_timing(profile)
        wall = profile.wall_ns or 0
        for row in profile.sql(SMALL, {"full": self.options.full}).to_dicts():
            beside = row["summed_ns"] - row["busy_ns"]
            apart = beside < self.options.overlapped * row["summed_ns"]
            saves = min(row["empty_ns"], wall)
            if row["kernels"] > 1 and apart and saves and saves >= self.options.min_share * wall:
                yield self._finding(row, saves, beside)
                return

    def _finding(self, row: dict[str, Any], saves: int, beside: int) -> Finding:
        keys = {"run_id": row["run_id"], "agent_id": row["agent_id"]}
        streams = (
            "on one stream"
            if row["lanes"] == 1
            else f"on {row['lanes']} streams that hardly overlap"
        )
        return Finding(
            rule="stream-concurrency/serial",
            subject=Subject("gpu", f"GPU agent {row['agent_id']}", keys),
            title=f"{row['launches']:,} launches of {row['kernels']} small kernels run one after "
            f"the other {streams}, {timeline.lasting(row['small_ns'])} in all",
            advice="Launch kernels that do not need one another's results on streams of their own "
            "(hipStreamCreateWithFlags, hipStreamNonBlocking), join them with an event, or let "
            "one launch do both. Independent branches of a hipGraph run side by side as well.",
            saves_ns=saves,
            reasoning="Each gives fewer than half of the compute units a workgroup; packed "
            f"together they would take {timeline.lasting(row['small_ns'] - row['empty_ns'])}.",
            confidence="low",
            doubts=("whether the kernels depend on one another is not recorded",),
            evidence=(
                Measure("kernel time beside other kernels", 100 * beside / row["summed_ns"], "%",
                        limit=100 * self.options.overlapped),
                Measure("time of small launches", row["small_ns"] / 1e6, "ms"),
                Measure("streams", row["lanes"], ""),
                Query("small kernels", SHOW, {**keys, "full": self.options.full}),
            ),
        )  # fmt: skip


@rocperf.hookimpl
def rocperf_analyses() -> list[type[StreamConcurrency]]:
    """Register the analysis."""
    return [StreamConcurrency]
