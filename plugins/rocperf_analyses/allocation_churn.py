"""Whether memory is allocated and released between kernels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import rocperf
from rocperf import Finding, Measure, Query, Requires, Subject, option
from rocperf_analyses import timeline

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile

#: Calls that reach the driver, between the first and the last kernel of their run; those of
#: pools (hipMallocAsync and so on) are what the advice asks for.
CHURN = """
WITH extent AS (
    SELECT run_id, min(start_ns) AS first_ns, max(end_ns) AS last_ns FROM dispatches
    WHERE NOT serialised AND end_ns > start_ns GROUP BY ALL
)
SELECT a.run_id, a.name, count(*) AS calls, sum(a.end_ns - a.start_ns)::BIGINT AS total_ns,
       max(a.end_ns - a.start_ns) AS longest_ns
FROM api_calls a JOIN extent e USING (run_id)
WHERE a.domain = 'hip' AND a.end_ns >= a.start_ns
  AND a.start_ns >= e.first_ns AND a.end_ns <= e.last_ns
  AND a.name IN ('hipMalloc', 'hipExtMallocWithFlags', 'hipMallocPitch', 'hipMalloc3D',
      'hipMallocManaged', 'hipFree', 'hipHostMalloc', 'hipHostAlloc', 'hipMallocHost',
      'hipHostFree', 'hipFreeHost', 'hipHostRegister', 'hipHostUnregister', 'hipMallocArray',
      'hipFreeArray')
GROUP BY ALL ORDER BY a.run_id, total_ns DESC, a.name
"""


@dataclass(frozen=True)
class ChurnOptions(rocperf.Options):
    """Options of `AllocationChurn`."""

    min_calls: int = option(
        10,
        help="Calls between kernels from which it is churn; ours: fewer are set-up.",
        minimum=1,
    )
    min_share: float = option(
        0.02, help="Leave out savings below this share of wall time; ours.", minimum=0, maximum=1
    )


class AllocationChurn(rocperf.Analysis[ChurnOptions]):
    """Find programs that allocate and release memory in their loop.

    hipMalloc and hipFree go to the driver, and hipFree waits for the GPU first.
    """

    id = "allocation-churn"
    title = "Allocation in the loop"
    requires = Requires(tables=("dispatches", "api_calls"))

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield one finding, about the process that loses most."""
        timeline.need_timing(profile)
        runs: dict[int, list[tuple[str, int, int]]] = {}
        for run_id, name, calls, total, _ in profile.sql(CHURN).iter_rows():
            runs.setdefault(run_id, []).append((name, calls, total))
        costs = {run: sum(total for _, _, total in rows) for run, rows in runs.items()}
        worst = max(costs, key=lambda run: costs[run], default=None)
        if worst is None:
            return
        rows, wall = runs[worst], profile.wall_ns or 0
        calls, cost = sum(n for _, n, _ in rows), min(costs[worst], wall)
        if calls < self.options.min_calls or not cost or cost < self.options.min_share * wall:
            return
        names = " and ".join(name for name, _, _ in rows[:2])
        yield Finding(
            rule="allocation-churn/loop",
            subject=Subject("process", f"run {worst}", {"run_id": worst}),
            title=f"{calls:,} calls between kernels, mostly {names}, take "
            f"{timeline.lasting(cost)}{timeline.worst_of(len(runs))}",
            advice="Allocate before the loop and reuse the buffers, or take them from a pool: "
            "hipMallocAsync and hipFreeAsync with a raised release threshold "
            "(hipMemPoolAttrReleaseThreshold).",
            saves_ns=cost,
            reasoning="The time of these calls between the first and the last kernel. hipFree "
            "waits for kernels that still run, so not all of it is lost.",
            confidence="high",
            evidence=(
                *(Measure(f"{name}, {n:,} calls", total / 1e6, "ms") for name, n, total in rows),
                Query("calls between kernels", CHURN),
            ),
        )


@rocperf.hookimpl
def rocperf_analyses() -> list[type[AllocationChurn]]:
    """Register the analysis."""
    return [AllocationChurn]
