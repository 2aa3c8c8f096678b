"""Whether copies use host memory that is far from their GPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import rocperf
from rocperf import Finding, Measure, Query, Requires, Subject, UnjudgedError, option
from rocperf_analyses.timeline import lasting

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile

#: Large copies between host and GPU on machines of several processors, with the processor next
#: to the GPU: the one that a link joins to it directly, else the one of its NUMA node.
COPIES = """
WITH cpus AS (
    SELECT run_id, agent_id, numa_node FROM agents WHERE kind = 'CPU'
    QUALIFY count(*) OVER (PARTITION BY run_id) > 1
), linked AS (
    SELECT l.run_id, l.from_agent_id AS gpu,
           arg_min(l.to_agent_id, (coalesce(l.hops, 1), coalesce(l.weight, 0))) AS cpu
    FROM links l JOIN cpus c ON c.run_id = l.run_id AND c.agent_id = l.to_agent_id
    WHERE l.from_agent_id NOT IN (SELECT agent_id FROM cpus o WHERE o.run_id = l.run_id)
    GROUP BY ALL
), near AS (
    SELECT a.run_id, a.agent_id AS gpu, coalesce(any_value(l.cpu), any_value(c.agent_id)) AS cpu
    FROM agents a LEFT JOIN linked l ON l.run_id = a.run_id AND l.gpu = a.agent_id
    LEFT JOIN cpus c ON c.run_id = a.run_id AND c.numa_node = a.numa_node
    WHERE a.kind = 'GPU' GROUP BY ALL
), kept AS (
    SELECT c.run_id, direction, bytes, c.start_ns, c.end_ns,
           CASE direction WHEN 'host_to_device' THEN dst_agent_id ELSE src_agent_id END AS gpu,
           CASE direction WHEN 'host_to_device' THEN src_agent_id ELSE dst_agent_id END AS host
    FROM copies c JOIN runs r USING (run_id)
    WHERE direction IN ('host_to_device', 'device_to_host') AND c.end_ns > c.start_ns
      AND bytes >= $large
      AND (r.role = 'timing' OR NOT EXISTS (FROM runs WHERE role = 'timing'))
), placed AS (
    SELECT k.*, n.cpu, k.host <> n.cpu AS far FROM kept k
    JOIN cpus c ON c.run_id = k.run_id AND c.agent_id = k.host
    LEFT JOIN near n ON n.run_id = k.run_id AND n.gpu = k.gpu
), reached AS (
    SELECT *, max(end_ns) OVER (PARTITION BY run_id, direction, gpu, far ORDER BY start_ns, end_ns
           ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
    FROM placed
)"""
SIDES = (
    COPIES
    + """, sides AS (
    SELECT run_id, direction, gpu, cpu, far, count(*) AS copies, sum(bytes)::BIGINT AS bytes,
           min(host) AS host,
           sum(greatest(0, end_ns - greatest(start_ns, coalesce(before, start_ns))))::BIGINT AS ns
    FROM reached GROUP BY ALL
)
SELECT f.*, n.bytes AS near_bytes, n.ns AS near_ns FROM sides f
LEFT JOIN sides n ON n.run_id = f.run_id AND n.direction = f.direction AND n.gpu = f.gpu
    AND NOT n.far
WHERE f.far OR f.far IS NULL ORDER BY f.ns DESC, f.run_id, f.direction, f.gpu
"""
)
#: Large copies on machines of several processors, and those of them that name one.
TOLD = (
    COPIES
    + """
SELECT (SELECT count(*) FROM kept WHERE run_id IN (SELECT run_id FROM cpus)) AS copies,
       (SELECT count(*) FROM placed) AS placed
"""
)
BY_HOST = (
    COPIES
    + """
SELECT host, cpu AS nearest, count(*) AS copies, sum(bytes)::BIGINT AS bytes,
       sum(bytes) / sum(end_ns - start_ns) AS gb_per_s
FROM placed WHERE run_id = $run_id AND direction = $direction AND gpu = $gpu
GROUP BY ALL ORDER BY bytes DESC
"""
)


@dataclass(frozen=True)
class NumaOptions(rocperf.Options):
    """Options of `NumaAffinity`."""

    large: int = option(
        1 << 20,
        help="Size from which a copy is looked at; below, latency counts. Ours.",
        unit="B",
        minimum=1 << 16,
    )
    min_share: float = option(
        0.02,
        help="Leave out far copies that take less than this share of wall time; ours.",
        minimum=0,
        maximum=1,
    )
    as_fast: float = option(
        0.9,
        help="Share of the near copies' rate from which far ones lose nothing; ours.",
        minimum=0,
        maximum=1,
    )


class NumaAffinity(rocperf.Analysis[NumaOptions]):
    """Find copies whose host side belongs to another processor than the GPU's.

    A trace does not tell on which core a thread ran, so copies alone are looked at.
    """

    id = "numa-affinity"
    title = "Host memory far from the GPU"
    requires = Requires(tables=("copies", "agents"), columns=("copies.bytes",))

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield one finding a GPU and direction.

        Raises
        ------
        UnjudgedError
            If there are several processors, and no copy names one, or of no copy's GPU the
            nearest is known.
        """
        whole = profile.wall_ns or profile.kernel_ns
        told = profile.sql(TOLD, {"large": self.options.large}).row(0, named=True)
        if told["copies"] and not told["placed"]:
            raise UnjudgedError("copies that name the processor at their host end")
        rows = profile.sql(SIDES, {"large": self.options.large}).to_dicts()
        if rows and all(row["cpu"] is None for row in rows):
            raise UnjudgedError("links or NUMA nodes that tell which processor a GPU hangs on")
        for row in rows:
            if row["cpu"] is None or row["ns"] < self.options.min_share * (whole or 0):
                continue
            near = row["near_bytes"] / row["near_ns"] if row["near_bytes"] else None
            if near is None or row["bytes"] / row["ns"] < self.options.as_fast * near:
                yield _far(row, near, self.options.large, whole)


def _far(row: dict[str, Any], near: float | None, large: int, whole: int | None) -> Finding:
    rate = row["bytes"] / row["ns"]  # bytes a nanosecond are GB/s
    way = "to" if row["direction"] == "host_to_device" else "from"
    single = row["copies"] == 1
    copies, use = ("1 copy", "uses") if single else (f"{row['copies']:,} copies", "use")
    keys = {name: row[name] for name in ("run_id", "direction", "gpu")}
    doubts = ["the processor is the one that the runtime named; the memory may lie elsewhere"]
    measures = [Measure("rate of far copies", rate, "GB/s", limit=near)]
    saves = None
    reasoning = "No copy used near memory, so what that would save cannot be told."
    if near is not None:
        saves = round(row["ns"] - row["bytes"] / near)
        saves = saves if whole is None else min(saves, whole)
        reasoning = f"At {near:.1f} GB/s, as copies with near memory, the bytes take so much less."
        measures.append(Measure("rate of near copies", near, "GB/s"))
    else:
        doubts.append("no copy with near memory shows what the distance costs")
    return Finding(
        rule="numa-affinity/far-memory",
        subject=Subject(
            "copy", f"far memory {way} GPU agent {row['gpu']}, run {row['run_id']}", keys
        ),
        title=f"{copies} {way} GPU agent {row['gpu']} {use} memory of processor {row['host']}, "
        f"not of {row['cpu']} beside it: {lasting(row['ns'])} at {rate:.1f} GB/s"
        + (f", near ones {near:.1f}" if near is not None else ""),
        advice="Run the process beside its GPU (numactl --cpunodebind and --membind with the "
        "node that rocm-smi --showtoponuma names, or the launcher's binding by GPU), and "
        "allocate host buffers after that with hipHostMalloc and hipHostMallocNumaUser.",
        saves_ns=saves,
        reasoning=reasoning,
        confidence="medium" if near is not None else "low",
        doubts=tuple(doubts),
        evidence=(*measures, Query("copies by processor", BY_HOST, {**keys, "large": large})),
    )


@rocperf.hookimpl
def rocperf_analyses() -> list[type[NumaAffinity]]:
    """Register the analysis."""
    return [NumaAffinity]
