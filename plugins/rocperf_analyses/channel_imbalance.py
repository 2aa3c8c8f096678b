"""Whether some channels of the L2, or some shader engines, do far more than the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import rocperf
from rocperf import Finding, Measure, Query, Requires, Subject, UnjudgedError, option
from rocperf_analyses.kernel_times import KernelTime, kernel_times, saving

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile

#: By counter: what it is counted of, what is counted, and the rule.
COUNTED = {
    "TCC_REQ": ("L2 channels", "requests", "channels"),
    "TCC_EA0_RDREQ": ("L2 channels", "reads from memory", "memory"),
    "TCC_EA_RDREQ": ("L2 channels", "reads from memory", "memory"),
    "SQ_BUSY_CYCLES": ("shader engines", "cycles with a wave", "engines"),
}
#: One row a kernel and counter. Of a counter that is summed the name has an ending.
SPREAD = """
SELECT kernel_id, counter, count(*) AS instances, max(value) AS most, avg(value) AS mean,
       count(*) FILTER (value > 0) AS used, max(dispatches) AS dispatches
FROM (SELECT d.kernel_id, regexp_replace(i.counter, '_sum$', '') AS counter, i.instance,
             sum(i.value) AS value, count(*) AS dispatches
      FROM counter_instances i JOIN all_dispatches d USING (run_id, dispatch_id)
      WHERE list_contains($kernels, d.kernel_id) GROUP BY ALL)
WHERE list_contains($counters, counter)
GROUP BY kernel_id, counter HAVING count(*) > 1 AND avg(value) > 0
ORDER BY most / mean DESC, kernel_id, counter
"""
EVIDENCE = """
SELECT i.instance, sum(i.value) AS total
FROM counter_instances i JOIN all_dispatches d USING (run_id, dispatch_id)
WHERE d.kernel_id = $kernel_id AND regexp_replace(i.counter, '_sum$', '') = $counter
GROUP BY i.instance ORDER BY total DESC
"""
SPACED = (
    "Rows whose distance is a power of two fall on few channels: pad each row by one cache line "
    "(128 B, 32 floats), or let workgroups start at different columns."
)
ADVICE = {
    "channels": SPACED,
    "memory": SPACED,
    "engines": "Give workgroups equal work: smaller tiles, or workgroups that take the next piece "
    "with an atomic counter until none is left.",
}


@dataclass(frozen=True)
class ImbalanceOptions(rocperf.Options):
    """Options of `ChannelImbalance`."""

    min_share: float = option(
        0.01, help="Leave out kernels below this share of kernel time; ours.", minimum=0, maximum=1
    )
    min_ratio: float = option(
        1.5,
        help="What the busiest does over the mean from which it is reported. Ours: recorded "
        "copies and matrix products read 1.00 to 1.04.",
        minimum=1,
    )
    min_requests: float = option(
        1000.0,
        help="Mean of each channel and launch below which chance decides; ours.",
        minimum=1,
    )


class ChannelImbalance(rocperf.Analysis[ImbalanceOptions]):
    """Find kernels whose requests fall on few L2 channels, or whose waves on few engines.

    Only where a source keeps the instances of a counter apart: databases, JSON, and workloads
    of rocprofiler-compute do, CSV does not.
    """

    id = "channel-imbalance"
    title = "Balance of L2 channels and shader engines"
    requires = Requires(
        tables=("dispatches", "counter_instances"),
        optional=("busy-shader-engines",),
        deep=("busy-shader-engines",),
    )

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield at most one finding a kernel and rule, the worst counter's."""
        kernels = kernel_times(profile, self.options.min_share)
        params = {"kernels": list(kernels), "counters": list(COUNTED)}
        said: set[int] = set()
        rows = profile.sql(SPREAD, params)
        if kernels and not rows.height:
            raise UnjudgedError("counts of single L2 channels or shader engines")
        for row in rows.iter_rows(named=True):
            ratio = row["most"] / row["mean"]
            few = row["mean"] < self.options.min_requests * row["dispatches"]
            if ratio < self.options.min_ratio or few or row["kernel_id"] in said:
                continue
            if COUNTED[row["counter"]][2] == "engines" and row["used"] < row["instances"]:
                continue  # a grid too small for all of them is another question
            said.add(row["kernel_id"])
            yield self._finding(profile, kernels[row["kernel_id"]], row, ratio)

    def _finding(
        self, profile: Profile, kernel: KernelTime, row: Mapping[str, Any], ratio: float
    ) -> Finding:
        where, what, rule = COUNTED[row["counter"]]
        part = 1 - 1 / ratio
        params = {"kernel_id": kernel.kernel_id, "counter": row["counter"]}
        return Finding(
            rule=f"channel-imbalance/{rule}",
            subject=Subject("kernel", kernel.name, {"kernel_id": kernel.kernel_id}),
            title=f"{kernel.name}: the busiest of {row['instances']} {where} has {ratio:.2g} "
            f"times the {what} of the mean",
            advice=ADVICE[rule],
            saves_ns=saving(profile, kernel.total_ns, part),
            reasoning=f"If the busiest decides how long the kernel takes, even work takes "
            f"{100 - 100 * part:.1f} % of the time.",
            confidence="medium",
            doubts=("whether the kernel waits for the busiest was not measured",),
            evidence=(
                Measure("busiest over the mean", ratio, "", limit=self.options.min_ratio),
                Measure(f"{where} with any {what}", row["used"], ""),
                Query("instances", EVIDENCE, params),
            ),
        )


@rocperf.hookimpl
def rocperf_analyses() -> list[type[ChannelImbalance]]:
    """Register the analysis."""
    return [ChannelImbalance]
