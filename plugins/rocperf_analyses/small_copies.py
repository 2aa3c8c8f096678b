"""Whether many tiny copies are made where one would do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import rocperf
from rocperf import Finding, Measure, Query, Requires, option
from rocperf_analyses import timeline
from rocperf_analyses.copy_groups import WORDS, subject

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile

#: Small copies by direction and agents. What one costs is the copy itself, the idle time of the
#: GPU between its call and it, and what a call that waits still takes after it. Longer than a
#: stall these are no latency: the runtime was starting, or the host was held up.
SMALL = (
    timeline.SPANS
    + """, reached AS (
    SELECT *, max(end_ns) OVER (PARTITION BY run_id, agent_id ORDER BY start_ns, end_ns
           ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS from_ns
    FROM spans
), calls AS (
    SELECT run_id, correlation_id, min(start_ns) AS call_ns,
           max(CASE WHEN name NOT LIKE '%Async%' THEN end_ns END) AS back_ns
    FROM api_calls WHERE correlation_id > 0 AND domain = 'hip' AND name LIKE 'hipMemcpy%'
    GROUP BY ALL
), small AS (
    SELECT c.*, CASE WHEN direction = 'host_to_device' THEN dst_agent_id ELSE src_agent_id END
           AS gpu_id
    FROM copies c JOIN runs r USING (run_id)
    WHERE r.role = 'timing' AND c.bytes < $small AND c.end_ns > c.start_ns
      AND c.direction IN ('host_to_device', 'device_to_host', 'device_to_device')
), costs AS (
    SELECT s.*, s.end_ns - s.start_ns AS engine_ns,
           CASE WHEN w.from_ns IS NULL OR k.call_ns IS NULL THEN 0 ELSE least($stall, greatest(0,
               s.start_ns - greatest(w.from_ns, k.call_ns))) END AS before_ns,
           least($stall, greatest(0, coalesce(k.back_ns - s.end_ns, 0))) AS after_ns
    FROM small s
    LEFT JOIN reached w ON w.kind = 'copy' AND w.run_id = s.run_id AND w.agent_id = s.gpu_id
        AND w.start_ns = s.start_ns AND w.end_ns = s.end_ns
        AND w.correlation_id IS NOT DISTINCT FROM s.correlation_id
    LEFT JOIN calls k ON k.run_id = s.run_id AND k.correlation_id = s.correlation_id
)
SELECT run_id, direction, src_agent_id, dst_agent_id, count(*) AS copies,
       sum(bytes)::BIGINT AS bytes, sum(engine_ns)::BIGINT AS engine_ns,
       sum(engine_ns + before_ns + after_ns)::BIGINT AS cost_ns
FROM costs GROUP BY ALL ORDER BY cost_ns DESC, run_id, direction, src_agent_id, dst_agent_id
"""
)
SIZES = """
SELECT bytes, count(*) AS copies, median(end_ns - start_ns)::BIGINT AS median_ns
FROM copies WHERE run_id = $run_id AND direction = $direction AND bytes < $small
  AND src_agent_id IS NOT DISTINCT FROM $src AND dst_agent_id IS NOT DISTINCT FROM $dst
GROUP BY ALL ORDER BY copies DESC, bytes LIMIT 20
"""


@dataclass(frozen=True)
class SmallOptions(rocperf.Options):
    """Options of `SmallCopies`."""

    small: int = option(
        1 << 16,
        help="Size below which a copy costs its latency, not its bytes; a choice.",
        unit="B",
        minimum=1,
    )
    min_copies: int = option(
        8, help="Copies of a direction from which they are many; ours.", minimum=2
    )
    min_share: float = option(
        0.02, help="Leave out savings below this share of wall time; ours.", minimum=0, maximum=1
    )


class SmallCopies(rocperf.Analysis[SmallOptions]):
    """Find small copies that cost their latency each, where one copy of all would cost it once."""

    id = "small-copies"
    title = "Many small copies"
    requires = Requires(tables=("copies",), columns=("copies.bytes",))

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield one finding a direction and pair of agents."""
        timeline.need_timing(profile)
        rows = profile.sql(
            SMALL, {"small": self.options.small, "stall": timeline.STALL_NS}
        ).to_dicts()
        several = len({row["run_id"] for row in rows}) > 1
        wall = profile.wall_ns or 0
        for row in rows:
            count = row["copies"]
            saves = min(round(row["cost_ns"] * (1 - 1 / count)), wall)
            if count >= self.options.min_copies and saves >= self.options.min_share * wall:
                yield self._finding(row, saves, several=several)

    def _finding(self, row: dict[str, Any], saves: int, *, several: bool) -> Finding:
        count = row["copies"]
        mean, each = row["bytes"] / count, row["cost_ns"] / count
        params = {key: row[key] for key in ("run_id", "direction")}
        ends = {"src": row["src_agent_id"], "dst": row["dst_agent_id"]}
        return Finding(
            rule="small-copies/latency",
            subject=subject(row, several=several),
            title=f"{count:,} copies of {mean:,.0f} B (mean) from {WORDS[row['direction']]} cost "
            f"{timeline.lasting(each)} each, most of it latency",
            advice="Gather the pieces in one pinned buffer and copy it once; pass small "
            "parameters as kernel arguments; leave results on the GPU until they are needed.",
            saves_ns=saves,
            reasoning=f"One copy of all {row['bytes']:,} bytes would cost its latency once; "
            "copies that run beside kernels cost less than they take.",
            confidence="medium",
            doubts=("whether the pieces are ready at the same time is not known",),
            evidence=(
                Measure("copies", count, "", limit=self.options.min_copies),
                Measure("time of the copies alone", row["engine_ns"] / 1e6, "ms"),
                Measure("with the waits around them", row["cost_ns"] / 1e6, "ms"),
                Query("sizes", SIZES, {**params, **ends, "small": self.options.small}),
            ),
        )


@rocperf.hookimpl
def rocperf_analyses() -> list[type[SmallCopies]]:
    """Register the analysis."""
    return [SmallCopies]
