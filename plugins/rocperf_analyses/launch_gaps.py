"""Why a GPU idles between its kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import rocperf
from rocperf import Confidence, Finding, Measure, Query, Requires, Subject, option
from rocperf_analyses import timeline
from rocperf_analyses.timeline import Idle, Work

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile

LONGEST = """
SELECT run_id, agent_id, cause, from_ns, to_ns - from_ns AS idle_ns, host AS host_ns,
       sync AS waiting_ns, alloc AS allocating_ns, copying AS copying_ns, loaded AS loading_ns,
       made AS making_graphs_ns
FROM caused WHERE run_id = $run_id AND agent_id = $agent_id AND cause = $cause
ORDER BY idle_ns DESC, from_ns LIMIT 20
"""
#: The longest process: the time before its first kernel, and after its last one.
OUTSIDE = """
WITH longest AS (
    SELECT run_id, start_ns, end_ns FROM runs
    WHERE role = 'timing' AND start_ns IS NOT NULL AND end_ns IS NOT NULL
    ORDER BY end_ns - start_ns DESC, run_id LIMIT 1
), work AS (
    SELECT d.run_id, min(d.start_ns) AS first_ns, max(d.end_ns) AS last_ns
    FROM dispatches d JOIN kernels k USING (kernel_id)
    WHERE d.end_ns > d.start_ns AND k.role NOT IN ('copy', 'fill') GROUP BY ALL
)
SELECT run_id, end_ns - start_ns AS wall_ns, first_ns - start_ns AS before_ns,
       end_ns - last_ns AS after_ns
