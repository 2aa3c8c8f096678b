"""What bounds a kernel, its operations or its bytes, and how far it is from that bound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import rocperf
from rocperf import Finding, Gpu, Measure, Query, Requires, Subject, UnjudgedError, option
from rocperf_analyses.kernel_bounds import (
    MATRIX,
    TRAFFIC,
    VECTOR,
    WAITING,
    Share,
    Values,
    calculating,
    gpus_of,
    remembering,
    uncounted,
)
from rocperf_analyses.kernel_times import KernelTime, judged, kernel_times, saving

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile

#: Each fits into one run on every GPU that counts operations; their sums would be stitched.
DECIDING = TRAFFIC
HELPING = (*MATRIX, "waiting-share")
#: Beyond this a share of a peak cannot be: the counters contradict each other (metrics.md 13).
IMPOSSIBLE = 1.05
EVIDENCE = """
SELECT counter, sum(value) AS total, count(*) AS dispatches FROM counters
WHERE kernel_id = $kernel_id AND (starts_with(counter, 'SQ_INSTS_VALU_')
    OR starts_with(counter, 'TCC_EA') OR counter = 'TCC_BUBBLE_sum')
GROUP BY counter ORDER BY counter
"""


@dataclass(frozen=True)
class RooflineOptions(rocperf.Options):
    """Options of `Roofline`."""

    min_share: float = option(
        0.01, help="Leave out kernels below this share of kernel time; ours.", minimum=0, maximum=1
    )
    far: float = option(
        0.4,
        help="Part of its roof below which a kernel is reported as far from it; ours.",
        minimum=0,
        maximum=1,
    )
    near: float = option(
        0.7,
        help="Part of its roof from which a kernel counts as having reached it. Ours: AMD accepts "
        "75 % of the datasheet's bandwidth in its own memory tests.",
        minimum=0,
        maximum=1,
    )
    worth: float = option(
        0.1,
        help="Share of kernel time from which a kernel that has reached its roof is named; ours.",
        minimum=0,
        maximum=1,
    )


@dataclass(frozen=True)
class Place:
    """Where a kernel is under the roofline.

    Parameters
    ----------
    memory, vector, matrix
        Part of the time that its bytes and operations take at the peak.
    flops
        Operations of one dispatch.
    intensity
        Operations for each byte of memory.
    """

    memory: Share
    vector: Share
    matrix: Share

    flops: float
    intensity: float

    @property
    def roof(self) -> Share:
        """The roof that it comes closest to."""
        return max(self.memory, self.vector, self.matrix, key=lambda share: share.part)


class Roofline(rocperf.Analysis[RooflineOptions]):
    """Say whether operations or bytes bound a kernel, and how far from that bound it is.

    Peaks are the datasheet's, at the highest clock. Bytes are those between L2 and memory. A
    kernel whose waves were seen to wait is left to latency-bound, which says for what; one
    without floating-point operations has no place under a roofline.
    """

    id = "roofline"
    title = "Roofline"
    requires = Requires(tables=("dispatches",), metrics=(*DECIDING, *VECTOR), optional=HELPING)

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield one finding a kernel, for those far from their roof and costly ones at it."""
        kernels = kernel_times(profile, self.options.min_share)
        gpus = gpus_of(profile, kernels)
        partly = uncounted(profile)
        refused, placed = "", 0
        for kernel_id, values in judged(profile, DECIDING, (*VECTOR, *HELPING), kernels).items():
            kernel, gpu = kernels[kernel_id], gpus.get(kernel_id)
            if gpu is not None and gpu.dram_bytes_per_s is None:
                refused = refused or f"the product of this {gpu.target}: its memory bandwidth"
            place = None if kernel_id in partly else place_of(kernel, values, gpu)
            if place is None:
                continue
            if (part := max(place.vector.part, place.matrix.part)) > IMPOSSIBLE:
                refused = refused or (
                    f"consistent counters: {kernel.name} seems to calculate at "
                    f"{100 * part:.0f} % of the peak"
                )
                continue
            placed += 1
            yield from self._finding(profile, kernel, place, values)
        if refused and not placed:
            raise UnjudgedError(refused)

    def _finding(
        self, profile: Profile, kernel: KernelTime, place: Place, values: Values
    ) -> Iterator[Finding]:
        roof, waits = place.roof, values.get("waiting-share")
        if roof.part >= self.options.near:
            if kernel.share is not None and kernel.share < self.options.worth:
                return
            rule, saves, advice = "reached", None, _advice(place)
            reasoning = "At its roof it gets faster only by moving or calculating less."
        elif roof.part < self.options.far and (waits is None or waits["value"] < WAITING):
            rule, advice = "far", FAR
            saves = saving(profile, kernel.total_ns, 1 - roof.part)
            reasoning = (
                f"At the peak the same operations and bytes take {100 * roof.part:.1f} % of its "
                "time; no kernel reaches that, so it is a bound, not a goal."
            )
        else:
            return
        doubts = ["peaks are the datasheet's at the highest clock, not measured ones"]
        if reason := values[DECIDING[0]]["reason"]:
            doubts.append(str(reason))
        if rule == "far" and waits is None:
            doubts.append("whether its waves wait was not measured")
        yield Finding(
            rule=f"roofline/{rule}",
            subject=Subject("kernel", kernel.name, {"kernel_id": kernel.kernel_id}),
            title=f"{kernel.name}: {100 * roof.part:.0f} % of the peak of {roof.unit}, with "
            f"{place.intensity:.3g} FLOP for each byte of memory traffic",
            advice=advice,
            saves_ns=saves,
            reasoning=reasoning,
            confidence="low" if rule == "far" and waits is None else "medium",
            doubts=tuple(doubts),
            evidence=(*_measures(place), _query(kernel)),
            command=profile.command_for("latency-bound") if rule == "far" else None,
            symptom=rule == "far",
        )


