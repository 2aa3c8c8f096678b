"""Whether atomics wait for each other, in the vector L1, in the LDS, or beyond the L2."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import rocperf
from rocperf import Confidence, Finding, Measure, Query, Requires, Subject, option
from rocperf_analyses.kernel_bounds import Values
from rocperf_analyses.kernel_times import KernelTime, judged, kernel_times, saving

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile

DECIDING = ("serialised-atomics",)
OF_LDS = ("lds-address-conflict-share", "lds-atomic-return-share")
DEEP = (
    "returning-atomics", "l2-atomics", "fabric-atomics", "fabric-atomic-latency", *OF_LDS
)  # fmt: skip
HELPING = ("l2-atomic-share", "waiting-share", *DEEP)
EVIDENCE = """
SELECT counter, sum(value) AS total, count(*) AS dispatches FROM counters
WHERE kernel_id = $kernel_id AND (contains(counter, 'ATOMIC')
    OR counter IN ('TCP_GATE_EN1_sum', 'TCC_REQ_sum', 'SQ_LDS_ADDR_CONFLICT', 'SQ_LDS_IDX_ACTIVE'))
GROUP BY counter ORDER BY counter
"""
ADVICE = {
    "serialised": "Reduce inside the wave first (__shfl_down, or one atomic for each wave after a "
    "ballot), then in LDS for the workgroup, and send one atomic of it to memory; or give "
    "counters of different workgroups a cache line of their own.",
    "lds": "Give each wave a copy of the bins in LDS and add the copies up at the end, or reduce "
    "inside the wave (__shfl_down) before the atomic.",
    "fabric": "Allocate what is updated with hipMalloc instead of fine-grained memory "
    "(hipHostMalloc, hipExtMallocWithFlags with hipDeviceMallocFinegrained), or set "
    "hipMemAdviseSetCoarseGrain, so that the L2 can do the atomics; copy the result at the end.",
}


@dataclass(frozen=True)
class AtomicsOptions(rocperf.Options):
    """Options of `AtomicsContention`."""

    min_share: float = option(
        0.01, help="Leave out kernels below this share of kernel time; ours.", minimum=0, maximum=1
    )
    serialised: float = option(
        0.1,
        help="Part of the vector L1's time in which an atomic waits for another one above which "
        "they contend: AMD's description of SerializedAtomicRatio.",
        minimum=0,
        maximum=1,
    )
    many: float = option(
        20.0,
        help="Share of the L2's requests that are atomics from which contention is sure to "
        "matter; ours.",
        unit="%",
        minimum=0,
        maximum=100,
    )
    lds: float = option(
        10.0,
        help="Share of the LDS's cycles lost to atomics of one address from which it is "
        "reported; ours.",
        unit="%",
        minimum=0,
        maximum=100,
    )
    fabric: float = option(
        0.5,
        help="Part of the L2's atomics that leave it from which they are reported; ours: ordinary "
        "ones all stay in it.",
        minimum=0,
        maximum=1,
    )


class AtomicsContention(rocperf.Analysis[AtomicsOptions]):
    """Find atomics that wait for each other, and those that leave the L2.

    What contention costs the counters do not tell; the time that the waves wait bounds it.
    """

    id = "atomics-contention"
    title = "Contended atomics"
    requires = Requires(tables=("dispatches",), metrics=DECIDING, optional=HELPING, deep=DEEP)

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield at most one finding a kernel and place."""
        kernels = kernel_times(profile, self.options.min_share)
        for kernel_id, values in judged(profile, DECIDING, HELPING, kernels).items():
            kernel = kernels[kernel_id]
            ratio = values.get("serialised-atomics")
            if ratio is not None and ratio["value"] > self.options.serialised:
                yield self._serialised(profile, kernel, values, ratio["value"])
            lost, returned = (values.get(each) for each in OF_LDS)
            # Reductions without any atomic were recorded with 70 % of "address conflicts": that
            # there are atomics at all is told by what they return.
            atomics = returned is not None and returned["value"] > 0
            if atomics and lost is not None and lost["value"] >= self.options.lds:
                yield self._lds(profile, kernel, values, lost["value"])
            if "l2-atomics" in values and "fabric-atomics" in values and self._many(values):
                yield from self._fabric(profile, kernel, values)

    def _many(self, values: Values) -> bool:
        """Tell whether atomics are much of what the L2 is asked; False where it is not known."""
        share = values.get("l2-atomic-share")
        return share is not None and bool(share["value"] > self.options.many)

    def _serialised(
        self, profile: Profile, kernel: KernelTime, values: Values, ratio: float
    ) -> Finding:
        share = values.get("l2-atomic-share")
        many = self._many(values)
        measures = [
            Measure("vector L1's time in which atomics wait", 100 * ratio, "%",
                    limit=100 * self.options.serialised)
        ]  # fmt: skip
        if share is not None:
            measures.append(Measure("atomics among L2 requests", share["value"], "%"))
        if "returning-atomics" in values:
            returning = values["returning-atomics"]["value"]
            measures.append(Measure("atomics that return a value", returning, "%"))
        doubt = "few of the L2's requests are atomics" if share is not None else (
            "how many of the L2's requests are atomics is not known"
        )  # fmt: skip
        return self._finding(
            profile, kernel, values, "serialised",
            f"its atomics wait for each other {100 * ratio:.0f} % of the vector L1's time",
            measures, () if many else (doubt,), "high" if many else "medium",
        )  # fmt: skip

    def _lds(self, profile: Profile, kernel: KernelTime, values: Values, lost: float) -> Finding:
        measure = Measure("LDS cycles lost to atomics of one address", lost, "%",
                          limit=self.options.lds)  # fmt: skip
        return self._finding(
            profile, kernel, values, "lds",
            f"{lost:.0f} % of its LDS cycles go to atomics that meet on one address",
            [measure], (), "medium",
        )  # fmt: skip

    def _fabric(self, profile: Profile, kernel: KernelTime, values: Values) -> Iterator[Finding]:
        inside, left = values["l2-atomics"]["value"], values["fabric-atomics"]["value"]
        if not inside or not left or left < self.options.fabric * inside:
            return
        measures = [
            Measure("atomics of the L2", inside, ""),
            Measure("atomics over the fabric", left, ""),
        ]
        latency = values.get("fabric-atomic-latency")
        slow = ""
        if latency is not None:
            measures.append(
                Measure("cycles of an atomic over the fabric", latency["value"], "cycles")
            )
            slow = f", {latency['value']:.0f} cycles each"
        part = min(1.0, left / inside)
        yield self._finding(
            profile, kernel, values, "fabric",
            f"{100 * part:.0f} % of its atomics leave the L2 for memory that it cannot cache{slow}",
            measures, (), "medium",
        )  # fmt: skip

    def _finding(
        self,
        profile: Profile,
        kernel: KernelTime,
        values: Values,
        rule: str,
        what: str,
        measures: list[Measure],
        doubts: tuple[str, ...],
        confidence: Confidence,
    ) -> Finding:
        waits = values.get("waiting-share")
        saves, reasoning = None, "How long its waves wait was not measured: nothing bounds it."
        if waits is not None:
            saves = saving(profile, kernel.total_ns, waits["value"] / 100)
            reasoning = (
                f"Its waves wait {waits['value']:.0f} % of their time, for atomics and for all "
                "else; no more than that can go."
            )
            measures.append(Measure("time of the waves that they wait", waits["value"], "%"))
        return Finding(
            rule=f"atomics-contention/{rule}",
            subject=Subject("kernel", kernel.name, {"kernel_id": kernel.kernel_id}),
            title=f"{kernel.name}: {what}",
            advice=ADVICE[rule],
            saves_ns=saves,
            reasoning=reasoning,
            confidence=confidence,
            doubts=doubts,
            evidence=(*measures, Query("counters", EVIDENCE, {"kernel_id": kernel.kernel_id})),
        )


@rocperf.hookimpl
def rocperf_analyses() -> list[type[AtomicsContention]]:
    """Register the analysis."""
    return [AtomicsContention]
