"""Whether a kernel keeps private data in memory because registers did not suffice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import rocperf
from rocperf import Confidence, Finding, Gpu, Measure, Query, Requires, Subject, option
from rocperf_analyses.kernel_times import KernelTime, judged, kernel_times, saving

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile

#: One row a kernel: what its launches with scratch reserve and take.
LAUNCHES = """
SELECT kernel_id, min(run_id) AS run_id, arg_min(agent_id, run_id) AS agent_id,
       max(scratch_bytes)::BIGINT AS scratch, max(vgpr) AS vgpr, max(agpr) AS agpr,
       max(workgroup_size) AS workgroup_size,
       sum(CASE WHEN end_ns >= start_ns THEN end_ns - start_ns END)::BIGINT AS total_ns
FROM dispatches
WHERE list_contains($kernels, kernel_id) AND scratch_bytes >= $least
GROUP BY kernel_id ORDER BY total_ns DESC NULLS LAST, kernel_id
"""
EVIDENCE = """
SELECT scratch_bytes, vgpr, agpr, workgroup_size, count(*) AS dispatches,
       sum(end_ns - start_ns)::BIGINT AS total_ns
FROM dispatches WHERE kernel_id = $kernel_id GROUP BY ALL ORDER BY total_ns DESC
"""
#: Only where scratch goes through buffer instructions (gfx908, gfx90a) are accesses counted.
HELPING = ("scratch-per-wave", "buffer-share")
#: Work-items that the compiler must allow for unless __launch_bounds__ says less (HIP's default).
DEFAULT_WORKGROUP = 1024
#: Registers of a SIMD lane on GPUs where scratch matters most, gfx90a to gfx950 (hardware.md 4):
#: 1024 work-items are 4 waves a SIMD, which leaves each 128.
CAPPED = 128
CAPPED_TARGETS = ("gfx90a", "gfx942", "gfx950")


@dataclass(frozen=True)
class SpillOptions(rocperf.Options):
    """Options of `RegisterSpills`."""

    min_share: float = option(
        0.01, help="Leave out kernels below this share of kernel time; ours.", minimum=0, maximum=1
    )
    min_bytes: int = option(
        65,
        help="Scratch of a work-item from which a kernel is reported. Ours: a few words are "
        "often a stack that nothing uses, or spills that pay.",
        unit="B",
        minimum=1,
    )
    many_bytes: int = option(
        257,
        help="Scratch of a work-item from which it hardly ever pays; ours.",
        unit="B",
        minimum=1,
    )


class RegisterSpills(rocperf.Analysis[SpillOptions]):
    """Find kernels with scratch memory: spilled registers, or arrays that found no registers.

    A trace tells how much is reserved, not how often it is touched. Where the accesses are
    counted (gfx908, gfx90a), a kernel that never touches its scratch is left alone.
    """

    id = "register-spills"
    title = "Register spills and private arrays"
    requires = Requires(
        tables=("dispatches",), columns=("dispatches.scratch_bytes",), optional=HELPING
    )

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield one finding a kernel."""
        kernels = kernel_times(profile, self.options.min_share)
        counted = judged(profile, (), HELPING, kernels)
        params = {"kernels": list(kernels), "least": self.options.min_bytes}
        for row in profile.sql(LAUNCHES, params).to_dicts():
            kernel = kernels[row["kernel_id"]]
            values = counted.get(kernel.kernel_id, {})
            touched = values.get("scratch-per-wave")
            if touched is not None and touched["value"] == 0:
                continue
            gpu = profile.gpu_of(row["run_id"], row["agent_id"])
            yield self._finding(profile, kernel, row, gpu, values)

    def _finding(
        self,
        profile: Profile,
        kernel: KernelTime,
        row: Mapping[str, Any],
        gpu: Gpu | None,
        values: Mapping[str, Mapping[str, Any]],
    ) -> Finding:
        touched, share = values.get("scratch-per-wave"), values.get("buffer-share")
        measures: list[Measure | Query] = [
            Measure("scratch of a work-item", row["scratch"], "B", limit=self.options.min_bytes)
        ]
        if (held := footprint(row["scratch"], gpu)) is not None:
            measures.append(Measure("scratch of all waves the GPU can hold", held, "B"))
        title = f"{kernel.name}: {row['scratch']:,} B of scratch a work-item"
        saves_ns, reasoning = (
            None,
            (
                "How often the scratch is accessed is not counted here, so nothing bounds what its "
                "accesses cost."
            ),
        )
        if touched is not None:
            title += f", accessed {touched['value']:.3g} times by a wave"
            measures.append(Measure("scratch instructions of a wave", touched["value"], ""))
        if touched is not None and share is not None:
            saves_ns = saving(profile, row["total_ns"], share["value"] / 100)
            reasoning = (
                f"{share['value']:.1f} % of the vector memory instructions go to scratch; if the "
                "kernel did nothing but wait for such instructions, that part of its time."
            )
            measures.append(Measure("memory instructions to scratch", share["value"], "%"))
        confidence, doubts = self._doubts(row["scratch"], counted=touched is not None)
        evidence = Query("launches", EVIDENCE, {"kernel_id": kernel.kernel_id})
        return Finding(
            rule="register-spills/scratch",
            subject=Subject("kernel", kernel.name, {"kernel_id": kernel.kernel_id}),
            title=title,
            advice=_advice(row, gpu),
            saves_ns=saves_ns,
            reasoning=reasoning,
            confidence=confidence,
            doubts=doubts,
            evidence=(*measures, evidence),
        )

    def _doubts(self, scratch: int, *, counted: bool) -> tuple[Confidence, tuple[str, ...]]:
        if counted:
            return "medium", ("a library may reach other data by buffer instructions, too",)
        doubts = ["it may be a stack or an array that is rarely used, not spilled registers"]
        many = scratch >= self.options.many_bytes
        if not many:
            doubts.append("a few spills can pay, when they let more waves fit")
        return "medium" if many else "low", tuple(doubts)


