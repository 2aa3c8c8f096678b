"""Whether GPUs wait for RCCL: communication in the open, ranks that come late, slow links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import rocperf
from rocperf import Finding, Measure, Query, Requires, Subject, option
from rocperf_analyses import collectives
from rocperf_analyses.timeline import SPANS, lasting, need_timing, worst_of

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile

#: How long each GPU communicates, computes, and does both. Between one edge and the next the
#: numbers of running kernels are the running sums; edges at one time leave no time between them.
OVERLAP = (
    SPANS
    + """, mine AS (
    SELECT * FROM spans WHERE kind <> 'copy' AND (run_id, agent_id) IN (
        SELECT (run_id, agent_id) FROM spans WHERE kind = 'communication')
), edges AS (
    SELECT run_id, agent_id, kind, start_ns AS edge_ns, 1 AS step FROM mine
    UNION ALL SELECT run_id, agent_id, kind, end_ns, -1 FROM mine
), levels AS (
    SELECT run_id, agent_id, lead(edge_ns) OVER w - edge_ns AS ns,
           sum(CASE kind WHEN 'communication' THEN step ELSE 0 END) OVER w > 0 AS talks,
           sum(CASE kind WHEN 'kernel' THEN step ELSE 0 END) OVER w > 0 AS works
    FROM edges WINDOW w AS (PARTITION BY run_id, agent_id ORDER BY edge_ns
                            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
)
SELECT run_id, agent_id, coalesce(sum(ns) FILTER (talks), 0)::BIGINT AS talk_ns,
       coalesce(sum(ns) FILTER (talks AND works), 0)::BIGINT AS both_ns,
       coalesce(sum(ns) FILTER (works), 0)::BIGINT AS work_ns
FROM levels GROUP BY ALL ORDER BY talk_ns - both_ns DESC, run_id, agent_id
"""
)
KERNELS = """
SELECT k.name, d.queue_id, count(*) AS dispatches, sum(d.end_ns - d.start_ns)::BIGINT AS total_ns,
       median(d.end_ns - d.start_ns) AS median_ns, max(d.end_ns - d.start_ns) AS longest_ns
FROM dispatches d JOIN kernels k USING (kernel_id)
WHERE k.role = 'communication' AND d.run_id = $run_id AND d.agent_id = $agent_id
GROUP BY ALL ORDER BY total_ns DESC
"""
#: How long each rank was in a collective longer than the one that was in it shortest: that one
#: came last, and the others waited for it. Durations alone count, so clocks need not agree.
WAITS = (
    collectives.RANKS
    + """
SELECT run_id, agent_id, sum(ns - best)::BIGINT AS waited_ns,
       count(*) FILTER (ns = best) AS last, count(*) AS collectives, sum(best)::BIGINT AS least_ns
FROM comm JOIN nths USING (nth) GROUP BY ALL ORDER BY waited_ns DESC, run_id, agent_id
"""
)


@dataclass(frozen=True)
class RcclOptions(rocperf.Options):
    """Options of `RcclBandwidth`."""

    min_exposed: float = option(
        0.1,
        help="Share of wall time in communication without compute beside it from which it is "
        "reported; ours.",
        minimum=0,
        maximum=1,
    )
    min_wait: float = option(
        0.05,
        help="Share of wall time that a rank waits for others from which it is reported; ours.",
        minimum=0,
        maximum=1,
    )
    min_efficiency: float = option(
        0.7,
        help="Share of what the links carry below which large collectives are called slow; ours: "
        "a healthy MI300X reaches 0.87 at 64 MiB.",
        minimum=0,
        maximum=1,
    )
    large: int = option(
        64 << 20,
        help="Payload from which the rate of a collective is judged; ours: below, latency counts.",
        unit="B",
        minimum=1 << 20,
    )
    ranks: int = option(
        0,
        help="Ranks of the communicator; 0 takes the GPUs that ran RCCL in this profile.",
        unit="ranks",
        minimum=0,
    )
    links: float = option(
        0.0,
        help="Bus bandwidth that the links of a GPU carry; 0 takes it from the topology.",
        unit="GB/s",
        minimum=0,
    )


class RcclBandwidth(rocperf.Analysis[RcclOptions]):
    """Find communication that nothing hides, ranks that let others wait, and slow collectives."""

    id = "rccl-bandwidth"
    title = "Communication with RCCL"
    requires = Requires(tables=("dispatches",))

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield at most one finding a rule; of collectives one a function."""
        ranks = collectives.ranks_of(profile)
        if profile.wall_ns is None:
            need_timing(profile)
            return
        if not ranks.count:
            return
        wall = profile.wall_ns
        waits = profile.sql(WAITS).to_dicts() if ranks.alike else []
        late = bool(waits) and waits[0]["waited_ns"] >= self.options.min_wait * wall
        if late:
            yield _late(waits, wall)
        waited = {(w["run_id"], w["agent_id"]): w["waited_ns"] for w in waits} if late else {}
        rows = profile.sql(OVERLAP).to_dicts()
        for row in rows:
            row["waited_ns"] = waited.get((row["run_id"], row["agent_id"]), 0)
            row["open_ns"] = row["talk_ns"] - row["both_ns"] - row["waited_ns"]
        worst = max(rows, key=lambda row: row["open_ns"], default=None)
        least = max(1, self.options.min_exposed * wall)
        if worst is not None and worst["open_ns"] >= least:
            yield _exposed(worst, len(rows), wall, ranks)
        yield from self._slow(profile, ranks, wall)

    def _slow(self, profile: Profile, ranks: collectives.Ranks, wall: int) -> Iterator[Finding]:
        members = self.options.ranks or ranks.count
        if members < 2:
            return  # one rank does not tell how many there are
        mesh = collectives.mesh_of(profile, ranks, members)
        if self.options.links:
            mesh = collectives.Mesh(self.options.links * 1e9, "as set", sure=True)
        if mesh is None:
            return
        found = collectives.rates(profile, members, self.options.large, alike=ranks.alike)
        for row, params in found:
            rate = row["bus"] / row["ns"]  # bytes a nanosecond are GB/s
            if rate * 1e9 < self.options.min_efficiency * mesh.rate:
                yield _slow(row, params, rate, mesh, wall, alike=ranks.alike)


def _gpu(row: Mapping[str, Any]) -> Subject:
    keys = {"run_id": row["run_id"], "agent_id": row["agent_id"]}
    return Subject("gpu", f"GPU agent {row['agent_id']}, run {row['run_id']}", keys)


def _exposed(row: Mapping[str, Any], gpus: int, wall: int, ranks: collectives.Ranks) -> Finding:
    bare = row["open_ns"]
    hidden = row["both_ns"] / row["talk_ns"]
    coverable = min(bare, row["work_ns"] - row["both_ns"])
    subject = _gpu(row)
    if coverable * 2 >= bare:
        advice = (
            "Start each collective as soon as its data are ready, on a stream of its own "
            "(hipStreamWaitEvent orders it), and compute on meanwhile: smaller buckets earlier "
            "(bucket_cap_mb of PyTorch's DDP), or the next layer beside it."
        )
    else:
        advice = (
            f"Only {lasting(coverable)} of compute is there to hide it behind: send fewer bytes "
            "(bf16 gradients, less frequent reductions), fuse small collectives into one "
            "(ncclGroupStart, larger buckets), and let all ranks arrive together."
        )
    doubts: list[str] = []
    if not ranks.alike:
        doubts.append(
            "the time holds waiting for ranks that come late, which one rank cannot tell: ingest "
            "all ranks together"
            if ranks.count < 2
            else "ranks ran different kernels, so what they waited for one another is not known"
        )
    return Finding(
        rule="rccl-bandwidth/exposed",
        subject=subject,
        title=f"RCCL runs {lasting(bare)} with no compute beside it; {100 * hidden:.0f} % of the "
        f"communication is hidden{worst_of(gpus)}",
        advice=advice,
        saves_ns=min(bare, wall),
        reasoning="The time in which kernels of RCCL ran and no kernel of the program did, less "
        f"what is known to be waiting for others. Overlap alone could hide {lasting(coverable)} "
        "of it, since no more compute runs in the open; the rest goes only with the "
        "communication itself.",
        confidence="medium" if doubts else "high",
        doubts=tuple(doubts),
        evidence=(
            Measure("communication", row["talk_ns"] / 1e6, "ms"),
            Measure("of it beside compute", row["both_ns"] / 1e6, "ms"),
            Measure("compute", row["work_ns"] / 1e6, "ms"),
            Query("kernels of RCCL", KERNELS, subject.details),
        ),
    )


def _late(waits: list[dict[str, Any]], wall: int) -> Finding:
    most, last = waits[0], waits[-1]
    subject = _gpu(last)
    count = last["collectives"]
    return Finding(
        rule="rccl-bandwidth/late-rank",
        subject=subject,
        title=f"{len(waits)} ranks wait for each other up to {lasting(most['waited_ns'])}: "
        f"{subject.name} enters last in {last['last']:,} of {count:,} collectives",
        advice="Give the ranks equal work (batch and sequence lengths, data loading, uneven "
        "shards), and look at what the late rank does before its collectives: rocperf view, its "
        "gaps and kernels.",
        saves_ns=min(most["waited_ns"], wall),
        reasoning="For each collective the rank that was in it shortest came last; the rank that "
        "waited most was in them longer by this much in all.",
        confidence="medium",
        doubts=(
            "collectives are matched by their order on each GPU: with several communicators the "
            "nth of one rank need not be the nth of another",
        ),
        evidence=(
            Measure("waiting of the rank that waits most", most["waited_ns"] / 1e6, "ms"),
            Measure("waiting of the late rank", last["waited_ns"] / 1e6, "ms"),
            Measure("least time of all collectives", last["least_ns"] / 1e6, "ms"),
            Query("waiting by rank", WAITS),
        ),
    )


def _slow(
    row: Mapping[str, Any],
    params: Mapping[str, Any],
    rate: float,
    mesh: collectives.Mesh,
    wall: int,
    *,
    alike: bool,
) -> Finding:
    best = mesh.rate / 1e9
    doubts = [] if mesh.sure else ["no vendor source confirms the rate of the links"]
    if not alike:
        doubts.append("the times hold waiting for ranks that come late")
    calls = f"{row['calls']:,} calls of {row['name']} reach"
    if row["calls"] == 1:
        calls = f"1 call of {row['name']} reaches"
    return Finding(
        rule="rccl-bandwidth/slow",
        subject=Subject("profile", str(row["name"]), {"name": row["name"]}),
        title=f"{calls} {rate:.0f} GB/s of bus bandwidth; the links carry {best:.0f}",
        advice="Look for the slow link with peer-links and rocm-smi --showtopo; see with "
        "NCCL_DEBUG=INFO whether RCCL goes over P2P, shared memory or the network; "
        "keep NCCL_P2P_DISABLE unset, and disable ACS in the host.",
        saves_ns=min(max(0, round(row["ns"] - row["bus"] / best)), wall) or None,
        reasoning=f"At the rate of {mesh.words} the same bytes take so much less.",
        confidence="medium" if doubts else "high",
        doubts=tuple(doubts),
        evidence=(
            Measure("bus bandwidth", rate, "GB/s", limit=best),
            Measure("algorithm bandwidth", row["bytes"] / row["ns"], "GB/s"),
            Query("rates by size", collectives.BY_SIZE, dict(params)),
        ),
    )


@rocperf.hookimpl
def rocperf_analyses() -> list[type[RcclBandwidth]]:
    """Register the analysis."""
    return [RcclBandwidth]
