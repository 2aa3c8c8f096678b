"""Which few kernels take most of the kernel time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import rocperf
from rocperf import Finding, Measure, Query, Requires, Subject, option

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile

#: Kernels by time, the costliest first, with the share that they and all before them take.
PARETO = """
WITH totals AS (
    SELECT k.kernel_id, k.name, k.short_name, k.role, count(*) AS launches,
           sum(d.end_ns - d.start_ns)::BIGINT AS total_ns
    FROM dispatches d JOIN kernels k USING (kernel_id)
    WHERE d.end_ns > d.start_ns GROUP BY ALL
)
SELECT *, total_ns / sum(total_ns) OVER () AS share,
       sum(total_ns) OVER (ORDER BY total_ns DESC, kernel_id) / sum(total_ns) OVER () AS together
FROM totals ORDER BY total_ns DESC, kernel_id
"""
#: Kernels that are listed as evidence. A choice of ours: what fits a screen.
LISTED = 5


@dataclass(frozen=True)
class HotOptions(rocperf.Options):
    """Options of `HotKernels`."""

    most: float = option(
        0.8,
        help="Share of kernel time that the named kernels take together: the usual Pareto rule.",
        minimum=0,
        maximum=1,
    )
    min_busy: float = option(
        0.02,
        help="Share of wall time that kernels must take to be worth a list; ours: nobody acts "
        "below 2 %.",
        minimum=0,
        maximum=1,
    )


class HotKernels(rocperf.Analysis[HotOptions]):
    """Say which kernels take most of the time, so that one knows where to look.

    Time spent is not time lost: this is a list, and it names no saving.
    """

    id = "hot-kernels"
    title = "Hot kernels"
    requires = Requires(tables=("dispatches",))

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield one finding of the whole profile."""
        whole = profile.kernel_ns
        if not whole or (profile.wall_ns and whole < self.options.min_busy * profile.wall_ns):
            return
        rows = profile.sql(PARETO).to_dicts()
        few = next((n for n, row in enumerate(rows, 1) if row["together"] >= self.options.most), 0)
        if not few or few * 2 > len(rows):
            return  # the time is spread evenly: no few kernels stand out
        yield Finding(
            rule="hot-kernels/pareto",
            subject=Subject("profile", "kernels"),
            title=_title(rows, few),
            advice="Begin with these: what other findings say of them counts most, and a kernel "
            "that is not among them can save little.",
            saves_ns=None,
            reasoning="Time spent is not time lost: how much less it could be, other analyses say.",
            confidence="medium" if profile.serialised else "high",
            doubts=("times are of a counter run, in which kernels take longer",)
            if profile.serialised
            else (),
            evidence=(
                *(_share(row) for row in rows[: min(few, LISTED)]),
                Query("kernels by time", PARETO),
            ),
        )


def _title(rows: list[dict[str, Any]], few: int) -> str:
    names = ", ".join(row["short_name"] for row in rows[: min(few, 3)])
    more = f" and {few - 3} more" if few > 3 else ""
    takes = "takes" if few == 1 else "take"
    return (
        f"{few} of {len(rows)} kernels {takes} {100 * rows[few - 1]['together']:.0f} % "
        f"of kernel time: {names}{more}"
    )


def _share(row: dict[str, Any]) -> Measure:
    return Measure(f"{row['short_name']}, {row['launches']:,} launches", row["share"] * 100, "%")


@rocperf.hookimpl
def rocperf_analyses() -> list[type[HotKernels]]:
    """Register the analysis."""
    return [HotKernels]
