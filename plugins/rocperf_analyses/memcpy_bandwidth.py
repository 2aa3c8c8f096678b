"""Whether copies run at the rate of their link."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import rocperf
from rocperf import Finding, Measure, Profile, Query, Requires, Subject, option

COPIES = """
SELECT run_id, direction, src_agent_id, dst_agent_id,
       CASE WHEN direction = 'host_to_device' THEN dst_agent_id ELSE src_agent_id END AS gpu_id,
       count(*) AS copies, sum(bytes)::BIGINT AS bytes, sum(end_ns - start_ns)::BIGINT AS busy_ns,
       count(*) FILTER (bytes >= $large) AS large,
       coalesce(sum(bytes) FILTER (bytes >= $large), 0)::BIGINT AS large_bytes,
       coalesce(sum(end_ns - start_ns) FILTER (bytes >= $large), 0)::BIGINT AS large_ns
FROM copies WHERE end_ns > start_ns AND bytes > 0
GROUP BY ALL ORDER BY busy_ns DESC
"""
SIZES = """
SELECT CASE WHEN bytes < 65536 THEN 'under 64 KiB' WHEN bytes < 1048576 THEN '64 KiB to 1 MiB'
            ELSE '1 MiB and more' END AS size, count(*) AS copies, sum(bytes)::BIGINT AS bytes,
       sum(bytes) / sum(end_ns - start_ns) AS gb_per_s
FROM copies WHERE direction = $direction AND end_ns > start_ns GROUP BY ALL ORDER BY min(bytes)
"""
WORDS = {"host_to_device": "host to GPU", "device_to_host": "GPU to host"}


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
        minimum=1,
    )
    min_share: float = option(
        0.01,
        help="Leave out savings below this share of wall (else kernel) time; ours.",
        minimum=0,
        maximum=1,
    )


class MemcpyBandwidth(rocperf.Analysis[CopyOptions]):
    """Hold copies, by direction and pair of agents, against what their link can do."""

    id = "memcpy-bandwidth"
    title = "Copy bandwidth"
    requires = Requires(tables=("copies",), columns=("copies.bytes",))

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield one finding a direction and pair of agents."""
        whole = profile.wall_ns or profile.kernel_ns
        for row in profile.sql(COPIES, {"large": self.options.large}).to_dicts():
            if row["direction"] not in WORDS or not row["large_ns"]:
                continue  # small copies are bound by latency, not by the link
            gpu = profile.gpu_of(row["run_id"], row["gpu_id"])
            link = gpu.host_link() if gpu is not None else None
            rate = row["large_bytes"] / row["large_ns"]
            if link is None:
                yield self._unknown(row, rate)
                continue
            best = (link.achievable_bytes_per_s or link.peak_bytes_per_s) / 1e9
            saves = row["large_ns"] - round(row["large_bytes"] / best)
            if rate >= best * self.options.min_efficiency:
                continue
            if whole is None or saves >= self.options.min_share * whole:
                yield self._slow(row, rate, best, link.name, saves)

    def _slow(
        self, row: dict[str, Any], rate: float, best: float, link: str, saves: int
    ) -> Finding:
        return Finding(
            rule="memcpy-bandwidth/slow",
            subject=self._subject(row),
            title=f"{row['large']:,} copies from {WORDS[row['direction']]} run at {rate:.1f} GB/s; "
            f"{link} does {best:.0f}",
            advice="Allocate the host side with hipHostMalloc, or pin it once with "
            "hipHostRegister, and copy with hipMemcpyAsync: pageable memory is staged in chunks.",
            saves_ns=saves,
            reasoning=f"At {best:.0f} GB/s the same bytes would take {saves / 1e6:.3g} ms less; "
            "hiding the copies behind kernels could save no more than they take.",
            confidence="high",
            evidence=(
                Measure("rate of large copies", rate, "GB/s", limit=best),
                Measure("bytes copied", row["large_bytes"], "B"),
                Query("rate by size", SIZES, {"direction": row["direction"]}),
            ),
        )

    def _unknown(self, row: dict[str, Any], rate: float) -> Finding:
        return Finding(
            rule="memcpy-bandwidth/unknown-link",
            subject=self._subject(row),
            title=f"{row['large']:,} copies from {WORDS[row['direction']]} run at {rate:.1f} GB/s; "
            "the link of this GPU is not known, so the rate is not judged",
            advice="Compare with the PCIe generation of the slot: lspci -vv names its speed.",
            saves_ns=None,
            reasoning="Without the link's rate there is no bound.",
            confidence="low",
            doubts=("no source states the host link of this product",),
            evidence=(
                Measure("rate of large copies", rate, "GB/s"),
                Query("rate by size", SIZES, {"direction": row["direction"]}),
            ),
        )

    def _subject(self, row: dict[str, Any]) -> Subject:
        name = f"{WORDS[row['direction']]}, agent {row['src_agent_id']} to {row['dst_agent_id']}"
        details = {"direction": row["direction"], "run_id": row["run_id"]}
        return Subject("copy", name, details)


@rocperf.hookimpl
def rocperf_analyses() -> list[type[MemcpyBandwidth]]:
    """Register the analysis."""
    return [MemcpyBandwidth]