def footprint(scratch: int, gpu: Gpu | None) -> int | None:
    """Return the scratch of all waves that a GPU can hold, bytes; None when it is not known.

    Parameters
    ----------
    scratch
        Bytes of a work-item.
    """
    if gpu is None:
        return None
    factors = (gpu.wave_size, gpu.max_waves_per_simd, gpu.simd_per_cu, gpu.cu_count)
    held = scratch
    for factor in factors:
        if factor is None:
            return None
        held *= factor
    return held


def _advice(row: Mapping[str, Any], gpu: Gpu | None) -> str:
    """Name the edit; the cap of a missing __launch_bounds__ is told by registers and workgroup."""
    look = (
        "Compile with -Rpass-analysis=kernel-resource-usage: it tells spilled registers from "
        "private arrays. "
    )
    size, vgpr = row["workgroup_size"], row["vgpr"]
    capped = (
        gpu is not None
        and gpu.target in CAPPED_TARGETS
        and vgpr is not None
        and size is not None
        and size < DEFAULT_WORKGROUP
        and CAPPED - 8 < vgpr + (row["agpr"] or 0) <= CAPPED
    )
    spills = (
        f"It has the {CAPPED} registers that a workgroup of {DEFAULT_WORKGROUP} leaves: state "
        f"__launch_bounds__({size}), and the compiler may use more. "
        if capped
        else "Against spills unroll less (#pragma unroll 1), split the kernel, or allow more "
        "registers with a __launch_bounds__ of fewer waves. "
    )
    return (
        look + spills + "Index private arrays with constants, so that they become registers, or "
        "put them into LDS."
    )


@rocperf.hookimpl
def rocperf_analyses() -> list[type[RegisterSpills]]:
    """Register the analysis."""
    return [RegisterSpills]
