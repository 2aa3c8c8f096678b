"""Find kernels that are over before their launch is paid for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import rocperf
from rocperf import Finding, Measure, Profile, Query, Requires, Subject, option

KERNELS = """
SELECT kernel_id, name, count(*) AS launches, sum(end_ns - start_ns)::BIGINT AS busy_ns
FROM dispatches JOIN kernels USING (kernel_id)
WHERE end_ns > start_ns AND role = 'compute'
GROUP BY ALL
HAVING launches >= $launches AND busy_ns < launches * $longest_ns
ORDER BY busy_ns DESC, name
"""
SHORTEST = """
SELECT dispatch_id, start_ns, end_ns - start_ns AS busy_ns FROM dispatches
WHERE kernel_id = $kernel_id AND end_ns > start_ns ORDER BY busy_ns LIMIT 20
"""


@dataclass(frozen=True)
class ShortKernelsOptions(rocperf.Options):
    """Options of `ShortKernels`."""

    longest: float = option(
        5.0, help="Mean duration below which a kernel is short; a choice.", unit="µs", minimum=0
    )
    launches: int = option(
        100, help="Launches from which it matters; a choice.", unit="launches", minimum=1
    )


class ShortKernels(rocperf.Analysis[ShortKernelsOptions]):
    """Find kernels that are launched often and run for a few microseconds."""

    id = "short-kernels"
    title = "Kernels shorter than their launch"
    requires = Requires(tables=("dispatches",))

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield one finding a kernel."""
        options = self.options
        params = {"launches": options.launches, "longest_ns": 1000 * options.longest}
        for row in profile.sql(KERNELS, params).iter_rows(named=True):
            mean_us = row["busy_ns"] / row["launches"] / 1000
            yield Finding(
                rule="short-kernels/short",
                subject=Subject("kernel", row["name"], {"kernel_id": row["kernel_id"]}),
                title=f"{row['name']}: {row['launches']:,} launches of {mean_us:.1f} µs",
                advice="Fuse it with the kernel before or after it, or record the launches in a "
                "hipGraph.",
                saves_ns=row["busy_ns"],
                reasoning="Fused into its neighbour it takes no time of its own at best; the gaps "
                "between launches were not looked at.",
                confidence="medium",
                doubts=("its neighbours may not be fusable",),
                evidence=(
                    Measure("mean duration", mean_us, "µs", limit=options.longest),
                    Measure("launches", row["launches"], "launches", limit=options.launches),
                    Query("shortest launches", SHORTEST, {"kernel_id": row["kernel_id"]}),
                ),
            )


@rocperf.hookimpl
def rocperf_analyses() -> list[type[ShortKernels]]:
    """Register the analysis."""
    return [ShortKernels]
