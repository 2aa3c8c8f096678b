"""Whether copies could hide behind kernels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import rocperf
from rocperf import Finding, Measure, Query, Requires, Subject, option
from rocperf_analyses import timeline

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile

#: By GPU: time with a copy, with a kernel, and with either, each counted once.
OVERLAP = (
    timeline.SPANS
    + """, reached AS (
    SELECT *, max(end_ns) OVER w AS any_ns,
           max(CASE WHEN kind = 'copy' THEN end_ns END) OVER w AS copy_ns,
           max(CASE WHEN kind <> 'copy' THEN end_ns END) OVER w AS work_ns
    FROM spans WINDOW w AS (PARTITION BY run_id, agent_id ORDER BY start_ns, end_ns
                            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), sums AS (
    SELECT run_id, agent_id, max(end_ns) - min(start_ns) AS span_ns,
           count(*) FILTER (kind = 'copy') AS copies,
           count(DISTINCT nullif(correlation_id, 0)) FILTER (kind = 'copy')
               + count(*) FILTER (kind = 'copy' AND coalesce(correlation_id, 0) = 0) AS calls,
           sum(greatest(0, end_ns - greatest(start_ns, coalesce(any_ns, start_ns))))::BIGINT
               AS either_ns,
           sum(CASE WHEN kind = 'copy' THEN
               greatest(0, end_ns - greatest(start_ns, coalesce(copy_ns, start_ns))) ELSE 0 END
           )::BIGINT AS copies_ns,
           sum(CASE WHEN kind <> 'copy' THEN
               greatest(0, end_ns - greatest(start_ns, coalesce(work_ns, start_ns))) ELSE 0 END
           )::BIGINT AS kernels_ns
    FROM reached GROUP BY ALL
)
SELECT *, copies_ns + kernels_ns - either_ns AS both_ns, either_ns - kernels_ns AS exposed_ns
FROM sums ORDER BY exposed_ns DESC, run_id, agent_id
"""
)


@dataclass(frozen=True)
class OverlapOptions(rocperf.Options):
    """Options of `CopyOverlap`."""

    min_exposed: float = option(
        0.1,
        help="Share of the time from first to last copy or kernel that copies must run alone; a "
        "choice.",
        minimum=0,
        maximum=1,
    )
    max_overlap: float = option(
        0.2,
        help="Share of the copies' time beside kernels from which they count as hidden; a choice.",
        minimum=0,
        maximum=1,
    )
    min_calls: int = option(
        4,
        help="Calls that copy from which kernels could hide them; ours: fewer bring the input and "
        "fetch the result.",
        minimum=1,
    )
    min_share: float = option(
        0.02, help="Leave out savings below this share of wall time; ours.", minimum=0, maximum=1
    )


class CopyOverlap(rocperf.Analysis[OverlapOptions]):
    """Find GPUs whose copies run while no kernel does, though kernels could run beside them."""

    id = "copy-overlap"
    title = "Copies beside kernels"
    requires = Requires(tables=("dispatches", "copies"))

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield one finding, about the GPU that could save most."""
        timeline.need_timing(profile)
        rows = profile.sql(OVERLAP).to_dicts()
        wall = profile.wall_ns or 0
        found = [row for row in rows if self._exposed(row)]
        worst = max(found, key=_saves, default=None)
        if worst is None or _saves(worst) < self.options.min_share * wall:
            return
        alike = timeline.worst_of(len(found))
        share, hidden = worst["exposed_ns"], worst["both_ns"] / worst["copies_ns"]
        keys = {"run_id": worst["run_id"], "agent_id": worst["agent_id"]}
        name = f"GPU agent {worst['agent_id']}"
        name += f", run {worst['run_id']}" if len(found) > 1 else ""
        yield Finding(
            rule="copy-overlap/exposed",
            subject=Subject("gpu", name, keys),
            title=f"{worst['copies']:,} copies take {timeline.lasting(worst['copies_ns'])}, "
            f"{100 * hidden:.0f} % of it beside kernels{alike}",
            advice="Copy on a stream of its own with hipMemcpyAsync from pinned memory while "
            "kernels work on the piece before: two buffers, and an event between copy and use.",
            saves_ns=min(_saves(worst), wall),
            reasoning=f"For {timeline.lasting(share)} copies run alone, for "
            f"{timeline.lasting(worst['kernels_ns'] - worst['both_ns'])} kernels do; at best the "
            "shorter hides behind the longer.",
            confidence="medium",
            doubts=("whether the kernels depend on the copies is not recorded",),
            evidence=(
                Measure("copies' time beside kernels", 100 * hidden, "%",
                        limit=100 * self.options.max_overlap),
                Measure("copies alone", share / 1e6, "ms"),
                Measure("kernels alone", (worst["kernels_ns"] - worst["both_ns"]) / 1e6, "ms"),
                Query("copies and kernels by GPU", OVERLAP),
            ),
        )  # fmt: skip

    def _exposed(self, row: dict[str, Any]) -> bool:
        if row["calls"] < self.options.min_calls or _saves(row) <= 0:
            return False
        exposed, hidden = int(row["exposed_ns"]), int(row["both_ns"])
        alone = exposed > self.options.min_exposed * row["span_ns"]
        return alone and hidden < self.options.max_overlap * int(row["copies_ns"])


def _saves(row: dict[str, Any]) -> int:
    return int(min(row["exposed_ns"], row["kernels_ns"] - row["both_ns"]))


@rocperf.hookimpl
def rocperf_analyses() -> list[type[CopyOverlap]]:
    """Register the analysis."""
    return [CopyOverlap]
