"""Whether the host side of copies is pageable memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import rocperf
from rocperf import Confidence, Finding, Measure, Query, Requires, option
from rocperf_analyses import timeline
from rocperf_analyses.copy_groups import WORDS, subject
from rocperf_analyses.copy_links import PIN, Best, best_of

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile

#: Calls that copy between host and GPU, a row each, with the pieces that the runtime made of one.
CALLS = """
WITH pieces AS (
    SELECT c.run_id, c.correlation_id, c.direction, c.src_agent_id, c.dst_agent_id,
           count(*) AS pieces, sum(c.bytes)::BIGINT AS bytes, min(c.start_ns) AS first_ns,
           max(c.end_ns) AS last_ns, sum(c.end_ns - c.start_ns)::BIGINT AS summed_ns,
           min(CASE WHEN direction = 'host_to_device' THEN c.src_address ELSE c.dst_address END)
               AS host_address
    FROM copies c JOIN runs r USING (run_id)
    WHERE r.role = 'timing' AND c.correlation_id > 0 AND c.end_ns > c.start_ns
      AND c.direction IN ('host_to_device', 'device_to_host')
    GROUP BY ALL HAVING sum(c.bytes) >= $large
), made AS (
    SELECT run_id, correlation_id, any_value(name) AS name, min(start_ns) AS call_ns,
           max(end_ns) AS back_ns
    FROM api_calls WHERE domain = 'hip' AND name LIKE 'hipMemcpy%' GROUP BY ALL
), pinned AS (
    SELECT a.run_id, a.address, max(a.bytes) AS bytes
    FROM allocations a JOIN agents g USING (run_id, agent_id)
    WHERE g.kind = 'CPU' AND a.bytes > 0 AND a.address IS NOT NULL GROUP BY ALL
), asked AS (
    SELECT run_id, (SELECT count(*) FROM allocations a WHERE a.run_id = r.run_id) > 0
        AND NOT EXISTS (FROM api_calls a WHERE a.run_id = r.run_id
                        AND starts_with(a.name, 'hipHostRegister')) AS allocations_known
    FROM runs r
), calls AS (
    SELECT p.*, m.name, m.back_ns - m.call_ns AS call_ns, k.allocations_known,
           p.host_address < h.address + h.bytes AS in_pinned
    FROM pieces p LEFT JOIN made m USING (run_id, correlation_id) JOIN asked k USING (run_id)
    ASOF LEFT JOIN pinned h ON h.run_id = p.run_id AND h.address <= p.host_address
)"""
#: By direction and agents: how many calls speak for pageable memory, by each of four rules.
GROUPS = (
    CALLS
    + """
SELECT run_id, direction, src_agent_id, dst_agent_id, count(*) AS calls,
       sum(bytes)::BIGINT AS bytes, sum(pieces)::BIGINT AS pieces,
       sum(last_ns - first_ns)::BIGINT AS span_ns, sum(summed_ns)::BIGINT AS summed_ns,
       count(*) FILTER (in_pinned) AS in_pinned,
       count(*) FILTER (allocations_known AND host_address IS NOT NULL
                        AND in_pinned IS NOT TRUE) AS in_none,
       count(*) FILTER (pieces > 1) AS staged,
       count(*) FILTER (name LIKE '%Async%') AS async,
       count(*) FILTER (name LIKE '%Async%' AND call_ns >= $blocked * (last_ns - first_ns))
           AS blocked
FROM calls GROUP BY ALL ORDER BY span_ns DESC, run_id, direction, src_agent_id, dst_agent_id
"""
)
SHOW = (
    CALLS
    + """
