"""Whether a kernel's waves wait most of the time, and for what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import rocperf
from rocperf import Finding, Gpu, Measure, Query, Requires, Subject, UnjudgedError, option
from rocperf_analyses.kernel_bounds import (
    TRAFFIC,
    WAITING,
    Share,
    Values,
    busiest,
    gpus_of,
    remembering,
)
from rocperf_analyses.kernel_times import KernelTime, judged, kernel_times, saving

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile

DECIDING = ("waiting-share", "valu-utilisation", *TRAFFIC)
HELPING = ("mfma-utilisation", "lds-utilisation", "wave-occupancy", "cycles-per-wave")
#: Instructions of a wave and cycles from issue to end, by what they go to.
GOALS = {
    "vector memory": ("vmem-instructions", "vmem-latency"),
    "LDS": ("lds-instructions", "lds-latency"),
    "scalar memory": ("smem-instructions", "smem-latency"),
}
DEEP = tuple(metric for pair in GOALS.values() for metric in pair)
#: Achieved occupancy below which more waves are the first thing to try, %. A choice of ours.
FEW_WAVES = 25.0
ADVICE = {
    "vector memory": "Issue several independent loads before the first result is used: "
    "#pragma unroll 4 on the loop, load the next tile while this one is worked on (double "
    "buffering), or let each thread load 16 bytes at once (float4).",
    "LDS": "Read what the next step needs from LDS before this one calculates, keep values that "
    "are used again in registers, and pass them between lanes with __shfl or DPP.",
    "scalar memory": "Load uniform values once before the loop, several at a time (pass a struct "
    "by value), rather than where each is used.",
    "": "Find out for what with the command below; more independent loads in flight (#pragma "
    "unroll 4, double buffering) and more waves hide what it is.",
}
EVIDENCE = """
SELECT counter, sum(value) AS total, count(*) AS dispatches FROM counters
WHERE kernel_id = $kernel_id AND (counter IN ('SQ_WAIT_ANY', 'SQ_WAVE_CYCLES', 'SQ_WAVES',
    'SQ_ACTIVE_INST_VALU', 'SQ_INSTS_VMEM', 'SQ_INSTS_SMEM', 'SQ_INSTS_LDS')
    OR starts_with(counter, 'SQ_INST_LEVEL_'))
