"""Whether the code of a kernel fits the instruction cache."""

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

DECIDING = ("instruction-hit-rate",)
DEEP = ("instruction-hit-rate", "fetch-latency")
HELPING = ("fetch-latency", "waiting-share")
EVIDENCE = """
SELECT counter, sum(value) AS total, count(*) AS dispatches FROM counters
WHERE kernel_id = $kernel_id
  AND (starts_with(counter, 'SQC_ICACHE') OR starts_with(counter, 'SQ_IFETCH'))
GROUP BY counter ORDER BY counter
"""


@dataclass(frozen=True)
class InstructionOptions(rocperf.Options):
    """Options of `InstructionCache`."""

    min_share: float = option(
        0.01, help="Leave out kernels below this share of kernel time; ours.", minimum=0, maximum=1
    )
    min_hit_rate: float = option(
        90.0,
        help="Hit rate below which code is reported. Ours: recorded kernels of 50 µs and more "
        "read 98 % and more.",
        unit="%",
        minimum=0,
        maximum=100,
    )
    min_us: float = option(
        50.0,
        help="Mean duration from which a launch is judged. Ours: short ones read 33 to 89 %, "
        "because each cache has to load the code once.",
        unit="µs",
        minimum=0,
    )


class InstructionCache(rocperf.Analysis[InstructionOptions]):
    """Find kernels that run long and whose code still misses the instruction cache.

    Short launches are left alone: they find the cache cold, whatever their code.
    """

    id = "instruction-cache"
    title = "Instruction cache"
    requires = Requires(tables=("dispatches",), metrics=DECIDING, optional=HELPING, deep=DEEP)

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield one finding a kernel."""
        kernels = kernel_times(profile, self.options.min_share)
        for kernel_id, values in judged(profile, DECIDING, HELPING, kernels).items():
            kernel, rate = kernels[kernel_id], values.get("instruction-hit-rate")
            if rate is None or rate["value"] >= self.options.min_hit_rate or not kernel.total_ns:
                continue
            if kernel.total_ns >= self.options.min_us * 1000 * kernel.dispatches:
                yield self._finding(profile, kernel, values)

    def _finding(self, profile: Profile, kernel: KernelTime, values: Values) -> Finding:
        rate, waits = values["instruction-hit-rate"]["value"], values.get("waiting-share")
        measures = [
            Measure("instruction cache hit rate", rate, "%", limit=self.options.min_hit_rate)
        ]
        if "fetch-latency" in values:
            latency = values["fetch-latency"]["value"]
            measures.append(Measure("cycles from a fetch to its instructions", latency, "cycles"))
        saves, reasoning = None, "How long its waves wait was not measured: nothing bounds it."
        if waits is not None:
            saves = saving(profile, kernel.total_ns, waits["value"] / 100)
            reasoning = (
                f"Its waves wait {waits['value']:.0f} % of their time, for instructions and for "
                "all else; no more than that can go."
            )
            measures.append(Measure("time of the waves that they wait", waits["value"], "%"))
        return Finding(
            rule="instruction-cache/misses",
            subject=Subject("kernel", kernel.name, {"kernel_id": kernel.kernel_id}),
            title=f"{kernel.name}: {100 - rate:.0f} % of its instruction fetches miss the cache",
            advice="Make the code of the inner loop smaller: unroll less (#pragma unroll 4 or 1), "
            "keep rare paths in __noinline__ functions, and split a kernel of many template or "
            "switch cases.",
            saves_ns=saves,
            reasoning=reasoning,
            confidence="medium",
            doubts=("whether waves wait for instructions, or for other things, is not told apart",),
            evidence=(*measures, Query("counters", EVIDENCE, {"kernel_id": kernel.kernel_id})),
        )


@rocperf.hookimpl
def rocperf_analyses() -> list[type[InstructionCache]]:
    """Register the analysis."""
    return [InstructionCache]
