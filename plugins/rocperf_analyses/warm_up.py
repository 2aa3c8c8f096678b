"""Whether some launches of a kernel take much longer than the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import rocperf
from rocperf import Finding, Measure, Query, Requires, Subject, option
from rocperf_analyses import timeline

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile

#: Launches of one kernel with one grid on one GPU, held against their median. Of a group the
#: first is warm-up; the rest are compared among themselves, and the last third with the first.
LAUNCHES = """
WITH launches AS (
    SELECT d.run_id, d.agent_id, d.kernel_id, d.grid_size, d.workgroup_size, d.start_ns,
           d.end_ns - d.start_ns AS took_ns,
           row_number() OVER w AS nth, count(*) OVER g AS n
    FROM dispatches d JOIN kernels k USING (kernel_id)
    WHERE NOT d.serialised AND d.end_ns > d.start_ns AND k.role = 'compute'
    WINDOW g AS (PARTITION BY d.run_id, d.agent_id, d.kernel_id, d.grid_size, d.workgroup_size),
           w AS (PARTITION BY d.run_id, d.agent_id, d.kernel_id, d.grid_size, d.workgroup_size
                 ORDER BY d.start_ns)
), medians AS (
    SELECT run_id, agent_id, kernel_id, grid_size, workgroup_size, n,
           median(took_ns) FILTER (nth > 1) AS median_ns,
           median(took_ns) FILTER (nth > 1 AND 3 * nth <= n) AS early_ns,
           median(took_ns) FILTER (3 * nth > 2 * n) AS late_ns
    FROM launches WHERE n >= $min_launches GROUP BY ALL
), judged AS (
    SELECT l.*, m.median_ns, m.early_ns, m.late_ns
    FROM launches l JOIN medians m ON l.run_id = m.run_id AND l.agent_id = m.agent_id
        AND l.kernel_id = m.kernel_id AND l.grid_size IS NOT DISTINCT FROM m.grid_size
        AND l.workgroup_size IS NOT DISTINCT FROM m.workgroup_size
)"""
GROUPS = (
    LAUNCHES
    + """
SELECT j.kernel_id, k.name, count(*) AS launches, max(median_ns)::BIGINT AS median_ns,
       coalesce(sum(took_ns - median_ns) FILTER (nth = 1 AND took_ns >= $times * median_ns), 0)
           ::BIGINT AS first_ns,
       count(*) FILTER (nth > 1 AND took_ns >= $times * median_ns) AS outliers,
       coalesce(sum(took_ns - median_ns) FILTER (nth > 1 AND took_ns >= $times * median_ns), 0)
           ::BIGINT AS outlier_ns,
       max(took_ns) FILTER (nth > 1) AS longest_ns,
       coalesce(sum(greatest(median_ns - early_ns, 0) + if(3 * nth > 2 * n,
           greatest(late_ns - median_ns, 0), 0)) FILTER (late_ns >= $drift * early_ns
           AND 3 * nth > n), 0)::BIGINT AS drift_ns,
       max(late_ns / early_ns) AS drift
FROM judged j JOIN kernels k USING (kernel_id) GROUP BY ALL ORDER BY outlier_ns DESC, k.name
"""
)
SHOW = (
    LAUNCHES
    + """
