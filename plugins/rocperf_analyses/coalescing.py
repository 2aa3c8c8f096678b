"""Whether the lanes of a wave read and write neighbouring addresses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import rocperf
from rocperf import Confidence, Finding, Measure, Query, Requires, Subject, option
from rocperf_analyses.kernel_times import KernelTime, judged, kernel_times, saving

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile

#: Lines of a unit-stride access of 4 bytes a lane, measured on MI200 and MI300X.
IDEAL_LINES = 4
#: Lines from which every lane has its own: all 64, but for a rounding of masked lanes.
OWN_LINE = 60
#: Lanes of a wave on every GPU that counts lines.
LANES = 64

DECIDING = ("lines-per-vmem",)
HELPING = ("l2-bytes-per-vmem", "accesses-per-vmem", "coalescing")
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
    requires = Requires(tables=("dispatches",), metrics=DECIDING, optional=HELPING)

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield one finding a kernel."""
        kernels = kernel_times(profile, self.options.min_share)
        for kernel_id, values in judged(profile, DECIDING, HELPING, kernels).items():
            lines, asked = values.get("lines-per-vmem"), values.get("l2-bytes-per-vmem")
            if lines is None or lines["value"] < self.options.min_lines:
                continue
            if asked is not None and asked["value"] <= self.options.min_bytes:
                continue  # what it touches it uses, or finds in the L1
            yield self._finding(profile, kernels[kernel_id], lines["value"], values)

    def _finding(
        self,
        profile: Profile,
        kernel: KernelTime,
        lines: float,
        values: Mapping[str, Mapping[str, Any]],
    ) -> Finding:
        confidence, doubts = _doubts(values)
        return Finding(
            rule="coalescing/uncoalesced",
            subject=Subject("kernel", kernel.name, {"kernel_id": kernel.kernel_id}),
            title=f"{kernel.name}: a wave instruction touches {lines:.0f} cache lines "
            f"({_pattern(lines)}); unit stride needs {IDEAL_LINES}",
            advice="Let neighbouring lanes access neighbouring addresses: index with threadIdx.x "
            "last, turn arrays of structures into structures of arrays, or stage the tile "
            "through LDS.",
            saves_ns=saving(profile, kernel.total_ns, 1 - IDEAL_LINES / lines),
            reasoning=f"With {IDEAL_LINES} instead of {lines:.0f} lines an instruction, memory "
            f"traffic falls to {100 * IDEAL_LINES / lines:.1f} %; at best the kernel's time does, "
            "too.",
            confidence=confidence,
            doubts=doubts,
            evidence=self._evidence(kernel, values),
            command=None if "l2-bytes-per-vmem" in values else profile.command_for(self.id),
        )

    def _evidence(
        self, kernel: KernelTime, values: Mapping[str, Mapping[str, Any]]
    ) -> tuple[Measure | Query, ...]:
        shown = {
            "lines-per-vmem": ("lines per wave instruction", "lines", self.options.min_lines),
            "l2-bytes-per-vmem": (
                "bytes asked of the L2 per wave instruction",
                "B",
                self.options.min_bytes,
            ),
            "accesses-per-vmem": ("L1 accesses per wave instruction", "accesses", None),
            "coalescing": ("coalescing, the usual figure", "%", None),
        }
        measures = [
            Measure(name, values[metric]["value"], unit, limit=limit)
            for metric, (name, unit, limit) in shown.items()
            if metric in values
        ]
        return (*measures, Query("counters", EVIDENCE, {"kernel_id": kernel.kernel_id}))


def _pattern(lines: float) -> str:
    if lines >= OWN_LINE:
        return "one a lane: scattered, or widely strided"
    return f"{LANES / lines:.1f} lanes share one: a stride, or partly scattered"


def _doubts(values: Mapping[str, Mapping[str, Any]]) -> tuple[Confidence, tuple[str, ...]]:
    doubts: list[str] = []
    confidence: Confidence = "high"
    if reason := values["lines-per-vmem"]["reason"]:
        doubts.append(str(reason))
        confidence = "medium"
    if "l2-bytes-per-vmem" not in values:
        doubts.append(
            "requests to the L2 were not collected: wide accesses, and lines that the L1 holds, "
            "would look the same"
        )
        confidence = "low"
    return confidence, tuple(doubts)


@rocperf.hookimpl
def rocperf_analyses() -> list[type[Coalescing]]:
    """Register the analysis."""
    return [Coalescing]
