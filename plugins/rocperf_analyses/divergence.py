"""Whether vector instructions run with idle lanes."""

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

DECIDING = ("active-lanes",)
HELPING = ("valu-utilisation",)
#: Lanes of a wave on every GPU that counts active ones.
LANES = 64
#: Lanes that the workgroup itself fills: its last wave has what is left. Launches of one wave or
#: less are too small to matter here.
FILLED = """
SELECT kernel_id, sum(grid_size)::DOUBLE * 64 /
       sum(ceil(workgroup_size / 64) * 64 * ceil(grid_size / workgroup_size)) AS lanes
FROM all_dispatches
WHERE list_contains($kernels, kernel_id) AND workgroup_size > 0 AND grid_size > 64
GROUP BY kernel_id
"""
EVIDENCE = """
SELECT counter, sum(value) AS total, count(*) AS dispatches FROM counters
WHERE kernel_id = $kernel_id AND counter IN ('SQ_THREAD_CYCLES_VALU', 'SQ_ACTIVE_INST_VALU',
    'GRBM_GUI_ACTIVE')
GROUP BY counter ORDER BY counter
"""
ADVICE = {
    "partial": "Make the workgroup a multiple of 64 work-items: dim3 block(64) or (256), with the "
    "rest of the work in a loop.",
    "branches": "Let neighbouring lanes take the same branch: sort or bin the work first, turn "
    "short branches into selects (a ? b : c), and give loops of uneven length to whole waves "
    "(ballot and __popcll, or one wave for each row) instead of single lanes.",
}


@dataclass(frozen=True)
class DivergenceOptions(rocperf.Options):
    """Options of `Divergence`."""

    min_share: float = option(
        0.01, help="Leave out kernels below this share of kernel time; ours.", minimum=0, maximum=1
    )
    min_lanes: float = option(
        48.0,
        help="Active lanes of 64 below which a kernel is reported; ours.",
        unit="lanes",
        minimum=1,
        maximum=64,
    )
    partial: float = option(
        0.9,
        help="Part of the idle lanes from which unfilled waves explain them; ours.",
        minimum=0,
        maximum=1,
    )


class Divergence(rocperf.Analysis[DivergenceOptions]):
    """Find kernels whose vector instructions leave lanes idle: branches, or unfilled waves.

    The workgroup tells how many lanes can be active at all, so that the two are told apart.
    """

    id = "divergence"
    title = "Divergence"
    requires = Requires(tables=("dispatches",), metrics=DECIDING, optional=HELPING)

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield one finding a kernel."""
        kernels = kernel_times(profile, self.options.min_share)
        filled = dict(profile.sql(FILLED, {"kernels": list(kernels)}).iter_rows())
        for kernel_id, values in judged(profile, DECIDING, HELPING, kernels).items():
            lanes = values.get("active-lanes")
            if lanes is None or lanes["value"] >= self.options.min_lanes:
                continue
            if kernel_id in filled:
                yield self._finding(profile, kernels[kernel_id], values, filled[kernel_id])

    def _finding(
        self, profile: Profile, kernel: KernelTime, values: Values, filled: float
    ) -> Finding:
        lanes, busy = values["active-lanes"]["value"], values.get("valu-utilisation")
        partial = LANES - filled >= self.options.partial * (LANES - lanes)
        rule = "partial" if partial else "branches"
        idle = 1 - lanes / LANES
        part = idle * busy["value"] / 100 if busy is not None else idle
        why = f"its workgroups fill {filled:.3g} of 64 lanes" if partial else "its lanes diverge"
        doubts = [str(values["active-lanes"]["reason"])] if values["active-lanes"]["reason"] else []
        if busy is None:
            doubts.insert(0, "how much of the time the vector ALUs work is not known")
        measures = [
            Measure("active lanes", lanes, "lanes", limit=self.options.min_lanes),
            Measure("lanes that the workgroups fill", filled, "lanes"),
        ]
        if busy is not None:
            measures.append(Measure("vector ALU utilisation", busy["value"], "%"))
        worked = (
            f"{busy['value']:.1f} % of the time" if busy is not None else "at most all the time"
        )
        return Finding(
            rule=f"divergence/{rule}",
            subject=Subject("kernel", kernel.name, {"kernel_id": kernel.kernel_id}),
            title=f"{kernel.name}: {lanes:.1f} of 64 lanes work in a vector instruction; {why}",
            advice=ADVICE[rule],
            saves_ns=saving(profile, kernel.total_ns, part),
            reasoning=f"With all lanes at work {100 * idle:.1f} % of the vector instructions could "
            f"go; they take {worked}.",
            confidence="low" if busy is None else "medium" if doubts else "high",
            doubts=tuple(doubts),
            evidence=(*measures, Query("counters", EVIDENCE, {"kernel_id": kernel.kernel_id})),
        )


@rocperf.hookimpl
def rocperf_analyses() -> list[type[Divergence]]:
    """Register the analysis."""
    return [Divergence]
