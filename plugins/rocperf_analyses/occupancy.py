"""Whether the GPU holds enough waves of a kernel to hide its waiting."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import rocperf
from rocperf import Finding, Measure, Profile, Query, Requires, Subject, option
from rocperf.hardware import (
    GpuFacts,
    Occupancy,
    Reported,
    fill,
    halved_counts,
    next_steps,
    reported_resources,
    resident_occupancy,
)
from rocperf_analyses.kernel_times import KernelTime, kernel_times

LAUNCHES = """
SELECT kernel_id, run_id, agent_id, vgpr, agpr, sgpr, lds_bytes, static_lds_bytes,
       workgroup_size, grid_size, count(*) AS dispatches,
       sum(CASE WHEN end_ns >= start_ns THEN end_ns - start_ns END)::BIGINT AS total_ns
FROM dispatches WHERE list_contains($kernels, kernel_id) AND vgpr IS NOT NULL
GROUP BY ALL ORDER BY total_ns DESC NULLS LAST, dispatches DESC
"""
REGISTERS = "SELECT DISTINCT vgpr, agpr FROM dispatches WHERE vgpr IS NOT NULL"
EVIDENCE = """
SELECT vgpr, agpr, sgpr, lds_bytes, static_lds_bytes, workgroup_size, grid_size,
       count(*) AS dispatches, sum(end_ns - start_ns)::BIGINT AS total_ns
