"""Whether the lanes of a wave read and write neighbouring addresses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import rocperf
from rocperf import Finding, Measure, Profile, Query, Requires, Subject, option
from rocperf_analyses.kernel_times import KernelTime, kernel_times

#: Lines of a unit-stride access of 4 bytes a lane, measured on MI200 and MI300X.
IDEAL_LINES = 4

EVIDENCE = """
SELECT counter, sum(value) AS total, count(*) AS dispatches FROM counters
WHERE kernel_id = $kernel_id AND counter IN ('TA_TOTAL_WAVEFRONTS_sum',
    'TCP_TOTAL_ACCESSES_sum', 'TCP_TOTAL_CACHE_ACCESSES_sum', 'TCP_TCC_READ_REQ_sum',
    'TCP_TCC_WRITE_REQ_sum')
GROUP BY counter ORDER BY counter
"""


@dataclass(frozen=True)
class CoalescingOptions(rocperf.Options):
    """Options of `Coalescing`."""

    min_share: float = option(
        0.01, help="Leave out kernels below this share of kernel time; ours.", minimum=0, maximum=1
    )
    min_lines: float = option(
        24.0,
        help="Lines a wave instruction from which an access is called uncoalesced. Ours: "
        "perfect 8-byte accesses touch 16, fully scattered ones 64.",
        unit="lines",
        minimum=1,
        maximum=64,
    )
    min_bytes: float = option(
        1024.0,
        help="Bytes asked of the L2 a wave instruction below which nothing is wasted: "
        "64 lanes of 16 bytes use 1024.",
        unit="B",
        minimum=0,
    )


class Coalescing(rocperf.Analysis[CoalescingOptions]):
    """Find kernels whose wave instructions touch far more cache lines than they need.

    Judged by lines an instruction and bytes asked of the L2, not by the usual percentage, which
    reads 25 % both for perfect 8-byte and for fully scattered 4-byte accesses.
    """

    id = "coalescing"
    title = "Coalesced memory access"
    requires = Requires(
        tables=("dispatches",),
        metrics=("lines-per-vmem",),
        optional=("l2-bytes-per-vmem", "accesses-per-vmem", "coalescing"),
    )

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield one finding a kernel."""
        kernels = kernel_times(profile, self.options.min_share)
        ids = ["lines-per-vmem", "l2-bytes-per-vmem", "accesses-per-vmem", "coalescing"]
        values = profile.metrics(ids)
        lines = values.filter(metric="lines-per-vmem", state="value")
        others = {
            (row["kernel_id"], row["metric"]): row["value"]
            for row in values.filter(state="value").to_dicts()
        }
        for row in lines.to_dicts():
            kernel = kernels.get(row["kernel_id"])
            wasted = others.get((row["kernel_id"], "l2-bytes-per-vmem"))
            if kernel is None or row["value"] < self.options.min_lines:
                continue
            if wasted is not None and wasted <= self.options.min_bytes:
                continue  # what it touches it uses, or finds in the L1
            yield self._finding(kernel, row, wasted, others)

    def _finding(
        self,
        kernel: KernelTime,
        row: dict[str, object],
        wasted: float | None,
        others: dict[tuple[int, str], float],
    ) -> Finding:
        lines = float(str(row["value"]))
        part = 1 - IDEAL_LINES / lines
        pattern = "every lane its own line" if lines > 60 else f"{lines:.0f} lines for 64 lanes"
        evidence: list[Measure | Query] = [
            Measure("lines per wave instruction", lines, "lines", limit=self.options.min_lines)
        ]
        if wasted is not None:
            evidence.append(
                Measure("bytes asked of the L2 per wave instruction", wasted, "B", limit=512)
            )
        if (usual := others.get((kernel.kernel_id, "coalescing"))) is not None:
            evidence.append(Measure("coalescing, the usual figure", usual, "%", limit=100))
        evidence.append(Query("counters", EVIDENCE, {"kernel_id": kernel.kernel_id}))
        doubts = [] if row["reason"] is None else [str(row["reason"])]
        if wasted is None:
            doubts.append("requests to the L2 were not collected, so hits in the L1 are unknown")
        return Finding(
            rule="coalescing/uncoalesced",
            subject=Subject("kernel", kernel.name, {"kernel_id": kernel.kernel_id}),
            title=f"{kernel.name}: a wave instruction touches {lines:.0f} cache lines "
            f"({pattern}); unit stride needs {IDEAL_LINES}",
            advice="Let neighbouring lanes access neighbouring addresses: index with threadIdx.x "
            "last, turn arrays of structures into structures of arrays, or stage the tile "
            "through LDS.",
            saves_ns=None if kernel.total_ns is None else round(kernel.total_ns * part),
            reasoning=f"With {IDEAL_LINES} instead of {lines:.0f} lines an instruction, memory "
            f"traffic falls to {IDEAL_LINES / lines:.1%}; at best the kernel's time does, too.",
            confidence="medium" if doubts else "high",
            doubts=tuple(doubts),
            evidence=tuple(evidence),
        )


@rocperf.hookimpl
def rocperf_analyses() -> list[type[Coalescing]]:
    """Register the analysis."""
    return [Coalescing]
