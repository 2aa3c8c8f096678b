"""How much of a program that uses graphs is launched by them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import rocperf
from rocperf import Finding, Measure, Query, Requires, Subject, option
from rocperf_analyses import timeline

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile

#: By run: kernels that a graph launched, kernels that a call of their own did, and calls that
#: make graphs. A launch that was not recorded counts for neither.
COVERAGE = """
WITH launched AS (
    SELECT run_id, correlation_id, bool_or(starts_with(name, 'hipGraphLaunch')) AS graph
    FROM api_calls WHERE domain = 'hip' AND correlation_id > 0 AND name LIKE '%Launch%'
    GROUP BY ALL
), kernels_of AS (
    SELECT d.run_id, count(*) FILTER (graph) AS inside, count(*) FILTER (NOT graph) AS outside,
           coalesce(sum(d.end_ns - d.start_ns) FILTER (NOT graph), 0)::BIGINT AS outside_ns
    FROM dispatches d JOIN launched USING (run_id, correlation_id)
    WHERE NOT d.serialised AND d.end_ns >= d.start_ns GROUP BY ALL
), calls AS (
    SELECT a.run_id, count(*) FILTER (starts_with(name, 'hipGraphLaunch')) AS launches,
           count(*) FILTER (starts_with(name, 'hipGraphInstantiate')) AS made,
           coalesce(sum(a.end_ns - a.start_ns) FILTER (starts_with(name, 'hipGraphInstantiate')),
               0)::BIGINT AS made_ns,
           coalesce(max(a.end_ns - a.start_ns) FILTER (starts_with(name, 'hipGraphInstantiate')),
               0)::BIGINT AS longest_ns
    FROM api_calls a JOIN runs r USING (run_id)
    WHERE r.role = 'timing' AND a.domain = 'hip' AND starts_with(a.name, 'hipGraph')
    GROUP BY ALL
)
SELECT run_id, launches, made, made_ns, longest_ns, coalesce(inside, 0) AS inside,
       coalesce(outside, 0) AS outside, coalesce(outside_ns, 0) AS outside_ns
FROM calls LEFT JOIN kernels_of USING (run_id) WHERE launches > 0 OR made > 1
ORDER BY run_id
"""
OUTSIDE = """
SELECT k.short_name, count(*) AS launches, sum(d.end_ns - d.start_ns)::BIGINT AS total_ns
FROM dispatches d JOIN kernels k USING (kernel_id)
JOIN (SELECT DISTINCT run_id, correlation_id FROM api_calls WHERE domain = 'hip'
      AND correlation_id > 0 AND name LIKE '%Launch%' AND NOT starts_with(name, 'hipGraphLaunch'))
    USING (run_id, correlation_id)
WHERE d.run_id = $run_id GROUP BY ALL ORDER BY launches DESC, k.short_name LIMIT 20
"""


@dataclass(frozen=True)
class GraphOptions(rocperf.Options):
    """Options of `GraphCoverage`."""

    max_outside: float = option(
        0.2,
        help="Share of kernels outside of graphs up to which a graph holds the step; ours.",
        minimum=0,
        maximum=1,
    )
    min_share: float = option(
        0.02,
        help="Leave out graphs made again below this share of wall time; ours.",
        minimum=0,
        maximum=1,
    )


class GraphCoverage(rocperf.Analysis[GraphOptions]):
    """Say how many kernels a program launches beside its graphs, and whether it makes them anew.

    A program without graphs is none of its business: `tiny-kernels` says where one would help.
    """

    id = "graph-coverage"
    title = "Kernels launched by graphs"
    requires = Requires(tables=("dispatches", "api_calls"))

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield at most one finding about coverage and one about making graphs anew."""
        timeline.need_timing(profile)
        rows, wall = profile.sql(COVERAGE).to_dicts(), profile.wall_ns or 0
        uncovered = [row for row in rows if row["launches"] and self._outside(row)]
        if uncovered:
            yield _coverage(max(uncovered, key=lambda row: int(row["outside"])), len(uncovered))
        made = [row for row in rows if _again_ns(row) >= max(1, self.options.min_share * wall)]
        if made:
            yield _made_again(max(made, key=_again_ns), len(made), wall)

    def _outside(self, row: dict[str, Any]) -> bool:
        total, outside = int(row["inside"] + row["outside"]), int(row["outside"])
        return row["inside"] > 0 and outside > self.options.max_outside * total


def _coverage(row: dict[str, Any], count: int) -> Finding:
    total = row["inside"] + row["outside"]
    return Finding(
        rule="graph-coverage/outside",
        subject=Subject("process", f"run {row['run_id']}", {"run_id": row["run_id"]}),
        title=f"{row['outside']:,} of {total:,} kernels are launched beside the graphs, one call "
        f"each{timeline.worst_of(count)}",
        advice="Capture them, too: keep shapes fixed, move allocation and host reads out of the "
        "captured part, and let hipGraphExecKernelNodeSetParams change what differs.",
        saves_ns=None,
        reasoning="What their launches cost, tiny-kernels and launch-gaps say.",
        evidence=(
            Measure("kernels of graphs", 100 * row["inside"] / total, "%"),
            Measure("launches of graphs", row["launches"], ""),
            Query("kernels outside", OUTSIDE, {"run_id": row["run_id"]}),
        ),
    )


def _again_ns(row: dict[str, Any]) -> int:
    """Time of making graphs beyond the longest one, which has to be."""
    return int(row["made_ns"] - row["longest_ns"])


def _made_again(row: dict[str, Any], count: int, wall: int) -> Finding:
    return Finding(
        rule="graph-coverage/instantiate",
        subject=Subject("process", f"run {row['run_id']}", {"run_id": row["run_id"]}),
        title=f"Graphs are instantiated {row['made']:,} times for {row['launches']:,} launches, "
        f"{timeline.lasting(row['made_ns'])} in all{timeline.worst_of(count)}",
        advice="Instantiate once and launch often; where parameters change, use "
        "hipGraphExecUpdate or hipGraphExecKernelNodeSetParams instead of a new graph.",
        saves_ns=min(_again_ns(row), wall),
        reasoning="The time of all instantiations but the longest.",
        confidence="medium",
        doubts=("different graphs cannot be told from one made again",),
        evidence=(
            Measure("instantiations", row["made"], ""),
            Query("graphs", COVERAGE),
        ),
    )


@rocperf.hookimpl
def rocperf_analyses() -> list[type[GraphCoverage]]:
    """Register the analysis."""
    return [GraphCoverage]
