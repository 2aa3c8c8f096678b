"""Whether the GPU holds enough waves of a kernel to hide its waiting."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import rocperf
from rocperf import Finding, Measure, Query, Requires, Subject, UnjudgedError, option
from rocperf.hardware import (
    GpuFacts,
    Occupancy,
    Reported,
    halved_counts,
    next_steps,
    proven_wave_size,
    reported_resources,
    resident_occupancy,
)
from rocperf_analyses.grid_fill import GRID_EVIDENCE, grid_finding
from rocperf_analyses.kernel_times import KernelTime, kernel_times, saving

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile
    from rocperf.hardware.reported import Halved

#: One row a kernel, shape of launch and kind of GPU: equal launches on several GPUs are one.
LAUNCHES = """
SELECT d.kernel_id, min(d.run_id) AS run_id, arg_min(d.agent_id, d.run_id) AS agent_id,
       d.vgpr, d.agpr, d.sgpr, d.lds_bytes, d.static_lds_bytes, d.workgroup_size, d.grid_size,
       a.target, a.cu_count, a.num_xcc, count(*) AS dispatches,
       sum(CASE WHEN d.end_ns >= d.start_ns THEN d.end_ns - d.start_ns END)::BIGINT AS total_ns
FROM dispatches d LEFT JOIN agents a USING (run_id, agent_id)
WHERE list_contains($kernels, d.kernel_id) AND d.vgpr IS NOT NULL
GROUP BY ALL ORDER BY total_ns DESC NULLS LAST, dispatches DESC,
         d.kernel_id, d.workgroup_size, d.grid_size, d.vgpr
