"""Whether lanes meet in one LDS bank, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import rocperf
from rocperf import Finding, Measure, Query, Requires, Subject, option
from rocperf_analyses.kernel_times import KernelTime, judged, kernel_times, saving

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile

DECIDING = ("lds-conflict-share", "lds-conflicts-per-instruction")
HELPING = ("lds-conflict-kernel-share",)
#: Workgroups go round the compute units in turn: of G on N units the busiest gets ceil(G / N),
#: the mean is G / N. Asked for is the
#: largest ratio of a kernel's launches.
BUSIEST = """
SELECT kernel_id, max(ceil(g / a.cu_count) * a.cu_count / g) FROM (
    SELECT DISTINCT kernel_id, run_id, agent_id, ceil(grid_size / workgroup_size) AS g
    FROM all_dispatches
    WHERE grid_size > 0 AND workgroup_size > 0 AND list_contains($kernels, kernel_id)
) JOIN agents a USING (run_id, agent_id) WHERE a.cu_count > 0 GROUP BY ALL
"""

EVIDENCE = """
SELECT counter, sum(value) AS total, count(*) AS dispatches FROM counters
WHERE kernel_id = $kernel_id AND counter IN ('SQ_LDS_BANK_CONFLICT', 'SQ_LDS_IDX_ACTIVE',
    'SQC_LDS_BANK_CONFLICT', 'SQC_LDS_IDX_ACTIVE', 'SQ_INSTS_LDS')
GROUP BY counter ORDER BY counter
"""
ADVICE = (
    "Pad the tile by one element a row (tile[32][33]), or swizzle the column with the row "
    "(column ^ row), so that the lanes of one access fall into different banks."
)


@dataclass(frozen=True)
class ConflictOptions(rocperf.Options):
    """Options of `LdsBankConflicts`."""

    min_share: float = option(
        0.01, help="Leave out kernels below this share of kernel time; ours.", minimum=0, maximum=1
    )
    min_conflict_share: float = option(
        10.0,
        help="Share of LDS cycles lost from which conflicts are reported; ours.",
        unit="%",
        minimum=0,
        maximum=100,
    )
    min_per_instruction: float = option(
        0.25,
        help="Conflict cycles an LDS instruction from which conflicts are reported where the "
        "active cycles were not collected; ours.",
        unit="cycles",
        minimum=0,
    )


class LdsBankConflicts(rocperf.Analysis[ConflictOptions]):
    """Find kernels that lose LDS cycles because lanes of one access meet in a bank."""

    id = "lds-bank-conflicts"
    title = "LDS bank conflicts"
    requires = Requires(
        tables=("dispatches",),
        any_of=(tuple((each,) for each in DECIDING),),
        optional=("lds-conflict-kernel-share", "lds-conflicts-per-instruction"),
    )

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield one finding a kernel."""
        kernels = kernel_times(profile, self.options.min_share)
        busiest = dict(profile.sql(BUSIEST, {"kernels": list(kernels)}).iter_rows())
        for kernel_id, values in judged(profile, DECIDING, HELPING, kernels).items():
            kernel = kernels[kernel_id]
            share = values.get("lds-conflict-share")
            each = values.get("lds-conflicts-per-instruction")
            if share is not None:
                if share["value"] >= self.options.min_conflict_share:
                    whole = values.get("lds-conflict-kernel-share")
                    yield self._by_share(profile, kernel, share, whole, busiest.get(kernel_id))
            elif each is not None and each["value"] >= self.options.min_per_instruction:
                yield self._by_instruction(profile, kernel, each)

    def _by_share(
        self,
        profile: Profile,
        kernel: KernelTime,
        share: dict[str, Any],
        whole: dict[str, Any] | None,
        busiest: float | None,
    ) -> Finding:
        part, lost = share["value"] / 100, share["value"]
        doubts = [share["reason"]] if share["reason"] else []
        reasoning = f"The LDS repeats {lost:.1f} % of its cycles; at most that part of the time."
        measures = [
            Measure(
                "LDS cycles lost to conflicts", lost, "%", limit=self.options.min_conflict_share
            )
        ]
        if whole is not None and busiest is not None:
            # Conflict cycles of a compute unit cannot save more time than they took, and the
            # busiest one decides how long the kernel takes.
            mean = whole["value"]
            part = min(part, mean / 100 * busiest)
            measures.append(Measure("time spent in conflicts", mean, "%"))
            reasoning = (
                f"The LDS spends {mean:.1f} % of the kernel's time on repeated cycles, averaged "
                f"over the compute units, and at most {100 * part:.1f} % on the busiest; without "
                "them at most that is saved."
            )
        else:
            doubts.append("what part of the time the LDS is busy could not be told")
        return self._finding(
            kernel,
            title=f"{kernel.name}: {lost:.1f} % of its LDS cycles are lost to bank conflicts",
            saves_ns=saving(profile, kernel.total_ns, part),
            reasoning=reasoning,
            doubts=doubts,
            evidence=measures,
        )

    def _by_instruction(
        self, profile: Profile, kernel: KernelTime, each: dict[str, Any]
    ) -> Finding:
        count = each["value"]
        return self._finding(
            kernel,
            title=f"{kernel.name}: {count:.3g} conflict cycles for every LDS instruction",
            saves_ns=None,
            reasoning="Without the LDS's active cycles (SQ_LDS_IDX_ACTIVE) the part of its time "
            "that is lost cannot be told.",
            doubts=["the LDS's active cycles were not collected"]
            + ([each["reason"]] if each["reason"] else []),
            evidence=[
                Measure(
                    "conflict cycles per LDS instruction",
                    count,
                    "cycles",
                    limit=self.options.min_per_instruction,
                )
            ],
            command=profile.command_for(self.id),
        )

    def _finding(
        self,
        kernel: KernelTime,
        *,
        title: str,
        saves_ns: int | None,
        reasoning: str,
        doubts: list[str],
        evidence: list[Measure],
        command: str | None = None,
    ) -> Finding:
        query = Query("counters", EVIDENCE, {"kernel_id": kernel.kernel_id})
        return Finding(
            rule="lds-bank-conflicts/conflict",
            subject=Subject("kernel", kernel.name, {"kernel_id": kernel.kernel_id}),
            title=title,
            advice=ADVICE,
            saves_ns=saves_ns,
            reasoning=reasoning,
            confidence="medium" if doubts else "high",
            doubts=tuple(doubts),
            evidence=(*evidence, query),
            command=command,
        )


@rocperf.hookimpl
def rocperf_analyses() -> list[type[LdsBankConflicts]]:
    """Register the analysis."""
    return [LdsBankConflicts]
