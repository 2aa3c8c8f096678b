"""Whether data is fetched again and again from the L2 or from memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import rocperf
from rocperf import Finding, Gpu, Measure, Query, Requires, Subject, option
from rocperf_analyses.kernel_bounds import Values, gpus_of
from rocperf_analyses.kernel_times import KernelTime, judged, kernel_times, saving

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile

DECIDING = ("l2-bandwidth", "l2-bytes", "fabric-read-bytes", "fabric-write-bytes")
HELPING = ("fabric-read-bandwidth", "l2-hit-rate")
#: All memory that was ever allocated: a kernel cannot read more than that without repeating.
ALLOCATED = """
SELECT sum(bytes)::BIGINT FROM allocations WHERE contains(operation, 'alloc')
"""
EVIDENCE = """
SELECT counter, sum(value) AS total, count(*) AS dispatches FROM counters
WHERE kernel_id = $kernel_id AND (starts_with(counter, 'TCC_') OR starts_with(counter, 'TCP_TCC_'))
GROUP BY counter ORDER BY counter
"""


@dataclass(frozen=True)
class LocalityOptions(rocperf.Options):
    """Options of `CacheLocality`."""

    min_share: float = option(
        0.01, help="Leave out kernels below this share of kernel time; ours.", minimum=0, maximum=1
    )
    min_repeats: float = option(
        4.0,
        help="Bytes asked of the L2 for each byte of memory from which data is called fetched "
        "again and again; ours.",
        minimum=1,
    )
    busy_l2: float = option(
        30.0,
        help="Share of the L2's bandwidth from which that can cost time; ours.",
        unit="%",
        minimum=0,
        maximum=100,
    )
    min_rereads: float = option(
        1.5,
        help="Bytes read from memory by one launch for each byte ever allocated from which it "
        "must have read some repeatedly; ours.",
        minimum=1,
    )
    busy_memory: float = option(
        20.0,
        help="Share of the memory's bandwidth below which reading repeatedly costs nothing. Ours: "
        "AMD accepts 75 % for a test that does nothing else.",
        unit="%",
        minimum=0,
        maximum=100,
    )


class CacheLocality(rocperf.Analysis[LocalityOptions]):
    """Find kernels that fetch the same data again and again, from the L2 or from memory.

    Judged by bytes. A hit rate is shown but never judged: a kernel that uses nothing twice has a
    low one and is well. What must be read is bounded by what was allocated.
    """

    id = "cache-locality"
    title = "Cache locality"
    requires = Requires(tables=("dispatches",), metrics=DECIDING, optional=HELPING)

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield at most one finding a kernel and level."""
        kernels = kernel_times(profile, self.options.min_share)
        gpus = gpus_of(profile, kernels)
        allocated = profile.scalar(ALLOCATED)
        helping = (*DECIDING[1:], *HELPING)
        for kernel_id, values in judged(profile, DECIDING[:1], helping, kernels).items():
            kernel, gpu = kernels[kernel_id], gpus.get(kernel_id)
            if any(each not in values for each in DECIDING):
                continue
            yield from self._of_l2(profile, kernel, gpu, values)
            if allocated:
                yield from self._of_memory(profile, kernel, gpu, values, int(allocated))

    def _of_l2(
        self, profile: Profile, kernel: KernelTime, gpu: Gpu | None, values: Values
    ) -> Iterator[Finding]:
        asked = values["l2-bytes"]["value"]
        moved = values["fabric-read-bytes"]["value"] + values["fabric-write-bytes"]["value"]
        busy = busy_l2(gpu, values)
        if busy is None or busy < self.options.busy_l2 or asked < self.options.min_repeats * moved:
            return
        times = asked / moved if moved else None
        often = f"{times:.3g} bytes of the L2 for each byte" if times else "only the L2, no byte"
        part = 1 - moved / asked
        yield self._finding(
            kernel,
            "l2",
            title=f"{kernel.name}: asks {often} of memory, {busy:.0f} % of what the L2 can give",
            advice="Keep what a workgroup uses more than once in LDS or registers: load a tile "
            "once, let each thread compute several results, and give neighbouring workgroups "
            "neighbouring data, so that the vector L1 holds it.",
            saves_ns=saving(profile, kernel.total_ns, part),
            reasoning=f"If the L2 is what it waits for, {100 * part:.1f} % of the bytes asked of "
            "it are repetitions that LDS or registers could serve.",
            measures=(
                Measure("bytes asked of the L2", asked, "B"),
                Measure("bytes over the fabric", moved, "B"),
                Measure("L2 bandwidth used", busy, "%", limit=self.options.busy_l2),
                *hit_rate(values),
            ),
            doubts=("that the kernel waits for the L2 is told from its bandwidth alone",),
        )

    def _of_memory(
        self, profile: Profile, kernel: KernelTime, gpu: Gpu | None, values: Values, allocated: int
    ) -> Iterator[Finding]:
        row = values["fabric-read-bytes"]
        each = row["value"] / row["n"]
        rate = values.get("fabric-read-bandwidth")
        if each < self.options.min_rereads * allocated or rate is None:
            return
        if gpu is None or not gpu.dram_bytes_per_s:
            return
        busy = 100 * rate["value"] * 1e9 / gpu.dram_bytes_per_s
        if busy < self.options.busy_memory:
            return
        part = 1 - allocated / each
        yield self._finding(
            kernel,
            "memory",
            title=f"{kernel.name}: one launch reads {each / 1e6:,.0f} MB from memory, "
            f"{each / allocated:.3g} times all that was ever allocated",
            advice="Block the loops so that a tile is used up while it is in the L2: order "
            "workgroups along the data that they share, and give each XCD its own part "
            "(workgroups go round the XCDs in turn).",
            saves_ns=saving(profile, kernel.total_ns, part),
            reasoning=f"Read once, it would be {allocated / 1e6:,.0f} MB at most; "
            f"{100 * part:.1f} % of the reads repeat.",
            measures=(
                Measure("bytes read from memory by a launch", each, "B"),
                Measure("bytes ever allocated", allocated, "B"),
                Measure(
                    "memory bandwidth used by reads", busy, "%", limit=self.options.busy_memory
                ),
                *hit_rate(values),
            ),
            doubts=("variables of the program itself (__device__) are not among allocations",),
        )

    def _finding(
        self,
        kernel: KernelTime,
        rule: str,
        *,
        title: str,
        advice: str,
        saves_ns: int | None,
        reasoning: str,
        measures: tuple[Measure, ...],
        doubts: tuple[str, ...],
    ) -> Finding:
        query = Query("counters", EVIDENCE, {"kernel_id": kernel.kernel_id})
        return Finding(
            rule=f"cache-locality/{rule}",
            subject=Subject("kernel", kernel.name, {"kernel_id": kernel.kernel_id}),
            title=title,
            advice=advice,
            saves_ns=saves_ns,
            reasoning=reasoning,
            confidence="medium",
            doubts=doubts,
            evidence=(*measures, query),
        )


def busy_l2(gpu: Gpu | None, values: Values) -> float | None:
    """Return the share of the L2's bandwidth that is used, %; None when it is not known."""
    width, clock = (gpu.hw("l2_bytes_per_clk"), gpu.hw("clock_hz")) if gpu else (None, None)
    if not width or not clock or "l2-bandwidth" not in values:
        return None
    return float(100 * values["l2-bandwidth"]["value"] * 1e9 / (width * clock))


def hit_rate(values: Values) -> tuple[Measure, ...]:
    """Return the L2's hit rate as evidence, where it is known."""
    if "l2-hit-rate" not in values:
        return ()
    return (Measure("L2 hit rate", values["l2-hit-rate"]["value"], "%"),)


@rocperf.hookimpl
def rocperf_analyses() -> list[type[CacheLocality]]:
    """Register the analysis."""
    return [CacheLocality]
