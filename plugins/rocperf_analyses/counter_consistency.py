"""Whether counters contradict each other in so many dispatches that a run should not be used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import rocperf
from rocperf import Finding, Measure, Query, Requires, Subject, option

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile

CONTRADICTIONS = """
SELECT n.run_id, n.message, n.rows, d.dispatches, r.process_id
FROM notes n
JOIN (
    SELECT run_id, count(DISTINCT dispatch_id) AS dispatches FROM counter_values GROUP BY run_id
) d USING (run_id)
LEFT JOIN runs r USING (run_id)
WHERE starts_with(n.code, 'invariant-') AND n.severity <> 'info'
ORDER BY n.rows / d.dispatches DESC, n.run_id, n.code
"""


@dataclass(frozen=True)
class ConsistencyOptions(rocperf.Options):
    """Options of `CounterConsistency`."""

    share: float = option(
        0.1,
        help="Share of a run's dispatches from which contradictions are many; a choice of ours.",
        minimum=0,
        maximum=1,
    )


class CounterConsistency(rocperf.Analysis[ConsistencyOptions]):
    """Find runs whose counters contradict each other in many dispatches.

    What is checked when counters are read, such as hits and misses against requests, or waves
    against the size of the launch, is in the notes of the profile.
    """

    id = "counter-consistency"
    title = "Counters that contradict each other"
    requires = Requires(tables=("counter_values",))

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield one finding, about all of the runs concerned."""
        rows = [
            row
            for row in profile.sql(CONTRADICTIONS).to_dicts()
            if row["rows"] >= self.options.share * row["dispatches"]
        ]
        if not rows:
            return
        worst = rows[0]
        runs = sorted({int(row["run_id"]) for row in rows})
        several = f"{len(runs)} runs" if len(runs) > 1 else f"run {runs[0]}"
        yield Finding(
            rule="counter-consistency/contradictions",
            subject=Subject("profile", "counters", {"runs": ", ".join(map(str, runs))}),
            title=f"Counters of {several} contradict each other in up to "
            f"{100 * worst['rows'] / worst['dispatches']:.0f} % of the dispatches",
            advice="Collect these counters again. All zeros come from clock-gated counters: fix "
            "the clocks with `sudo amd-smi set --perf-level STABLE_STD` before. Other "
            "contradictions come from another profiler that runs at the same time.",
            saves_ns=None,
            reasoning="It concerns what is known of the program, not its time.",
            evidence=(
                *(
                    Measure(row["message"], row["rows"], "dispatches", row["dispatches"])
                    for row in rows[:8]
                ),
                Query("what contradicts itself", CONTRADICTIONS, {}),
            ),
        )


@rocperf.hookimpl
def rocperf_analyses() -> list[type[CounterConsistency]]:
    """Register the analysis."""
    return [CounterConsistency]
