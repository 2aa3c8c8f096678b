"""Whether the GPUs of a program work equally long, and at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import rocperf
from rocperf import Finding, Measure, Query, Requires, Subject, option
from rocperf_analyses.timeline import SPANS, lasting, need_timing

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile

#: The program's own kernels on each GPU of each process: kernels that overlap count once. RCCL
#: is left out, since a GPU that waits in it for another does not work.
WORK = (
    SPANS
    + """, reached AS (
    SELECT *, max(end_ns) OVER (PARTITION BY run_id, agent_id ORDER BY start_ns, end_ns
           ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
    FROM spans WHERE kind = 'kernel'
)
SELECT run_id, agent_id, count(*) AS kernels,
       sum(greatest(0, end_ns - greatest(start_ns, coalesce(before, start_ns))))::BIGINT AS busy_ns
FROM reached GROUP BY ALL ORDER BY busy_ns DESC, run_id, agent_id
"""
)
#: Time in which at least one GPU of a process worked. Of one process, so on one clock.
ANY_BUSY = (
    SPANS
    + """, reached AS (
    SELECT *, max(end_ns) OVER (PARTITION BY run_id ORDER BY start_ns, end_ns
           ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
    FROM spans WHERE kind = 'kernel'
)
SELECT run_id,
       sum(greatest(0, end_ns - greatest(start_ns, coalesce(before, start_ns))))::BIGINT AS any_ns
FROM reached GROUP BY ALL ORDER BY run_id
"""
)


@dataclass(frozen=True)
class BalanceOptions(rocperf.Options):
    """Options of `GpuBalance`."""

    min_share: float = option(
        0.05, help="Leave out savings below this share of wall time; ours.", minimum=0, maximum=1
    )
    min_together: float = option(
        0.5,
        help="Share of the work that could run beside other GPUs' and does, below which GPUs take "
        "turns; ours.",
        minimum=0,
        maximum=1,
    )


class GpuBalance(rocperf.Analysis[BalanceOptions]):
    """Compare the work of the GPUs that a program uses; of others a trace tells nothing.

    A trace lists GPUs that were hidden from the program or belong to other processes, so a GPU
    without work is no finding.
    """

    id = "gpu-balance"
    title = "Balance between GPUs"
    requires = Requires(tables=("dispatches",))

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield one finding about uneven work, and one for each process whose GPUs take turns.

        Raises
        ------
        UnjudgedError
            If there is no timing run.
        """
        need_timing(profile)
        wall = profile.wall_ns or 0
        rows = profile.sql(WORK).to_dicts()
        least = max(1, self.options.min_share * wall)
        if len(rows) > 1:
            mean = sum(row["busy_ns"] for row in rows) / len(rows)
            if rows[0]["busy_ns"] - mean >= least:
                yield _uneven(rows, mean, wall, alike=_alike(profile, rows))
        for run_id, any_ns in profile.sql(ANY_BUSY).iter_rows():
            mine = [row for row in rows if row["run_id"] == run_id]
            longest = mine[0]["busy_ns"]
            beside = sum(row["busy_ns"] for row in mine) - longest
            if len(mine) < 2 or not beside:
                continue
            together = 1 - (any_ns - longest) / beside
            if together < self.options.min_together and any_ns - longest >= least:
                yield _turns(mine, any_ns, together, wall)


def _alike(profile: Profile, rows: list[dict[str, Any]]) -> bool:
    """Tell whether all GPUs are of one kind; not where one is not described."""
    gpus = [profile.gpu_of(row["run_id"], row["agent_id"]) for row in rows]
    kinds = {(gpu.target, gpu.product, gpu.cu_count) for gpu in gpus if gpu is not None}
    return None not in gpus and len(kinds) == 1


def _uneven(rows: list[dict[str, Any]], mean: float, wall: int, *, alike: bool) -> Finding:
    most, few = rows[0], rows[-1]
    keys = {"run_id": most["run_id"], "agent_id": most["agent_id"]}
    name = f"GPU agent {most['agent_id']}, run {most['run_id']}"
    reasoning = (
        f"Were the same work spread evenly, each GPU would be busy {lasting(mean)}, and the "
        "busiest be done so much earlier."
        if alike
        else "The GPUs are not known to be of one kind, so an even share is not the best one, and "
        "what that is cannot be told."
    )
    return Finding(
        rule="gpu-balance/uneven",
        subject=Subject("gpu", name, keys),
        title=f"{name} computes {lasting(most['busy_ns'])}, the mean of {len(rows)} GPUs is "
        f"{lasting(mean)} and the least {lasting(few['busy_ns'])}",
        advice="Split the work by what it costs, not by count: balance batches or tiles, let GPUs "
        "take the next piece when they are done, and give each shard its share of the slow rows."
        + ("" if alike else " Slower GPUs want smaller shares."),
        saves_ns=min(round(most["busy_ns"] - mean), wall) if alike else None,
        reasoning=reasoning,
        confidence="high" if alike else "medium",
        doubts=() if alike else ("the GPUs are not known to be of one kind",),
        evidence=(
            Measure("busiest GPU", most["busy_ns"] / 1e6, "ms", limit=mean / 1e6),
            Measure("least busy GPU", few["busy_ns"] / 1e6, "ms"),
            Query("compute by GPU", WORK),
        ),
    )


def _turns(mine: list[dict[str, Any]], any_ns: int, together: float, wall: int) -> Finding:
    saves = any_ns - mine[0]["busy_ns"]
    run_id = mine[0]["run_id"]
    return Finding(
        rule="gpu-balance/turns",
        subject=Subject("process", f"process of run {run_id}", {"run_id": run_id}),
        title=f"{len(mine)} GPUs take turns: {100 * together:.0f} % of what could run "
        "beside the busiest does",
        advice="Launch on every GPU before waiting for one: hipSetDevice and launch in a loop, "
        "synchronise in a second loop; use a thread for each GPU where the host prepares work; "
        "in a pipeline split the batch into micro-batches.",
        saves_ns=min(saves, wall),
        reasoning=f"At least one GPU computes {lasting(any_ns)}; the busiest alone "
        f"{lasting(mine[0]['busy_ns'])}, which is all it takes when the rest runs beside it.",
        confidence="medium",
        doubts=("one GPU's work may need what another computed before",),
        evidence=(
            Measure("time in which any GPU computes", any_ns / 1e6, "ms"),
            Measure("busiest GPU", mine[0]["busy_ns"] / 1e6, "ms"),
            Query("compute by GPU", WORK),
            Query("time in which any GPU computes", ANY_BUSY),
        ),
    )


@rocperf.hookimpl
def rocperf_analyses() -> list[type[GpuBalance]]:
    """Register the analysis."""
    return [GpuBalance]
