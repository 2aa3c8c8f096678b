"""Whether copies run at the rate of their link."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import rocperf
from rocperf import Finding, Measure, Query, Requires, Subject, option
from rocperf_analyses.copy_links import PIN, Best, best_of

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile

#: Large copies by direction and agents. Copies that run at once share their link, so the rate is
#: bytes over the time in which at least one ran. One call that made several copies was staged.
#: Times come from timing runs, where there are any.
COPIES = """
WITH kept AS (
    SELECT c.*, CASE WHEN direction = 'host_to_device' THEN dst_agent_id ELSE src_agent_id END
           AS gpu_id
    FROM copies c JOIN runs r USING (run_id)
    WHERE c.end_ns > c.start_ns AND c.bytes >= $large
      AND (r.role = 'timing' OR NOT EXISTS (FROM runs WHERE role = 'timing'))
), reached AS (
    SELECT *, max(end_ns) OVER (PARTITION BY run_id, direction, src_agent_id, dst_agent_id
        ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
    FROM kept
)
SELECT run_id, direction, src_agent_id, dst_agent_id, gpu_id, count(*) AS copies,
       sum(bytes)::BIGINT AS bytes,
       sum(greatest(0, end_ns - greatest(start_ns, coalesce(before, start_ns))))::BIGINT AS busy_ns,
       sum(end_ns - start_ns)::BIGINT AS summed_ns,
       count(DISTINCT nullif(correlation_id, 0)) AS calls,
       count(nullif(correlation_id, 0)) AS called
FROM reached GROUP BY ALL ORDER BY busy_ns DESC, run_id, direction, src_agent_id, dst_agent_id
"""
SIZES = """
SELECT CASE WHEN bytes < 65536 THEN 'under 64 KiB' WHEN bytes < 1048576 THEN '64 KiB to 1 MiB'
            ELSE '1 MiB and more' END AS size, count(*) AS copies, sum(bytes)::BIGINT AS bytes,
       sum(bytes) / sum(end_ns - start_ns) AS gb_per_s
FROM copies WHERE run_id = $run_id AND direction = $direction
  AND src_agent_id IS NOT DISTINCT FROM $src AND dst_agent_id IS NOT DISTINCT FROM $dst
  AND end_ns > start_ns
GROUP BY ALL ORDER BY min(bytes)
"""
WORDS = {
    "host_to_device": "host to GPU",
    "device_to_host": "GPU to host",
    "device_to_device": "GPU to GPU",
}


@dataclass(frozen=True)
class CopyOptions(rocperf.Options):
    """Options of `MemcpyBandwidth`."""

    min_efficiency: float = option(
        0.5,
        help="Share of the link's achievable rate below which copies are reported; ours.",
        minimum=0,
        maximum=1,
    )
    large: int = option(
        1 << 20,
        help="Size from which a copy is judged by its rate; below, latency counts. Ours.",
        unit="B",
        minimum=1 << 16,
    )
    min_share: float = option(
        0.01,
        help="Leave out savings below this share of wall (else kernel) time; ours.",
        minimum=0,
        maximum=1,
    )
    host_link: float = option(
        0.0,
        help="Rate that a copy over the host link can reach; 0 takes it from the product.",
        unit="GB/s",
        minimum=0,
    )


class MemcpyBandwidth(rocperf.Analysis[CopyOptions]):
    """Hold copies, by direction and pair of agents, against what their link can do."""

    id = "memcpy-bandwidth"
    title = "Copy bandwidth"
    requires = Requires(tables=("copies",), columns=("copies.bytes",))

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield one finding a direction and pair of agents."""
        whole = profile.wall_ns or profile.kernel_ns
        rows = profile.sql(COPIES, {"large": self.options.large}).to_dicts()
        several = len({row["run_id"] for row in rows}) > 1
        for row in rows:
            if row["direction"] not in WORDS:
                continue  # no GPU takes part
            rate = row["bytes"] / row["busy_ns"]  # bytes a nanosecond are GB/s
            subject = _subject(row, several=several)
            gpu = profile.gpu_of(row["run_id"], row["gpu_id"])
            best = best_of(row, gpu, self.options.host_link)
            if best is None:
                yield _unknown(row, subject, rate)
                continue
            saves = row["busy_ns"] - round(row["bytes"] / best.rate * 1e9)
            slow = rate * 1e9 < best.rate * self.options.min_efficiency
            if slow and (whole is None or saves >= self.options.min_share * whole):
                yield _slow(row, subject, rate, best, saves)


def _slow(row: dict[str, Any], subject: Subject, rate: float, best: Best, saves: int) -> Finding:
    return Finding(
        rule="memcpy-bandwidth/slow",
        subject=subject,
        title=f"{_what(row)} at {rate:.1f} GB/s; {best.name} does {best.rate / 1e9:.0f} GB/s",
        advice=best.advice,
        saves_ns=saves,
        reasoning=f"At {best.rate / 1e9:.0f} GB/s the same bytes would take {saves / 1e6:.3g} ms "
        "less; hiding the copies behind kernels could save no more than they take.",
        confidence="high" if best.sure else "medium",
        doubts=() if best.sure else (f"no vendor source confirms the rate of {best.name}",),
        evidence=_evidence(row, rate, best),
    )


def _unknown(row: dict[str, Any], subject: Subject, rate: float) -> Finding:
    say = (
        "Say what the link can do, such as -O memcpy-bandwidth.host_link=56 for PCIe Gen5 x16; "
        "lspci -vv names the generation of the slot."
    )
    staged = _copies_per_call(row)
    return Finding(
        rule="memcpy-bandwidth/unknown-link",
        subject=subject,
        title=f"{_what(row)} at {rate:.1f} GB/s; the link is not known, so the rate is not judged",
        advice=f"{PIN} {say}" if staged else say,
        saves_ns=None,
        reasoning="Without the link's rate there is no bound.",
        confidence="low",
        doubts=("no source states the link of this product",),
        evidence=_evidence(row, rate, None),
    )


def _evidence(row: dict[str, Any], rate: float, best: Best | None) -> tuple[Measure | Query, ...]:
    limit = None if best is None else best.rate / 1e9
    measures = [
        Measure("rate of large copies together", rate, "GB/s", limit=limit),
        Measure("bytes copied", row["bytes"], "B"),
    ]
    if row["summed_ns"] > row["busy_ns"]:
        alone = row["bytes"] / row["summed_ns"]
        measures.append(Measure("rate of one copy beside others", alone, "GB/s"))
    if staged := _copies_per_call(row):
        measures.append(Measure("copies made of one call", staged, ""))
    params = {key: row[key] for key in ("run_id", "direction")}
    ends = {"src": row["src_agent_id"], "dst": row["dst_agent_id"]}
    return (*measures, Query("rate by size", SIZES, params | ends))


def _what(row: dict[str, Any]) -> str:
    """Say what was copied, such as ``24 copies (12 for each call) from host to GPU run``."""
    staged = _copies_per_call(row)
    calls = f" ({staged:.0f} for each call)" if staged else ""
    words = WORDS[row["direction"]]
    if row["copies"] == 1:
        return f"1 copy from {words} runs"
    return f"{row['copies']:,} copies{calls} from {words} run"


def _copies_per_call(row: dict[str, Any]) -> float | None:
    """Return how many copies the runtime made of a call: of pageable memory it makes several."""
    if row["calls"] and row["called"] == row["copies"] > row["calls"]:
        return float(row["copies"] / row["calls"])
    return None


def _subject(row: dict[str, Any], *, several: bool) -> Subject:
    name = f"{WORDS[row['direction']]}, agent {row['src_agent_id']} to {row['dst_agent_id']}"
    if several:
        name += f", run {row['run_id']}"
    details = {key: row[key] for key in ("direction", "run_id", "src_agent_id", "dst_agent_id")}
    return Subject("copy", name, details)


@rocperf.hookimpl
def rocperf_analyses() -> list[type[MemcpyBandwidth]]:
    """Register the analysis."""
    return [MemcpyBandwidth]