"""
REGISTERS = """
SELECT DISTINCT d.vgpr, d.agpr FROM dispatches d JOIN agents a USING (run_id, agent_id)
WHERE a.target = 'gfx950' AND d.vgpr IS NOT NULL
"""
#: Kernels that use the matrix cores, by whatever counter tells.
MATRIX = """
SELECT DISTINCT kernel_id FROM counters
WHERE value > 0 AND (counter = 'SQ_INSTS_MFMA' OR starts_with(counter, 'SQ_INSTS_VALU_MFMA'))
"""
#: Waves that were counted, by shape of launch, where every launch of the shape agrees.
COUNTED = """
SELECT d.kernel_id, d.workgroup_size, d.grid_size, min(c.value) AS waves
FROM counters c JOIN all_dispatches d USING (run_id, dispatch_id)
WHERE c.counter = 'SQ_WAVES' AND list_contains($kernels, d.kernel_id)
GROUP BY ALL HAVING min(c.value) = max(c.value)
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
        0.5,
        help="Occupancy below which a kernel is reported whose vector ALUs are seen idle; ours.",
        minimum=0,
        maximum=1,
    )
    very_low: float = option(
        0.25,
        help="Occupancy below which it is reported even where nothing tells whether it waits, "
        "unless it uses matrix cores, which need few waves; ours.",
        minimum=0,
        maximum=1,
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


def _counted_waves(profile: Profile, kernels: Iterable[int]) -> dict[tuple[int, ...], float]:
    """Return the waves of a launch by kernel, workgroup and grid, where they were counted."""
    rows = profile.sql(COUNTED, {"kernels": list(kernels)}).iter_rows()
    return {tuple(row[:3]): row[3] for row in rows}


def _resources(
    facts: GpuFacts,
    row: Mapping[str, Any],
    halved: Halved,
    waves: Mapping[tuple[int, ...], float],
) -> Reported:
    """Return what a launch uses, its wave size proven by counted waves where they tell."""
    shape = (row["workgroup_size"], row["grid_size"])
    proven = proven_wave_size(facts, *shape, waves.get((row["kernel_id"], *shape)))
    return reported_resources(
        facts, row, halved=halved if facts.target == "gfx950" else None, wave_size=proven
    )


def _doubts(told: Reported, now: Occupancy, limiter: str, *, measured: bool) -> Iterator[str]:
    if not measured:
        yield "whether it waits enough to gain was not measured"
    else:
        yield "that its waves wait is told from idle vector ALUs alone"
    for caveat in told.caveats:
        yield caveat.text
    if now.vgpr_may_be_padded:
        yield (
            f"{now.allocated_vgprs} vector registers may be the compiler's filling, since "
            f"{limiter} limits anyway; if the kernel needs them, they have to come down, too"
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
        matrix = set(profile.sql(MATRIX)["kernel_id"].to_list())
        waves = _counted_waves(profile, kernels)
        seen: set[int] = set()
        refused = ""
        for row in profile.sql(LAUNCHES, {"kernels": list(kernels)}).to_dicts():
            if row["kernel_id"] in seen:
                continue
            gpu = profile.gpu_of(row["run_id"], row["agent_id"])
            if gpu is None or gpu.facts is None:
                which = gpu.target if gpu is not None and gpu.target else "not recorded"
                refused = refused or f"registers and LDS of the GPU ({which}), which are not known"
                continue
            told = _resources(gpu.facts, row, halved, waves)
            if told.resources is None:
                refused = refused or told.reason
                continue
            seen.add(row["kernel_id"])
            # Bounds are about the launches of this shape, not about all of the kernel's.
            kernel = replace(kernels[row["kernel_id"]], total_ns=row["total_ns"])
            now = resident_occupancy(gpu.facts, told.resources, told.wave_size)
            busy = measured.get((kernel.kernel_id, "valu-utilisation"))
            if self._would_gain(now.occupancy, busy, matrix=kernel.kernel_id in matrix):
                achieved = measured.get((kernel.kernel_id, "wave-occupancy"))
                yield from self._limited(profile, kernel, gpu.facts, told, now, achieved, busy)
            if gpu.cu_count and row["grid_size"]:
                yield from grid_finding(
                    profile, kernel, row, now, (gpu.cu_count, gpu.num_xcc or 1), told,
                    self.options.tail,
                )  # fmt: skip
        if refused and not seen:
            raise UnjudgedError(refused)

    def _would_gain(self, occupancy: float, busy: float | None, *, matrix: bool) -> bool:
        if busy is not None:
            return occupancy < self.options.low and busy < self.options.busy
        return occupancy < self.options.very_low and not matrix

    def _limited(
        self,
        profile: Profile,
        kernel: KernelTime,
        facts: GpuFacts,
        told: Reported,
        now: Occupancy,
        achieved: float | None,
        busy: float | None,
    ) -> Iterator[Finding]:
        resources = told.resources
        if resources is None or not now.workgroups:
            return
        steps = next_steps(facts, resources, told.wave_size)
        limiter = next((name for name in now.limiters if name in EDITS), None)
        if not steps or limiter is None:
            return  # nothing to change: wave slots or barriers end the way
        step, best = steps[0], steps[-1]
        # Where the register count may be the compiler's filling, it falls with what it fills.
        changes = ", ".join(
            f"{c.resource} from {c.now} to {c.at_most}"
            for c in step.changes
            if not (now.vgpr_may_be_padded and c.resource == "vgpr")
        )
        part = 1 - now.occupancy / best.occupancy
        measures: list[Measure | Query] = [
            Measure("resident occupancy", now.occupancy * 100, "%", limit=self.options.low * 100),
            Measure("vector registers allocated", now.allocated_vgprs, "registers"),
            Measure("LDS of a workgroup", resources.lds_bytes, "B"),
        ]
        if achieved is not None:
            measures.append(Measure("achieved occupancy", achieved, "%"))
        if busy is not None:
            measures.append(Measure("vector ALU utilisation", busy, "%", limit=self.options.busy))
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
            saves_ns=saving(profile, kernel.total_ns, part),
            reasoning=f"A kernel that only waits gets faster as more waves fit: from "
            f"{now.occupancy * 100:.1f} % to {best.occupancy * 100:.1f} %, at most "
            f"{part * 100:.0f} % of its time.",
            confidence="low" if busy is None or told.confidence == "low" else "medium",
            doubts=tuple(_doubts(told, now, limiter, measured=busy is not None)),
            evidence=(*measures, Query("launches", GRID_EVIDENCE, {"kernel_id": kernel.kernel_id})),
            command=profile.command_for(self.id) if busy is None else None,
        )


@rocperf.hookimpl
def rocperf_analyses() -> list[type[OccupancyLimits]]:
    """Register the analysis."""
    return [OccupancyLimits]
