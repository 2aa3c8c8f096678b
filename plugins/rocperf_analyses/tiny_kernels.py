"""Whether kernels are so short that launching them costs as much as they do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import rocperf
from rocperf import Finding, Measure, Query, Requires, Subject, option
from rocperf_analyses import timeline

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile

SHORTEST = """
SELECT k.short_name, count(*) AS launches, median(d.end_ns - d.start_ns)::BIGINT AS median_ns,
       sum(d.end_ns - d.start_ns)::BIGINT AS total_ns
FROM dispatches d JOIN kernels k USING (kernel_id)
WHERE d.run_id = $run_id AND d.agent_id = $agent_id AND d.end_ns > d.start_ns
GROUP BY ALL HAVING median_ns < $median_ns ORDER BY launches DESC, k.short_name LIMIT 20
"""


@dataclass(frozen=True)
class TinyOptions(rocperf.Options):
    """Options of `TinyKernels`."""

    median_us: float = option(
        10.0,
        help="Median duration below which kernels are tiny; a choice: a launch takes 2 to 10 µs.",
        unit="µs",
        minimum=0,
    )
    idle: float = option(
        0.3,
        help="Share of the time from first to last kernel that the GPU must idle; a choice.",
        minimum=0,
        maximum=1,
    )
    min_share: float = option(
        0.02, help="Leave out savings below this share of wall time; ours.", minimum=0, maximum=1
    )


class TinyKernels(rocperf.Analysis[TinyOptions]):
    """Find GPUs that wait for launches of tiny kernels: to be fused, or put in a graph.

    Counted are gaps as short as a launch; longer ones have causes of their own, which
    `launch-gaps` tells.
    """

    id = "tiny-kernels"
    title = "Kernels shorter than their launch"
    requires = Requires(tables=("dispatches",))

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield one finding, about the GPU that loses most."""
        timeline.need_timing(profile)
        rows, limit_ns = timeline.idle(profile), self.options.median_us * 1000
        bound = [
            each
            for each in timeline.work(profile)
            if timeline.launch_bound(each, rows, median_ns=limit_ns, share=self.options.idle)
        ]
        lost = {
            each: sum(
                row.idle_ns
                for row in timeline.of(each, rows, "host", "queued", "unknown", brief=True)
            )
            for each in bound
        }
        worst = max(lost, key=lambda each: lost[each], default=None)
        wall = profile.wall_ns or 0
        if worst is None or not lost[worst] or lost[worst] < self.options.min_share * wall:
            return
        gaps = timeline.of(worst, rows, "host", "queued", "unknown", brief=True)
        median_us = (worst.median_ns or 0) / 1000
        idle = sum(row.idle_ns for row in rows if (row.run_id, row.agent_id) == worst.key)
        yield Finding(
            rule="tiny-kernels/launch-bound",
            subject=Subject(
                "gpu", timeline.gpu_name(worst, several=len(bound) > 1), timeline.keys(worst)
            ),
            title=f"{worst.kernels:,} kernels of {median_us:.3g} µs (median) wait for their "
            f"launches {timeline.lasting(lost[worst])} in all{timeline.worst_of(len(bound))}",
            advice="Capture the step in a hipGraph (hipStreamBeginCapture, hipGraphLaunch; "
            "torch.compile or torch.cuda.graph in PyTorch), or fuse neighbouring kernels.",
            saves_ns=min(lost[worst], wall),
            reasoning=f"The gaps of {timeline.NORMAL_NS / 1000:g} to "
            f"{timeline.LAUNCH_NS / 1000:g} µs before a kernel: at best none of them is left.",
            confidence="high" if all(row.cause != "unknown" for row in gaps) else "medium",
            doubts=("calls of the host were not recorded, so other causes are not ruled out",)
            if any(row.cause == "unknown" for row in gaps)
            else (),
            evidence=(
                Measure("median kernel", median_us, "µs", limit=self.options.median_us),
                Measure("idle of the time from first to last kernel",
                        100 * idle / worst.span_ns, "%", limit=100 * self.options.idle),
                Measure("gaps", sum(row.gaps for row in gaps), ""),
                Query("tiny kernels", SHORTEST, {**timeline.keys(worst), "median_ns": limit_ns}),
            ),
        )  # fmt: skip


@rocperf.hookimpl
def rocperf_analyses() -> list[type[TinyKernels]]:
    """Register the analysis."""
    return [TinyKernels]