FAR = (
    "Neither memory nor arithmetic limits it: look for waves that wait (more loads in flight, "
    "more waves), idle compute units, and work besides floating point, such as index arithmetic."
)


def place_of(kernel: KernelTime, values: Values, gpu: Gpu | None) -> Place | None:
    """Return a kernel's place; None without operations, or where something is not known."""
    memory = remembering(values, gpu)
    known = memory is not None and all(each in values for each in VECTOR)
    if gpu is None or memory is None or not known or not kernel.total_ns:
        return None
    mean_ns = kernel.total_ns / kernel.dispatches
    vector = calculating(values, VECTOR, gpu, mean_ns)
    matrix = calculating(values, MATRIX, gpu, mean_ns)
    counted = [values[each] for each in (*VECTOR, *MATRIX) if each in values]
    flops = sum(row["value"] / row["n"] for row in counted)
    rate = sum(values[each]["value"] for each in DECIDING)  # GB/s, bytes in a nanosecond
    if vector is None or matrix is None or not flops or not rate:
        return None
    return Place(
        memory,
        Share(vector.part, f"{vector.unit} on the vector ALUs"),
        Share(matrix.part, f"{matrix.unit} on the matrix units"),
        flops,
        flops / (rate * mean_ns),
    )


def _advice(place: Place) -> str:
    if place.roof is place.memory:
        return (
            "It is as fast as memory allows: fuse it with the kernel before or after it, store "
            "narrower types, or keep a tile in LDS so that bytes are read once."
        )
    if place.roof is place.vector:
        return (
            "It is as fast as the vector ALUs allow: use matrix instructions (rocWMMA, rocBLAS) "
            "or a narrower type, or calculate less."
        )
    return "It is as fast as the matrix units allow: a narrower type or less work remains."


def _measures(place: Place) -> tuple[Measure, ...]:
    return (
        Measure("time that its bytes take at the peak", 100 * place.memory.part, "%"),
        Measure("time that its vector operations take at the peak", 100 * place.vector.part, "%"),
        Measure("time that its matrix operations take at the peak", 100 * place.matrix.part, "%"),
        Measure("operations for each byte of memory", place.intensity, "FLOP/B"),
        Measure("floating-point operations of a dispatch", place.flops, ""),
    )


def _query(kernel: KernelTime) -> Query:
    return Query("counters", EVIDENCE, {"kernel_id": kernel.kernel_id})


@rocperf.hookimpl
def rocperf_analyses() -> list[type[Roofline]]:
    """Register the analysis."""
    return [Roofline]