SELECT run_id, agent_id, grid_size, nth, start_ns, took_ns, median_ns FROM judged
WHERE kernel_id = $kernel_id ORDER BY took_ns / median_ns DESC, start_ns LIMIT 20
"""
)


@dataclass(frozen=True)
class WarmUpOptions(rocperf.Options):
    """Options of `WarmUp`."""

    min_launches: int = option(
        8, help="Launches of a kernel with one grid from which they are compared; ours.", minimum=3
    )
    times: float = option(
        2.0,
        help="Times of the median from which a launch stands out; ours.",
        minimum=1,
    )
    drift: float = option(
        1.1,
        help="Median of the last third over that of the first from which a kernel slows down; "
        "ours.",
        minimum=1,
    )
    min_share: float = option(
        0.02, help="Leave out savings below this share of wall time; ours.", minimum=0, maximum=1
    )


class WarmUp(rocperf.Analysis[WarmUpOptions]):
    """Find launches that take much longer than others of the same kernel and grid.

    The first launch loads code and warms caches; later ones may share the GPU, meet other data or
    a lower clock. A kernel that slows down over the run suggests a clock that drops.
    """

    id = "warm-up"
    title = "First launches, outliers and slowing down"
    requires = Requires(tables=("dispatches",))

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield one finding for all first launches, and one a kernel for the rest."""
        timeline.need_timing(profile)
        options, wall = self.options, profile.wall_ns or 0
        params = {"min_launches": options.min_launches, "times": options.times}
        rows = profile.sql(GROUPS, {**params, "drift": options.drift}).to_dicts()
        floor = max(1.0, options.min_share * wall)
        first = sum(row["first_ns"] for row in rows)
        if first >= floor:
            yield self._first(rows, min(first, wall))
        for row in rows:
            if row["outlier_ns"] >= floor:
                yield self._outliers(row, min(row["outlier_ns"], wall))
            elif row["drift_ns"] >= floor:
                yield self._drift(row, min(row["drift_ns"], wall))

    def _first(self, rows: list[dict[str, Any]], saves: int) -> Finding:
        slow = [row for row in rows if row["first_ns"]]
        worst = max(slow, key=lambda row: int(row["first_ns"]))
        return Finding(
            rule="warm-up/first",
            subject=Subject("profile", "first launches"),
            title=f"First launches take {timeline.lasting(saves)} more than the median of the "
            f"rest, most of all of {worst['name']}",
            advice="Leave them out when you measure; when they matter, warm up once: launch on "
            "small data, load modules early, and touch memory before the timed part.",
            saves_ns=saves,
            reasoning="What the first launches take beyond the median.",
            evidence=(
                *(
                    Measure(f"{row['name']}: beyond its median", row["first_ns"] / 1e6, "ms")
                    for row in slow[:3]
                ),
                self._query(worst),
            ),
        )

    def _outliers(self, row: dict[str, Any], saves: int) -> Finding:
        return Finding(
            rule="warm-up/outliers",
            subject=Subject("kernel", row["name"], {"kernel_id": row["kernel_id"]}),
            title=f"{row['name']}: {row['outliers']:,} of {row['launches']:,} launches take "
            f"{self.options.times:g} times the median or more, {timeline.lasting(saves)} in all",
            advice="Look at when they happen: beside another kernel or a copy, on other data, or "
            "after an idle time. Fix the clock (rocm-smi --setperfdeterminism) to rule it out.",
            saves_ns=saves,
            reasoning="What these launches take beyond the median of equal ones.",
            confidence="medium",
            doubts=("launches of one grid may differ in their data",),
            evidence=(
                Measure("median", row["median_ns"] / 1000, "µs"),
                Measure("longest", row["longest_ns"] / 1000, "µs"),
                self._query(row),
            ),
        )

    def _drift(self, row: dict[str, Any], saves: int) -> Finding:
        return Finding(
            rule="warm-up/slowing",
            subject=Subject("kernel", row["name"], {"kernel_id": row["kernel_id"]}),
            title=f"{row['name']}: its last launches take {row['drift']:.2f} times what the first "
            "ones did",
            advice="Watch clock and temperature (amd-smi metric) beside the run: a power or heat "
            "limit lowers the clock; if it holds, the data grow.",
            saves_ns=saves,
            reasoning="What later launches take beyond the median of the first third.",
            confidence="low",
            doubts=("clocks were not recorded", "launches of one grid may differ in their data"),
            evidence=(
                Measure("last third over first", row["drift"], "", limit=self.options.drift),
                self._query(row),
            ),
        )

    def _query(self, row: dict[str, Any]) -> Query:
        params = {"kernel_id": row["kernel_id"], "min_launches": self.options.min_launches}
        return Query("slowest launches", SHOW, params)


@rocperf.hookimpl
def rocperf_analyses() -> list[type[WarmUp]]:
    """Register the analysis."""
    return [WarmUp]
