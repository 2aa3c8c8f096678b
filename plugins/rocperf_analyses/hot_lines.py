"""At which source lines or instructions waves spend their time, and what they wait for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import rocperf
from rocperf import Finding, Measure, Query, Requires, Subject, UnjudgedError, option
from rocperf_analyses.kernel_times import saving
from rocperf_analyses.wave_waits import advice_for, wait_of

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile

#: Samples with the kernel and the place that they fell on: the source line where there is debug
#: information, else the instruction. The profiler puts a sentence where it knows neither.
PLACED = """
WITH placed AS (
    SELECT p.*, d.kernel_id,
           CASE WHEN source LIKE '%:%' AND source NOT LIKE 'Unrecognized%' THEN source END AS line,
           coalesce(line, instruction) AS place
    FROM pc_samples p LEFT JOIN (SELECT DISTINCT run_id, dispatch_id, kernel_id
                                 FROM all_dispatches) d USING (run_id, dispatch_id)
)"""
#: Each kernel by the method that tells more: stochastic sampling gives the reasons of stalls.
#: `placed` is the number of its samples whose place is known; samples of dispatches that were
#: not traced belong to a kernel without name.
HOTTEST = (
    PLACED
    + """, best AS (
    SELECT kernel_id, max(method) AS method FROM placed GROUP BY ALL
), kept AS (
    SELECT p.* FROM placed p JOIN best b
    ON p.kernel_id IS NOT DISTINCT FROM b.kernel_id AND p.method = b.method
), lines AS (
    SELECT kernel_id, method, place, any_value(line) AS line, count(*) AS samples,
           mode(instruction) AS instruction,
           count(*) FILTER (issued) AS issued, mode(stall_reason) AS reason,
           coalesce(list_max(map_values(histogram(stall_reason))), 0) AS stalled
    FROM kept GROUP BY kernel_id, method, place
), totals AS (
    SELECT kernel_id, sum(samples)::BIGINT AS of_kernel,
           sum(samples) FILTER (place IS NULL) AS unknown FROM lines GROUP BY ALL
)
SELECT l.*, t.of_kernel, coalesce(t.unknown, 0)::BIGINT AS unknown,
       k.name, k.role, (SELECT sum(of_kernel)::BIGINT FROM totals) AS of_all
FROM lines l JOIN totals t ON l.kernel_id IS NOT DISTINCT FROM t.kernel_id
LEFT JOIN kernels k ON k.kernel_id = l.kernel_id
WHERE place IS NOT NULL
QUALIFY row_number() OVER (PARTITION BY l.kernel_id ORDER BY samples DESC, place) = 1
ORDER BY samples DESC, l.kernel_id
"""
)
EVIDENCE = (
    PLACED
    + """
SELECT place, any_value(instruction) AS instruction, count(*) AS samples,
       count(*) FILTER (issued) AS issued, mode(stall_reason) AS reason
FROM placed WHERE kernel_id IS NOT DISTINCT FROM $kernel_id AND method = $method
GROUP BY place ORDER BY samples DESC, place LIMIT 20
"""
)
REASONS = (
    PLACED
    + """
SELECT CASE WHEN issued THEN 'issued' ELSE stall_reason END AS state, count(*) AS samples
FROM placed WHERE kernel_id IS NOT DISTINCT FROM $kernel_id AND method = $method
  AND place = $place
