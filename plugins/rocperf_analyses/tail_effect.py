"""Whether compute units run out of work while others still have some."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import rocperf
from rocperf import Finding, Measure, Query, Requires, Subject, option
from rocperf_analyses.kernel_bounds import Values
from rocperf_analyses.kernel_times import KernelTime, judged, kernel_times, saving

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile

DECIDING = ("busy-cus",)
HELPING = ("wave-occupancy",)
#: Compute units that get a workgroup at all, %, of the launch with the smallest grid. Workgroups
#: go round the dies in turn: where their number is no multiple, some dies get one more.
REACHED = """
SELECT kernel_id, min(least(100.0, 100.0 * groups / cu_count)) AS reached,
       min(groups)::BIGINT AS groups, any_value(cu_count) AS units
FROM (SELECT d.kernel_id, a.cu_count, ceil(d.grid_size / d.workgroup_size) AS groups
      FROM all_dispatches d JOIN agents a USING (run_id, agent_id)
      WHERE list_contains($kernels, d.kernel_id) AND d.grid_size > 0 AND d.workgroup_size > 0
        AND a.cu_count > 0)
GROUP BY kernel_id
"""
EVIDENCE = """
SELECT counter, sum(value) AS total, count(*) AS dispatches FROM counters
WHERE kernel_id = $kernel_id AND counter IN ('SQ_BUSY_CU_CYCLES', 'GRBM_GUI_ACTIVE',
    'SQ_WAVE_CYCLES')
GROUP BY counter ORDER BY counter
"""


@dataclass(frozen=True)
class TailOptions(rocperf.Options):
    """Options of `TailEffect`."""

    min_share: float = option(
        0.01, help="Leave out kernels below this share of kernel time; ours.", minimum=0, maximum=1
    )
    busy: float = option(
        80.0,
        help="Part of the time in which compute units hold a wave below which a kernel is "
        "reported; ours.",
        unit="%",
        minimum=0,
        maximum=100,
    )
    beyond: float = option(
        15.0,
        help="How far below what the size of the grid explains that has to be; ours.",
        unit="points",
        minimum=0,
        maximum=100,
    )


class TailEffect(rocperf.Analysis[TailOptions]):
    """Find kernels whose compute units stand empty for a part of the time, by measurement.

    What occupancy says from the size of the grid (too few workgroups, a last round that is
    nearly empty) is not said again: only what a grid that is large enough does not explain.
    """

    id = "tail-effect"
    title = "Compute units without work"
    requires = Requires(tables=("dispatches",), metrics=DECIDING, optional=HELPING)

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield one finding a kernel."""
        kernels = kernel_times(profile, self.options.min_share)
        rows = profile.sql(REACHED, {"kernels": list(kernels)}).iter_rows()
        grids = {kernel: (reached, groups, units) for kernel, reached, groups, units in rows}
        for kernel_id, values in judged(profile, DECIDING, HELPING, kernels).items():
            busy = values.get("busy-cus")
            if busy is None or kernel_id not in grids or busy["value"] >= self.options.busy:
                continue
            reached, groups, units = grids[kernel_id]
            if reached - busy["value"] >= self.options.beyond:
                yield self._finding(profile, kernels[kernel_id], values, reached, (groups, units))

    def _finding(
        self,
        profile: Profile,
        kernel: KernelTime,
        values: Values,
        reached: float,
        grid: tuple[int, int],
    ) -> Finding:
        busy = values["busy-cus"]["value"]
        measures = [
            Measure("time in which a compute unit holds a wave", busy, "%",
                    limit=self.options.busy),
            Measure("compute units that get a workgroup", reached, "%"),
        ]  # fmt: skip
        if "wave-occupancy" in values:
            measures.append(Measure("achieved occupancy", values["wave-occupancy"]["value"], "%"))
        return Finding(
            rule="tail-effect/uneven",
            subject=Subject("kernel", kernel.name, {"kernel_id": kernel.kernel_id}),
            title=f"{kernel.name}: compute units hold waves {busy:.0f} % of the time, though "
            f"{grid[0]:,} workgroups reach {reached:.0f} % of {grid[1]}",
            advice="Let all end together: smaller workgroups or tiles, the longest work first, or "
            "as many workgroups as fit at once that take the next piece with an atomic counter.",
            saves_ns=saving(profile, kernel.total_ns, 1 - busy / reached),
            reasoning=f"Were the compute units that get work at work all the time, the same work "
            f"takes {100 * busy / reached:.1f} % of the time.",
            confidence="medium",
            doubts=("work that ends unevenly and a nearly empty last round look the same",),
            evidence=(*measures, Query("counters", EVIDENCE, {"kernel_id": kernel.kernel_id})),
            symptom=True,
        )


@rocperf.hookimpl
def rocperf_analyses() -> list[type[TailEffect]]:
    """Register the analysis."""
    return [TailEffect]