SELECT correlation_id, name, call_ns, pieces, bytes, summed_ns, in_pinned FROM calls
WHERE run_id = $run_id AND direction = $direction ORDER BY first_ns LIMIT 20
"""
)
#: Part of a copy's time that an asynchronous call must take to have blocked. A choice of ours.
BLOCKED = 0.9
#: Part of the link's rate below which a copy is slow as pageable ones are. A choice.
SLOW = 0.5


@dataclass(frozen=True)
class PageableOptions(rocperf.Options):
    """Options of `PageableCopies`."""

    large: int = option(
        1 << 20, help="Size of a call's copy from which it is judged; a choice.", unit="B",
        minimum=1 << 16,
    )  # fmt: skip
    min_share: float = option(
        0.01,
        help="Leave out savings, or else copies, below this share of wall time; ours.",
        minimum=0,
        maximum=1,
    )
    host_link: float = option(
        0.0,
        help="Rate that a copy over the host link can reach; 0 takes it from the product.",
        unit="GB/s",
        minimum=0,
    )


class PageableCopies(rocperf.Analysis[PageableOptions]):
    """Find copies from and to pageable memory, which no profiler records as such.

    Four signs speak for it: the host address lies in no pinned allocation (a); the runtime made
    several copies of one call (b); an asynchronous call took as long as its copy (c); the rate is
    below half of the link's (d). The last alone is left to `memcpy-bandwidth`.
    """

    id = "pageable-copies"
    title = "Copies of pageable memory"
    requires = Requires(tables=("copies",), columns=("copies.bytes",))

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield one finding a direction and pair of agents."""
        timeline.need_timing(profile)
        rows = profile.sql(GROUPS, {"large": self.options.large, "blocked": BLOCKED}).to_dicts()
        several = len({row["run_id"] for row in rows}) > 1
        wall = profile.wall_ns or 0
        for row in rows:
            into = row["direction"] == "host_to_device"
            gpu = profile.gpu_of(row["run_id"], row["dst_agent_id" if into else "src_agent_id"])
            best = best_of(row, gpu, self.options.host_link)
            signs = _signs(row, best)
            confidence = _confidence(signs)
            if confidence is None or row["in_pinned"] * 2 > row["calls"]:
                continue
            saves = None
            if best is not None:
                saves = max(0, row["span_ns"] - round(row["bytes"] / best.rate * 1e9))
                saves = min(saves, wall)
            if (row["span_ns"] if saves is None else saves) >= self.options.min_share * wall:
                yield self._finding(row, best, signs, confidence, saves, several=several)

    def _finding(
        self,
        row: dict[str, Any],
        best: Best | None,
        signs: dict[str, str],
        confidence: Confidence,
        saves: int | None,
        *,
        several: bool,
    ) -> Finding:
        rate = row["bytes"] / row["span_ns"]
        word = "Suspected: c" if confidence == "low" else "C"
        reasoning = "Without the rate of the link there is no bound."
        if best is not None and saves is not None:
            reasoning = (
                f"Pinned, the bytes take {timeline.lasting(row['span_ns'] - saves)} at the "
                f"{best.rate / 1e9:.0f} GB/s of {best.name}, now "
                f"{timeline.lasting(row['span_ns'])}."
            )
        params = {"run_id": row["run_id"], "direction": row["direction"]}
        return Finding(
            rule="pageable-copies/staged",
            subject=subject(row, several=several),
            title=f"{word}opies from {WORDS[row['direction']]} use pageable memory: "
            f"{'; '.join(signs.values())}",
            advice=PIN,
            saves_ns=saves,
            reasoning=reasoning,
            confidence=confidence,
            doubts=("one sign alone has other causes, too",) if len(signs) == 1 else (),
            evidence=(
                Measure("calls", row["calls"], ""),
                Measure("copies made of a call", row["pieces"] / row["calls"], ""),
                Measure("rate from first to last piece of a call", rate, "GB/s",
                        limit=None if best is None else best.rate / 1e9),
                Query("calls that copy", SHOW, {**params, "large": self.options.large}),
            ),
        )  # fmt: skip


def _signs(row: dict[str, Any], best: Best | None) -> dict[str, str]:
    """Return which of the four rules hold for most calls, each with what was seen."""
    calls, found = row["calls"], dict[str, str]()
    if row["in_none"] * 2 > calls:
        which = "1 call" if row["in_none"] == 1 else f"{row['in_none']:,} calls"
        found["a"] = f"the host side of {which} lies in no pinned allocation"
    if row["staged"] * 2 > calls:
        made = "1 call" if row["staged"] == 1 else f"{row['staged']:,} calls"
        found["b"] = f"{made} became {row['pieces']:,} copies"
    if row["blocked"] * 2 > row["async"] > 0:
        found["c"] = "asynchronous calls waited for their copy"
    if best is not None and row["bytes"] / row["span_ns"] < SLOW * best.rate / 1e9:
        found["d"] = f"{row['bytes'] / row['span_ns']:.1f} of {best.rate / 1e9:.0f} GB/s"
    return found


def _confidence(signs: dict[str, str]) -> Confidence | None:
    if "a" in signs or ("b" in signs and len(signs) > 1):
        return "high"
    if "b" in signs:
        return "medium"
    return "low" if "c" in signs else None


@rocperf.hookimpl
def rocperf_analyses() -> list[type[PageableCopies]]:
    """Register the analysis."""
    return [PageableCopies]