GROUP BY ALL ORDER BY samples DESC, state
"""
)
KERNEL_NS = """
SELECT kernel_id, sum(end_ns - start_ns)::BIGINT FROM dispatches WHERE end_ns >= start_ns
GROUP BY ALL
"""
#: Samples from which a share is known to about three points (95 %, by the normal limit of the
#: binomial: 1.96 * sqrt(0.25 / 1000) is 0.031).
ENOUGH = 1000
STOCHASTIC_TARGETS = ("gfx942", "gfx950")


@dataclass(frozen=True)
class LineOptions(rocperf.Options):
    """Options of `HotLines`."""

    min_samples: int = option(
        100,
        help="Samples of a kernel below which its lines are not judged; ours: with 100, a share "
        "is known to 10 points.",
        unit="samples",
        minimum=10,
    )
    min_share: float = option(
        0.01, help="Leave out kernels below this share of all samples; ours.", minimum=0, maximum=1
    )
    min_line_share: float = option(
        0.25,
        help="Share of a kernel's samples from which a line is called hot; ours.",
        minimum=0,
        maximum=1,
    )


class HotLines(rocperf.Analysis[LineOptions]):
    """Find the line at which the waves of a kernel are most often, and say what they wait for."""

    id = "hot-lines"
    title = "Hot lines"
    requires = Requires(tables=("pc_samples",))

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield one finding a kernel.

        Raises
        ------
        UnjudgedError
            If there are no samples, none whose place is known, or too few of every kernel.
        """
        rows = profile.sql(HOTTEST).to_dicts()
        if not rows:
            raise UnjudgedError(
                "samples whose instruction is known (all of them lack it)",
                hint=profile.command_for(self.id, self.requires),
            )
        most = max(row["of_kernel"] for row in rows)
        if most < self.options.min_samples:
            raise UnjudgedError(
                f"{self.options.min_samples} samples of a kernel (there are {most} at most)",
                hint=profile.command_for(self.id, self.requires),
            )
        times = dict(profile.sql(KERNEL_NS).iter_rows())
        for row in rows:
            if (
                row["of_kernel"] >= self.options.min_samples
                and row["of_kernel"] >= self.options.min_share * row["of_all"]
                and row["samples"] >= self.options.min_line_share * row["of_kernel"]
                and row["role"] != "communication"  # it spins while it waits for other GPUs
            ):
                yield self._finding(profile, row, times.get(row["kernel_id"]))

    def _finding(self, profile: Profile, row: Mapping[str, Any], total_ns: int | None) -> Finding:
        part = row["samples"] / row["of_kernel"]
        wait = wait_of(row)
        name = row["name"] or "kernels that were not traced"
        params = {"kernel_id": row["kernel_id"], "method": row["method"]}
        evidence: list[Measure | Query] = [
            Measure("samples of the kernel", row["of_kernel"], "samples"),
            Measure("at this place", part * 100, "%", limit=self.options.min_line_share * 100),
            Measure("instruction sampled most there", row["instruction"] or "unknown"),
        ]
        if row["method"] == "stochastic":
            issued = 100 * row["issued"] / row["samples"]
            evidence += [
                Measure("of these, waves that issued an instruction", issued, "%"),
                Query("states at this place", REASONS, {**params, "place": row["place"]}),
            ]
        better = row["method"] == "host_trap" and _can_do_better(profile)
        saves, why = _bound(profile, row, part, total_ns)
        doubts = _doubts(profile, row)
        return Finding(
            rule="hot-lines/line" if row["line"] else "hot-lines/instruction",
            subject=Subject(
                "kernel" if row["name"] else "profile", name, {"kernel_id": row["kernel_id"]}
            ),
            title=f"{name}: {100 * part:.1f} % of {row['of_kernel']:,} samples at {row['place']}"
            + (f", {wait.words}" if wait else ""),
            advice=advice_for(wait, has_line=bool(row["line"])),
            saves_ns=saves,
            reasoning=why,
            confidence="medium" if doubts else "high",
            doubts=doubts,
            evidence=(*evidence, Query("hottest places", EVIDENCE, params)),
            command=profile.command_for(self.id, self.requires) if better else None,
        )


def _bound(
    profile: Profile, row: Mapping[str, Any], part: float, total_ns: int | None
) -> tuple[int | None, str]:
    if total_ns is None:
        return None, "Times of the kernel were not recorded beside the samples."
    upper = upper_share(row["samples"], row["of_kernel"])
    return saving(profile, total_ns, upper), (
        f"Waves spend {100 * part:.1f} % of the kernel's time there, {100 * upper:.1f} % at most "
        "within the error of sampling (95 %); if that took no time at all, as much would be saved."
    )


def upper_share(hits: int, samples: int) -> float:
    """Return the upper end of Wilson's 95 % interval of a share, 0 to 1.

    Parameters
    ----------
    hits, samples
        Samples at the place, and all of them; at least one.

    References
    ----------
    E. B. Wilson, "Probable inference, the law of succession, and statistical inference", Journal
    of the American Statistical Association 22 (1927).
    """
    z = 1.96
    share, spread = hits / samples, z * z / samples
    middle = share + spread / 2
    reach = z * (share * (1 - share) / samples + spread / (4 * samples)) ** 0.5
    return float(min(1.0, (middle + reach) / (1 + spread)))


def _doubts(profile: Profile, row: Mapping[str, Any]) -> tuple[str, ...]:
    doubts: list[str] = []
    if row["method"] == "host_trap":
        doubts.append(
            "host-trap samples may name the instruction after the one that waits, and tell no "
            "reason"
        )
    if row["of_kernel"] < ENOUGH:
        reach = 98 / row["of_kernel"] ** 0.5
        doubts.append(f"with {row['of_kernel']:,} samples shares are known to {reach:.0f} points")
    if row["unknown"]:
        missing = row["unknown"] / row["of_kernel"]
        doubts.append(f"{100 * missing:.1f} % of the samples have no known instruction")
    if row["name"] is None:
        doubts.append("the dispatches were not traced, so the samples may be of several kernels")
    if not profile.scalar(
        "SELECT count(*) FROM runs WHERE role = 'timing' AND run_id NOT IN "
        "(SELECT DISTINCT run_id FROM pc_samples)"
    ):
        doubts.append("times are of the run that was sampled, which sampling slows down")
    return tuple(doubts)


def _can_do_better(profile: Profile) -> bool:
    """Tell whether the GPU can sample stochastically."""
    return any(gpu.target in STOCHASTIC_TARGETS for gpu in profile.agents)


@rocperf.hookimpl
def rocperf_analyses() -> list[type[HotLines]]:
    """Register the analysis."""
    return [HotLines]
