"""Whether a grid is large enough for the GPU, and how full its last round is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rocperf import Finding, Measure, Query, Subject
from rocperf.hardware import Occupancy, Reported, fill
from rocperf_analyses.kernel_times import KernelTime, saving

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile

GRID_EVIDENCE = """
SELECT vgpr, agpr, sgpr, lds_bytes, static_lds_bytes, workgroup_size, grid_size,
       count(*) AS dispatches, sum(end_ns - start_ns)::BIGINT AS total_ns
FROM dispatches WHERE kernel_id = $kernel_id GROUP BY ALL ORDER BY total_ns DESC
"""
#: Mean duration below which a launch takes about as long as its work, nanoseconds: the recorded
#: kernels of one thread take 2 to 4 µs. A choice of ours.
LAUNCH_NS = 10_000
#: Rounds from which the last one no longer matters: it is a fifth of the time at most. Ours.
MOST_ROUNDS = 4


def grid_finding(
    profile: Profile,
    kernel: KernelTime,
    row: Mapping[str, Any],
    now: Occupancy,
    chip: tuple[int, int],
    told: Reported,
    least_full: float,
) -> Iterator[Finding]:
    """Yield a finding when half of the GPU gets no workgroup, or the last round is nearly empty.

    Parameters
    ----------
    kernel
        The kernel, with the time of these launches only.
    row
        The launches: ``grid_size`` and ``workgroup_size`` in work-items, ``dispatches``.
    now
        What one compute unit holds.
    chip
        Compute units and dies of the GPU.
    told
        What the profiler told of the launch.
    least_full
        Share of places used over all rounds below which the tail is reported, 0 to 1.
    """
    groups = -(-row["grid_size"] // row["workgroup_size"])
    filled = fill(now, groups, *chip)
    if filled is None:
        return
    units = groups + filled.idle_units
    # One round is no tail; a grid that half fills the chip may do.
    late = 1 < filled.rounds <= MOST_ROUNDS and filled.tail_efficiency < least_full
    if filled.idle_units * 2 >= units:
        part = filled.idle_units / units
        kind = "compute units" if now.limits.cus == 1 else "workgroup processors"
        count = "one workgroup leaves" if groups == 1 else f"{groups:,} workgroups leave"
        rule, what = "grid", f"its {count} {filled.idle_units} of {units} {kind} idle"
        advice = (
            "Launch more, smaller workgroups, split the reduction, or run it beside other "
            "kernels on another stream."
        )
    elif late:
        part = 1 - filled.tail_efficiency
        rule, what = "tail", f"its {groups:,} workgroups run in {filled.rounds} rounds that are "
        what += f"{filled.tail_efficiency * 100:.0f} % full"
        advice = (
            f"Choose a grid near a multiple of {filled.resident:,} workgroups, or loop over the "
            "grid with that many."
        )
    else:
        return
    doubts = ["all workgroups are taken to last equally long"]
    brief = kernel.total_ns is not None and kernel.total_ns < LAUNCH_NS * row["dispatches"]
    if brief and kernel.total_ns is not None:
        mean_us = kernel.total_ns / row["dispatches"] / 1000
        doubts.append(f"at {mean_us:.1f} µs a launch costs about as much as the work")
    spread = (
        f"The same work, spread evenly over every compute unit, takes {100 - 100 * part:.1f} % "
    )
    spread += "of the time at best."
    if brief:
        spread = "A launch takes about as long by itself, so spreading the work has no known gain."
    yield Finding(
        rule=f"occupancy/{rule}",
        subject=Subject("kernel", kernel.name, {"kernel_id": kernel.kernel_id}),
        title=f"{kernel.name}: {what}",
        advice=advice,
        saves_ns=None if brief else saving(profile, kernel.total_ns, part),
        reasoning=spread,
        confidence="low" if brief or told.confidence == "low" else "medium",
        doubts=tuple(doubts),
        evidence=(
            Measure("workgroups", groups, ""),
            Measure("workgroups resident at once", filled.resident, ""),
            Query("launches", GRID_EVIDENCE, {"kernel_id": kernel.kernel_id}),
        ),
    )