FROM longest JOIN work USING (run_id)
"""
#: What each cause means and what to do about it.
SAYS = {
    "host": (
        "while the host works between launches",
        "Launch ahead: prepare the next step while the GPU works, move host work to another "
        "thread, or capture the steps in a hipGraph and launch that.",
    ),
    "load": (
        "while the host loads code",
        "Load modules and instantiate graphs before the loop, and keep a cache of compiled "
        "kernels (for PyTorch and Triton, warm up first).",
    ),
    "queued": (
        "with the next launch already given",
        "Let work that does not depend on another wait less: fewer hipStreamWaitEvent and events "
        "between streams, no barrier packets, fewer kernels in a chain.",
    ),
    "unknown": (
        "for a reason that was not recorded",
        "Record the calls of the host, too, to see what it does meanwhile: rocprofv3 "
        "--hip-runtime-trace, which rocperf collect asks for.",
    ),
    "launch": (
        "in gaps as short as a launch",
        "Fuse neighbouring kernels, or capture them in a hipGraph, which launches them without "
        "the host.",
    ),
}


@dataclass(frozen=True)
class GapOptions(rocperf.Options):
    """Options of `LaunchGaps`."""

    min_share: float = option(
        0.02,
        help="Leave out idle time below this share of wall time; ours: nobody acts below.",
        minimum=0,
        maximum=1,
    )
    outside: float = option(
        0.5,
        help="Share of wall time before the first and after the last kernel from which it is told; "
        "ours.",
        minimum=0,
        maximum=1,
    )


class LaunchGaps(rocperf.Analysis[GapOptions]):
    """Find idle time between kernels and say what the host did meanwhile.

    Idle is between a GPU's first and last kernel, where neither a kernel nor a copy runs; where
    most of the wall time lies outside of that, it says so. Gaps of
    waiting and of allocating are told by `sync-stalls` and `allocation-churn`, those of tiny
    kernels by `tiny-kernels`, so that each nanosecond is reported once.
    """

    id = "launch-gaps"
    title = "Idle time between kernels"
    requires = Requires(tables=("dispatches",))

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield one finding a cause, about the GPU that idles longest for it."""
        timeline.need_timing(profile)
        rows = timeline.idle(profile)
        gpus = timeline.work(profile)
        for cause in SAYS:
            found = [(each, picked) for each in gpus if (picked := _of(each, rows, cause))]
            if not found:
                continue
            worst, picked = max(found, key=lambda pair: sum(row.idle_ns for row in pair[1]))
            idle_ns = min(sum(row.idle_ns for row in picked), profile.wall_ns or 0)
            if idle_ns and idle_ns >= self.options.min_share * (profile.wall_ns or 0):
                yield self._finding(profile, cause, worst, picked, rows, idle_ns, len(found))
        if profile.region is None:
            yield from self._outside(profile)

    def _outside(self, profile: Profile) -> Iterator[Finding]:
        """Yield a finding where most of the wall time is not between kernels at all."""
        for row in profile.sql(OUTSIDE).to_dicts():
            before, after = max(0, row["before_ns"]), max(0, row["after_ns"])
            if before + after < self.options.outside * row["wall_ns"]:
                continue
            yield Finding(
                rule="launch-gaps/outside",
                subject=Subject("process", f"run {row['run_id']}", {"run_id": row["run_id"]}),
                title=f"{100 * (before + after) / row['wall_ns']:.0f} % of the wall time lies "
                f"before the first kernel ({timeline.lasting(before)}) or after the last "
                f"({timeline.lasting(after)})",
                advice="To judge the loop, mark it with a roctx range and look inside: rocperf "
                "analyze --region; to judge the start, run longer or profile the host.",
                saves_ns=None,
                reasoning="Starting, loading and compiling are work of the host that a profile of "
                "the GPU does not explain.",
                evidence=(
                    Measure("before the first kernel", before / 1e6, "ms"),
                    Measure("after the last", after / 1e6, "ms"),
                    Query("first and last", OUTSIDE),
                ),
            )

    def _finding(
        self,
        profile: Profile,
        cause: str,
        gpu: Work,
        picked: Sequence[Idle],
        rows: Sequence[Idle],
        idle_ns: int,
        count: int,
    ) -> Finding:
        what, advice = SAYS[cause]
        gaps = sum(row.gaps for row in picked)
        shown = max(picked, key=lambda row: row.idle_ns).cause
        params = timeline.gaps_params(profile, **timeline.keys(gpu), cause=shown)
        sql = timeline.gaps_sql(profile, timeline.CAUSES + LONGEST)
        confidence: Confidence = (
            "low" if cause == "unknown" else "medium" if cause == "queued" else "high"
        )
        return Finding(
            rule=f"launch-gaps/{cause}",
            subject=Subject("gpu", timeline.gpu_name(gpu, several=count > 1), timeline.keys(gpu)),
            title=f"The GPU idles {timeline.lasting(idle_ns)} in {gaps:,} "
            f"gap{'s' if gaps > 1 else ''} {what}{timeline.worst_of(count)}",
            advice=advice,
            # Of gaps without a known cause nobody can say that they need not be.
            saves_ns=None if cause == "unknown" else idle_ns,
            reasoning=f"Of the {timeline.lasting(gpu.span_ns)} from first to last kernel the "
            f"GPU idles {100 * _idle_share(gpu, rows):.1f} %; "
            + (
                "what of it could go nobody can tell without the cause."
                if cause == "unknown"
                else "without these gaps at most their time goes."
            ),
            confidence=confidence,
            doubts=("what the host did in these gaps was not recorded",)
            if cause == "unknown"
            else (),
            evidence=(
                Measure("idle of the time from first to last kernel",
                        100 * _idle_share(gpu, rows), "%"),
                Measure("longest gap", max(row.longest_ns for row in picked) / 1000, "µs",
                        limit=timeline.NORMAL_NS / 1000),
                *_others(gpu, rows),
                Query("longest gaps", sql, params),
            ),
            command=profile.command_for(self.id) if cause == "unknown" else None,
        )  # fmt: skip


def _of(gpu: Work, rows: Sequence[Idle], cause: str) -> list[Idle]:
    """Pick the gaps that this analysis tells of, short ones apart unless `tiny-kernels` does."""
    if cause == "load":  # a graph made once; made anew, graph-coverage tells
        made = timeline.of(gpu, rows, "graph", brief=False)
        once = made if sum(row.gaps for row in made) == 1 else []
        return timeline.of(gpu, rows, cause, brief=False) + once
    if cause != "launch":
        return timeline.of(gpu, rows, cause, brief=False)
    if timeline.launch_bound(gpu, rows):
        return []
    return timeline.of(gpu, rows, "host", "queued", "unknown", brief=True)


def _idle_share(gpu: Work, rows: Sequence[Idle]) -> float:
    idle = sum(row.idle_ns for row in rows if (row.run_id, row.agent_id) == gpu.key)
    return idle / gpu.span_ns if gpu.span_ns else 0.0


def _others(gpu: Work, rows: Sequence[Idle]) -> Iterator[Measure]:
    """Yield what every cause takes on this GPU."""
    for cause in dict.fromkeys(row.cause for row in rows):
        idle = sum(row.idle_ns for row in timeline.of(gpu, rows, cause))
        if idle:
            yield Measure(f"idle, cause {cause}", idle / 1e6, "ms")


@rocperf.hookimpl
def rocperf_analyses() -> list[type[LaunchGaps]]:
    """Register the analysis."""
    return [LaunchGaps]