FROM dispatches WHERE kernel_id = $kernel_id GROUP BY ALL ORDER BY total_ns DESC
"""
EDITS = {
    "vgpr": "shorten live ranges, split the kernel, or set __launch_bounds__({size}, {waves})",
    "sgpr": "keep fewer uniform values alive at once",
    "lds": "use a smaller tile, a narrower type, or reuse one buffer for two phases",
}


@dataclass(frozen=True)
class OccupancyOptions(rocperf.Options):
    """Options of `OccupancyLimits`."""

    min_share: float = option(
        0.01, help="Leave out kernels below this share of kernel time; ours.", minimum=0, maximum=1
    )
    low: float = option(
        0.5, help="Occupancy below which a kernel is looked at; ours.", minimum=0, maximum=1
    )
    busy: float = option(
        40.0,
        help="Vector ALU utilisation from which more waves would not help; ours.",
        unit="%",
        minimum=0,
        maximum=100,
    )
    tail: float = option(
        0.6,
        help="Share of places used over all rounds below which the tail is reported; ours.",
        minimum=0,
        maximum=1,
    )


class OccupancyLimits(rocperf.Analysis[OccupancyOptions]):
    """Find kernels that cannot have enough waves resident, and say what stands in the way.

    The number is the resident one: whole workgroups that fit a compute unit, not the
    compiler's. Kernels whose vector ALUs are busy are left alone: they would not gain.
    """

    id = "occupancy"
    title = "Occupancy"
    requires = Requires(
        tables=("dispatches",),
        columns=("dispatches.vgpr",),
        optional=("wave-occupancy", "valu-utilisation"),
    )

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield findings for the costliest launch shape of each kernel."""
        kernels = kernel_times(profile, self.options.min_share)
        halved = halved_counts(profile.sql(REGISTERS).iter_rows())
        measured = {
            (row["kernel_id"], row["metric"]): row["value"]
            for row in profile.metrics(["wave-occupancy", "valu-utilisation"]).to_dicts()
            if row["state"] == "value"
        }
        seen: set[int] = set()
        for row in profile.sql(LAUNCHES, {"kernels": list(kernels)}).to_dicts():
            gpu = profile.gpu_of(row["run_id"], row["agent_id"])
            if row["kernel_id"] in seen or gpu is None or gpu.facts is None:
                continue
            seen.add(row["kernel_id"])
            on_mi350 = gpu.target == "gfx950"
            told = reported_resources(gpu.facts, row, halved=halved if on_mi350 else None)
            if told.resources is None:
                continue
            kernel = kernels[row["kernel_id"]]
            now = resident_occupancy(gpu.facts, told.resources, told.wave_size)
            achieved = measured.get((kernel.kernel_id, "wave-occupancy"))
            busy = measured.get((kernel.kernel_id, "valu-utilisation"), 0.0)
            if now.occupancy < self.options.low and busy < self.options.busy:
                yield from self._limited(kernel, gpu.facts, told, now, achieved)
            if gpu.cu_count and row["grid_size"]:
                yield from self._grid(kernel, row, now, gpu.cu_count, gpu.num_xcc or 1, told)

    def _limited(
        self,
        kernel: KernelTime,
        facts: GpuFacts,
        told: Reported,
        now: Occupancy,
        achieved: float | None,
    ) -> Iterator[Finding]:
        resources = told.resources
        if resources is None or not now.workgroups:
            return
        steps = next_steps(facts, resources, told.wave_size)
        if not steps:
            return  # nothing to change: wave slots or barriers end the way
        limiter = next((name for name in now.limiters if name in EDITS), None)
        if limiter is None:
            return
        if now.vgpr_may_be_padded and limiter == "vgpr" and "lds" in now.limiters:
            limiter = "lds"
        step, best = steps[0], steps[-1]
        changes = ", ".join(f"{c.resource} from {c.now} to {c.at_most}" for c in step.changes)
        part = 1 - now.occupancy / best.occupancy
        measures: list[Measure | Query] = [
            Measure("resident occupancy", now.occupancy * 100, "%", limit=self.options.low * 100),
            Measure("vector registers allocated", now.allocated_vgprs, "registers"),
            Measure("LDS of a workgroup", resources.lds_bytes, "B"),
        ]
        if achieved is not None:
            measures.append(Measure("achieved occupancy", achieved, "%"))
        edit = EDITS[limiter].format(
            size=resources.workgroup_size, waves=max(1, round(step.waves_per_simd))
        )
        yield Finding(
            rule=f"occupancy/{limiter}",
            subject=Subject("kernel", kernel.name, {"kernel_id": kernel.kernel_id}),
            title=f"{kernel.name}: {now.waves_per_simd:g} of "
            f"{now.limits.max_waves_per_simd} waves a SIMD fit; {' and '.join(now.limiters)} "
            f"limit{'s' if len(now.limiters) == 1 else ''}",
            advice=f"To reach {step.waves_per_simd:g} waves a SIMD bring {changes}: {edit}.",
            saves_ns=None if kernel.total_ns is None else round(kernel.total_ns * part),
            reasoning=f"A kernel that only waits gets faster as more waves fit: from "
            f"{now.occupancy:.1%} to {best.occupancy:.1%}, at most {part:.0%} of its time.",
            confidence=_lower(told.confidence),
            doubts=(
                "whether it waits enough to gain is not known",
                *(caveat.text for caveat in told.caveats),
            ),
            evidence=(*measures, Query("launches", EVIDENCE, {"kernel_id": kernel.kernel_id})),
        )

    def _grid(
        self,
        kernel: KernelTime,
        row: dict[str, Any],
        now: Occupancy,
        cus: int,
        xccs: int,
        told: Reported,
    ) -> Iterator[Finding]:
        groups = -(-row["grid_size"] // row["workgroup_size"])
        filled = fill(now, groups, cus, xccs)
        if filled is None:
            return
        units = groups + filled.idle_units
        small = filled.idle_units * 2 >= units
        if not small and not (filled.rounds <= 4 and filled.tail_efficiency < self.options.tail):
            return
        if not small and filled.rounds == 1:
            return  # one round is no tail; a grid that half fills the chip may do
        part = filled.idle_units / units if small else 1 - filled.tail_efficiency
        what, advice = (
            (
                f"its {groups:,} workgroups leave {filled.idle_units} of {units} units idle",
                "Launch more, smaller workgroups, split the reduction, or run it beside other "
                "kernels on another stream.",
            )
            if small
            else (
                f"its {groups:,} workgroups run in {filled.rounds} rounds that are "
                f"{filled.tail_efficiency:.0%} full",
                f"Choose a grid near a multiple of {filled.resident:,} workgroups, or a loop over "
                "the grid with that many.",
            )
        )
        yield Finding(
            rule="occupancy/grid" if small else "occupancy/tail",
            subject=Subject("kernel", kernel.name, {"kernel_id": kernel.kernel_id}),
            title=f"{kernel.name}: {what}",
            advice=advice,
            saves_ns=None if kernel.total_ns is None else round(kernel.total_ns * part),
            reasoning=f"Spread over the whole GPU it takes {1 - part:.0%} of its time at best.",
            confidence=_lower(told.confidence),
            doubts=("all workgroups are taken to last equally long",),
            evidence=(
                Measure("workgroups", groups, ""),
                Measure("workgroups resident at once", filled.resident, ""),
                Query("launches", EVIDENCE, {"kernel_id": kernel.kernel_id}),
            ),
        )


def _lower(confidence: rocperf.Confidence) -> rocperf.Confidence:
    return "low" if confidence == "low" else "medium"


@rocperf.hookimpl
def rocperf_analyses() -> list[type[OccupancyLimits]]:
    """Register the analysis."""
    return [OccupancyLimits]
