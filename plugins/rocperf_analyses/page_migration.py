"""Whether managed memory moves between host and GPU while the program waits for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import rocperf
from rocperf import Finding, Measure, Query, Requires, Subject, UnjudgedError, option
from rocperf_analyses.timeline import need_timing

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile

#: Events of timing runs, with what set each off: the profiler spells names in several ways.
EVENTS = """
WITH events AS (
    SELECT e.*, upper(replace(coalesce(operation, ''), '_', '')) AS said,
           CASE WHEN kind = 'page_migrate' THEN dst_agent_id ELSE e.agent_id END AS gpu_id,
           CASE WHEN kind = 'page_fault' OR contains(said, 'PAGEFAULTGPU') THEN 'fault'
                WHEN kind = 'queue' AND contains(said, 'SVM') THEN 'svm'
                WHEN kind = 'queue' AND contains(said, 'USERPTR') THEN 'userptr'
                WHEN kind = 'queue' AND contains(said, 'TTM') THEN 'ttm' END AS cause
    FROM kfd_events e JOIN runs r USING (run_id) WHERE r.role = 'timing'
)"""
#: Time of each cause on each GPU: events that overlap count once. A fault ends when its pages
#: have come, so faults and the migrations they set off are one cause.
CAUSES = (
    EVENTS
    + """, reached AS (
    SELECT *, max(end_ns) OVER (PARTITION BY run_id, gpu_id, cause ORDER BY start_ns, end_ns
           ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
    FROM events WHERE end_ns > start_ns AND cause IS NOT NULL
)
SELECT run_id, gpu_id, cause, count(*) AS events,
       count(*) FILTER (kind = 'page_migrate') AS migrations,
       sum(bytes) FILTER (kind = 'page_migrate')::BIGINT AS bytes,
       sum(greatest(0, end_ns - greatest(start_ns, coalesce(before, start_ns))))::BIGINT AS busy_ns
FROM reached GROUP BY ALL ORDER BY busy_ns DESC, run_id, gpu_id, cause
"""
)
#: Ranges that came back to where they were within the window: two returns are one round trip.
#: `returned_ns` is the time in which at least one such move ran.
TRIPS = (
    EVENTS
    + """, moves AS (
    SELECT run_id, address, bytes, start_ns, end_ns, src_agent_id, dst_agent_id,
           lag(src_agent_id) OVER w AS from_id, lag(dst_agent_id) OVER w AS to_id,
           lag(end_ns) OVER w AS left_ns
    FROM events WHERE kind = 'page_migrate' AND address IS NOT NULL AND end_ns >= start_ns
      AND src_agent_id <> dst_agent_id
    WINDOW w AS (PARTITION BY run_id, address ORDER BY start_ns, end_ns)
), returns AS (
    SELECT *, count(*) OVER (PARTITION BY run_id, address) // 2 AS trips FROM moves
    WHERE src_agent_id = to_id AND dst_agent_id = from_id AND start_ns - left_ns <= $window_ns
), kept AS (
    SELECT *, max(end_ns) OVER (PARTITION BY run_id ORDER BY start_ns, end_ns
           ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
    FROM returns WHERE trips >= $least
)"""
)
PING_PONG = (
    TRIPS
    + """
SELECT run_id, count(DISTINCT address) AS ranges, count(*) AS returns, max(trips) AS trips,
       sum(bytes)::BIGINT AS bytes,
       sum(greatest(0, end_ns - greatest(start_ns, coalesce(before, start_ns))))::BIGINT AS busy_ns
FROM kept GROUP BY ALL ORDER BY busy_ns DESC, run_id
"""
)
WORST_RANGES = (
    TRIPS
    + """
SELECT address, any_value(bytes) AS bytes, count(*) AS returns, min(start_ns) AS first_ns
FROM kept WHERE run_id = $run_id GROUP BY address ORDER BY returns DESC, address LIMIT 20
"""
)
WORST_EVENTS = (
    EVENTS
    + """
SELECT operation, src_agent_id, dst_agent_id, count(*) AS events, sum(bytes)::BIGINT AS bytes,
       sum(end_ns - start_ns)::BIGINT AS total_ns, max(end_ns - start_ns) AS longest_ns
FROM events WHERE run_id = $run_id AND gpu_id IS NOT DISTINCT FROM $gpu_id AND cause = $cause
GROUP BY ALL ORDER BY total_ns DESC
"""
)
#: An event says how many were dropped; where it does not, it stands for one at least.
DROPPED = """
SELECT sum(coalesce(TRY_CAST(json_extract_string(args, '$.count') AS BIGINT), 1))::BIGINT
FROM kfd_events WHERE kind = 'dropped'
"""
_PREFETCH = (
    "Move the pages before the kernel runs: hipMemPrefetchAsync(pointer, bytes, device, stream) "
    "on the kernel's stream; or allocate with hipMalloc and copy once."
)
_EVICTED = {
    "svm": (
        "while managed memory was moved or unmapped",
        "Do not touch or free managed memory on the host while kernels run; prefetch between "
        "phases with hipMemPrefetchAsync, and keep host data in allocations of its own.",
    ),
    "userptr": (
        "while pages of registered host memory were moved",
        "Allocate host buffers with hipHostMalloc instead of registering or passing malloc "
        "memory, and switch NUMA balancing off (sysctl kernel.numa_balancing=0): it unmaps pages "
        "that the GPU uses.",
    ),
    "ttm": (
        "while device memory was evicted",
        "The GPUs' memory is full: allocate less at once, free what is done, or let fewer "
        "processes share the GPU.",
    ),
}


@dataclass(frozen=True)
class MigrationOptions(rocperf.Options):
    """Options of `PageMigration`."""

    min_share: float = option(
        0.05,
        help="Share of wall time in faults or evicted queues from which they are reported; ours.",
        minimum=0,
        maximum=1,
    )
    window: float = option(
        100.0,
        help="Time within which a range that goes back counts as returning; ours.",
        unit="ms",
        minimum=0,
    )
    least_trips: int = option(
        2, help="Round trips of a range from which it ping-pongs; ours.", unit="trips", minimum=1
    )


class PageMigration(rocperf.Analysis[MigrationOptions]):
    """Find page faults that stop kernels, memory that goes back and forth, and evicted queues."""

    id = "page-migration"
    title = "Page migration"
    requires = Requires(tables=("kfd_events",))

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield one finding a GPU and cause, and one a process for memory that ping-pongs.

        Raises
        ------
        UnjudgedError
            If there is no timing run, or the driver dropped events and the rest shows nothing.
        """
        need_timing(profile)
        wall = profile.wall_ns or 0
        dropped = profile.scalar(DROPPED) or 0
        said = False
        for row in profile.sql(CAUSES).to_dicts():
            if row["busy_ns"] >= self.options.min_share * wall:
                said = True
                yield _stopped(row, wall, dropped)
        params = {
            "window_ns": round(self.options.window * 1e6),
            "least": self.options.least_trips,
        }
        for row in profile.sql(PING_PONG, params).to_dicts():
            said = True
            yield _ping_pong(row, params, wall, dropped)
        if dropped and not said:
            raise UnjudgedError(
                f"every event of the driver: it dropped {dropped:,}, and the rest shows nothing",
                hint=profile.command_for(self.id, self.requires),
            )


def _stopped(row: Mapping[str, Any], wall: int, dropped: int) -> Finding:
    saves, cause = min(row["busy_ns"], wall), row["cause"]
    gpu = "a GPU" if row["gpu_id"] is None else f"GPU agent {row['gpu_id']}"
    measures = [Measure("time of these events", row["busy_ns"] / 1e6, "ms")]
    if cause == "fault":
        what, advice, tail = _faults(row, gpu)
        measures += tail
    else:
        why, advice = _EVICTED[cause]
        times = "once" if row["events"] == 1 else f"{row['events']:,} times"
        what = f"{gpu} had its queues stopped {times}, {saves / 1e6:.3g} ms in all, {why}"
    keys = {"run_id": row["run_id"], "gpu_id": row["gpu_id"], "cause": cause}
    return Finding(
        rule="page-migration/faults" if cause == "fault" else f"page-migration/evicted-{cause}",
        subject=Subject("gpu", f"{gpu}, run {row['run_id']}", keys),
        title=what,
        advice=advice,
        saves_ns=saves,
        reasoning="The time in which at least one of these events was under way; work that went "
        "on beside them is not taken off.",
        confidence="medium",
        doubts=_doubts(dropped, "other waves and queues may have worked meanwhile"),
        evidence=(*measures, Query("events by kind", WORST_EVENTS, keys)),
    )


def _faults(row: Mapping[str, Any], gpu: str) -> tuple[str, str, list[Measure]]:
    if not row["migrations"]:
        faults = "1 page fault" if row["events"] == 1 else f"{row['events']:,} page faults"
        return f"{faults} of {gpu} took {row['busy_ns'] / 1e6:.3g} ms", _PREFETCH, []
    rate = row["migrations"] / (row["busy_ns"] / 1e9)
    moves = "1 migration" if row["migrations"] == 1 else f"{row['migrations']:,} migrations"
    what = f"{moves} that faults of {gpu} set off took {row['busy_ns'] / 1e6:.3g} ms"
    measures = [Measure("migrations a second", rate, "")]
    if row["bytes"]:
        what += f" at {row['bytes'] / row['busy_ns']:.1f} GB/s"
        measures.append(Measure("bytes migrated", row["bytes"], "B"))
        measures.append(Measure("rate of migration", row["bytes"] / row["busy_ns"], "GB/s"))
    return what, _PREFETCH, measures


def _ping_pong(
    row: Mapping[str, Any], params: Mapping[str, Any], wall: int, dropped: int
) -> Finding:
    ranges = "1 range" if row["ranges"] == 1 else f"{row['ranges']:,} ranges"
    measures = [
        Measure("moves back", row["returns"], ""),
        Measure("round trips of the worst range", row["trips"], "", limit=params["least"]),
    ]
    if row["bytes"]:
        measures.append(Measure("bytes moved back", row["bytes"], "B"))
    return Finding(
        rule="page-migration/ping-pong",
        subject=Subject("process", f"process of run {row['run_id']}", {"run_id": row["run_id"]}),
        title=f"{ranges} of managed memory went back and forth, up to {row['trips']:,} times",
        advice="Keep each range where it is used: split what host and GPU write into separate "
        "allocations, set hipMemAdviseSetReadMostly on what both only read, or "
        "hipMemAdviseSetPreferredLocation with hipMemAdviseSetAccessedBy on the rest.",
        saves_ns=min(row["busy_ns"], wall) or None,
        reasoning="The time in which at least one move back was under way: pages that stay need "
        "none of them.",
        confidence="medium",
        doubts=_doubts(dropped, "kernels that did not need these pages may have run meanwhile"),
        evidence=(
            *measures,
            Query("worst ranges", WORST_RANGES, {**params, "run_id": row["run_id"]}),
        ),
    )


def _doubts(dropped: int, doubt: str) -> tuple[str, ...]:
    doubts = [doubt, "sizes are differences of addresses, taken to be bytes"]
    if dropped:
        doubts.insert(
            0, f"the driver dropped {dropped:,} events: counts and times are lower bounds"
        )
    return tuple(doubts)


@rocperf.hookimpl
def rocperf_analyses() -> list[type[PageMigration]]:
    """Register the analysis."""
    return [PageMigration]