GROUP BY counter ORDER BY counter
"""


@dataclass(frozen=True)
class LatencyOptions(rocperf.Options):
    """Options of `LatencyBound`."""

    min_share: float = option(
        0.01, help="Leave out kernels below this share of kernel time; ours.", minimum=0, maximum=1
    )
    waiting: float = option(
        WAITING,
        help="Share of the waves' time from which a kernel waits. Ours: recorded matrix products "
        "read 7 to 25 %, copies 70 to 99 %.",
        unit="%",
        minimum=0,
        maximum=100,
    )
    busy: float = option(
        40.0,
        help="Vector ALU or matrix utilisation from which waiting is hidden well enough; ours.",
        unit="%",
        minimum=0,
        maximum=100,
    )
    busy_memory: float = option(
        60.0,
        help="Share of the memory's bandwidth from which it is bandwidth that it waits for; ours.",
        unit="%",
        minimum=0,
        maximum=100,
    )


class LatencyBound(rocperf.Analysis[LatencyOptions]):
    """Find kernels whose waves wait while arithmetic and memory are idle, and say for what.

    Waiting alone is no fault: a copy waits nearly always. It costs time where neither the ALUs
    nor the bandwidth of memory are used. How many instructions of a kind a wave has in flight
    is instructions times latency over its lifetime.
    """

    id = "latency-bound"
    title = "Waiting waves"
    requires = Requires(
        tables=("dispatches",), metrics=DECIDING, optional=(*HELPING, *DEEP), deep=DEEP
    )

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield one finding a kernel."""
        kernels = kernel_times(profile, self.options.min_share)
        gpus = gpus_of(profile, kernels)
        refused, decided = "", False
        helping = ("waiting-share", *TRAFFIC, *HELPING, *DEEP)
        for kernel_id, values in judged(profile, ("valu-utilisation",), helping, kernels).items():
            gpu = gpus.get(kernel_id)
            if "waiting-share" not in values or "valu-utilisation" not in values:
                continue
            if any(each not in values for each in TRAFFIC):
                refused = refused or "a trustworthy rate of memory traffic"
                continue
            memory = remembering(values, gpu)
            if memory is None:
                target = gpu.target if gpu is not None else "GPU"
                refused = refused or f"the product of this {target}: its memory bandwidth"
                continue
            decided = True
            if self._waits(values, memory):
                yield self._finding(profile, kernels[kernel_id], gpu, values)
        if refused and not decided:
            raise UnjudgedError(refused)

    def _waits(self, values: Values, memory: Share) -> bool:
        busy = values["valu-utilisation"]["value"]
        if "mfma-utilisation" in values:
            busy = max(busy, values["mfma-utilisation"]["value"])
        return bool(
            values["waiting-share"]["value"] >= self.options.waiting
            and busy < self.options.busy
            and 100 * memory.part < self.options.busy_memory
        )

    def _finding(
        self, profile: Profile, kernel: KernelTime, gpu: Gpu | None, values: Values
    ) -> Finding:
        waiting, most = values["waiting-share"]["value"], busiest(values, gpu)
        flight = in_flight(values)
        goal = max(flight, key=lambda name: flight[name]) if flight else ""
        title = f"{kernel.name}: its waves wait {waiting:.0f} % of their time"
        if goal:
            title += f", with {flight[goal]:.2g} {goal} instructions in flight for each wave"
        advice = ADVICE[goal]
        occupancy = values.get("wave-occupancy")
        if occupancy is not None and occupancy["value"] < FEW_WAVES:
            advice = (
                f"Only {occupancy['value']:.0f} % of the wave slots are used: launch more or "
                f"smaller workgroups, or use fewer registers and less LDS. {advice}"
            )
        part = 1 - most.part if most is not None else 1.0
        unit = f"the {most.unit}, {100 * most.part:.0f} %" if most is not None else "no unit"
        doubts = [] if goal else ["for what they wait was not measured"]
        doubts += [str(values[each]["reason"]) for each in DECIDING if values[each]["reason"]]
        return Finding(
            rule="latency-bound/waiting",
            subject=Subject("kernel", kernel.name, {"kernel_id": kernel.kernel_id}),
            title=title,
            advice=advice,
            saves_ns=saving(profile, kernel.total_ns, part),
            reasoning=f"If all waiting were hidden, the busiest unit would bound the kernel: of "
            f"those that were measured {unit} of its time.",
            confidence="medium",
            doubts=tuple(dict.fromkeys(doubts)),
            evidence=(
                *self._measures(values, flight),
                Query("counters", EVIDENCE, {"kernel_id": kernel.kernel_id}),
            ),
            command=None if goal else profile.command_for(self.id),
            symptom=True,
        )

    def _measures(self, values: Values, flight: Mapping[str, float]) -> Iterator[Measure]:
        yield Measure(
            "time of the waves that they wait", values["waiting-share"]["value"], "%",
            limit=self.options.waiting,
        )  # fmt: skip
        yield Measure(
            "vector ALU utilisation", values["valu-utilisation"]["value"], "%",
            limit=self.options.busy,
        )  # fmt: skip
        for metric, name in (("mfma-utilisation", "matrix"), ("lds-utilisation", "LDS")):
            if metric in values:
                yield Measure(f"{name} utilisation", values[metric]["value"], "%")
        if "wave-occupancy" in values:
            yield Measure("achieved occupancy", values["wave-occupancy"]["value"], "%")
        for goal, count in flight.items():
            latency = values[GOALS[goal][1]]["value"]
            yield Measure(f"cycles that {goal} takes", latency, "cycles")
            yield Measure(f"{goal} instructions in flight for each wave", count, "")


def in_flight(values: Values) -> dict[str, float]:
    """Return how many instructions a wave has in flight on average, by where they go.

    Their latencies, added up, over the lifetime of the wave: 1 is one after another with nothing
    between them.
    """
    if "cycles-per-wave" not in values or not values["cycles-per-wave"]["value"]:
        return {}
    whole = values["cycles-per-wave"]["value"]
    return {
        goal: values[count]["value"] * values[latency]["value"] / whole
        for goal, (count, latency) in GOALS.items()
        if count in values and latency in values
    }


@rocperf.hookimpl
def rocperf_analyses() -> list[type[LatencyBound]]:
    """Register the analysis."""
    return [LatencyBound]
