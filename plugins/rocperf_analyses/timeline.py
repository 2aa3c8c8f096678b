"""When GPUs work and when they idle, and what the host did meanwhile."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rocperf import UnjudgedError

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile

#: Idle time between kernels that is normal back to back; a choice.
NORMAL_NS = 2_000
#: Idle time up to which only the launch itself is to blame; above, the host worked. A choice.
LAUNCH_NS = 10_000
#: Idle time above which a gap is a stall. A choice.
STALL_NS = 100_000

#: What a GPU is busy with, a row each: of timing runs only, since counter runs serialise.
#: Copies and fills that the runtime makes by kernels are copies; one between GPUs occupies both.
SPANS = """
WITH spans AS (
    SELECT d.run_id, d.agent_id, d.start_ns, d.end_ns, d.correlation_id,
           CASE WHEN k.role IN ('copy', 'fill') THEN 'copy'
                WHEN k.role = 'communication' THEN 'communication' ELSE 'kernel' END AS kind
    FROM dispatches d JOIN kernels k USING (kernel_id)
    WHERE NOT d.serialised AND d.end_ns > d.start_ns AND d.agent_id IS NOT NULL
    UNION ALL
    SELECT c.run_id, CASE c.direction WHEN 'host_to_device' THEN c.dst_agent_id
           ELSE c.src_agent_id END, c.start_ns, c.end_ns, c.correlation_id, 'copy'
    FROM copies c JOIN runs r USING (run_id)
    WHERE r.role = 'timing' AND c.end_ns > c.start_ns
      AND c.direction IN ('host_to_device', 'device_to_host', 'device_to_device')
    UNION ALL
    SELECT c.run_id, c.dst_agent_id, c.start_ns, c.end_ns, c.correlation_id, 'copy'
    FROM copies c JOIN runs r USING (run_id)
    WHERE r.role = 'timing' AND c.end_ns > c.start_ns
      AND c.direction = 'device_to_device' AND c.dst_agent_id <> c.src_agent_id
)"""
#: Idle time between the first and the last kernel of each GPU, a row a gap: longer than
#: `$normal`, from the end of everything before to the start of what comes next.
GAPS = (
    SPANS
    + """, extent AS (
    SELECT run_id, agent_id, min(start_ns) AS first_ns, max(end_ns) AS last_ns
    FROM spans WHERE kind <> 'copy' GROUP BY ALL
), reached AS (
    SELECT *, max(end_ns) OVER (PARTITION BY run_id, agent_id ORDER BY start_ns, end_ns
           ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS from_ns
    FROM spans
), gaps AS (
    SELECT s.run_id, s.agent_id, s.from_ns, s.start_ns AS to_ns, s.correlation_id, s.kind
    FROM reached s JOIN extent e USING (run_id, agent_id)
    WHERE s.start_ns - s.from_ns > $normal
      AND s.from_ns >= e.first_ns AND s.start_ns <= e.last_ns {inside}
)"""
)
_INSIDE = """AND EXISTS (FROM markers m WHERE m.run_id = s.run_id AND m.message = $region
      AND m.start_ns <= s.from_ns AND m.end_ns >= s.start_ns)"""
#: A launch that waits for scratch memory was queued, too, but has that cause.
_SCRATCH = """if(EXISTS (FROM scratch_events e WHERE e.run_id = parts.run_id
        AND e.start_ns < parts.to_ns AND e.end_ns > parts.from_ns), 'scratch', 'queued')"""
#: What a call of the host is for; NULL where it does not keep the host from launching.
CALL_KIND = """CASE WHEN name LIKE 'hip%Synchronize%' OR name LIKE 'hipStreamWait%' THEN 'sync'
    WHEN name LIKE 'hip%Malloc%' OR name LIKE 'hip%Free%' OR name LIKE 'hipHostRegister%'
      OR name LIKE 'hipHostUnregister%' THEN 'allocation'
    WHEN name LIKE 'hipMemcpy%' OR name LIKE 'hipMemset%' THEN 'copy'
    WHEN name LIKE 'hipModuleLoad%' THEN 'load'
    WHEN name LIKE 'hipGraphInstantiate%' THEN 'graph' END"""
#: Each gap with its cause. On the thread that launched what ends the gap, the host's time from
#: the gap's start to that launch is split into calls that wait, allocate, copy, load code or make
#: graphs, and the rest, which is work of its own; the largest part names the cause. A launch that
#: was there before the gap began was `queued`, or the runtime was preparing a copy (it stages
#: pageable memory); a launch that was not recorded leaves it `unknown`. From the call of a copy
#: to the copy itself is the copy's time.
#: Calls of a thread follow one another, so a running sum up to a time tells each part.
CAUSES = (
    GAPS
    + f""", calls AS (
    SELECT run_id, thread_id, start_ns, end_ns, {CALL_KIND} AS kind FROM api_calls
    WHERE domain = 'hip' AND kind IS NOT NULL AND thread_id IS NOT NULL
      AND end_ns >= start_ns
), sums AS (
    SELECT *, sum(CASE WHEN kind = 'sync' THEN end_ns - start_ns ELSE 0 END) OVER w AS sync,
           sum(CASE WHEN kind = 'allocation' THEN end_ns - start_ns ELSE 0 END) OVER w AS alloc,
           sum(CASE WHEN kind = 'copy' THEN end_ns - start_ns ELSE 0 END) OVER w AS copied,
           sum(CASE WHEN kind = 'load' THEN end_ns - start_ns ELSE 0 END) OVER w AS loaded,
           sum(CASE WHEN kind = 'graph' THEN end_ns - start_ns ELSE 0 END) OVER w AS made
    FROM calls WINDOW w AS (PARTITION BY run_id, thread_id ORDER BY start_ns, end_ns
                            ROWS UNBOUNDED PRECEDING)
), launches_of AS (
    SELECT run_id, correlation_id, min(start_ns) AS call_ns, any_value(thread_id) AS thread_id
    FROM api_calls WHERE domain = 'hip' AND correlation_id > 0
      AND (name LIKE '%Launch%' OR name LIKE 'hipMemcpy%' OR name LIKE 'hipMemset%')
    GROUP BY ALL
), launched AS (
    SELECT g.*, l.thread_id, least(greatest(l.call_ns, g.from_ns), g.to_ns) AS call_ns
    FROM gaps g LEFT JOIN launches_of l USING (run_id, correlation_id)
), parts AS (
    SELECT g.run_id, g.agent_id, g.from_ns, g.to_ns, g.kind, g.thread_id, g.call_ns,
           {{parts}}
    FROM launched g
    ASOF LEFT JOIN sums a ON a.run_id = g.run_id AND a.thread_id = g.thread_id
        AND a.start_ns <= g.from_ns
    ASOF LEFT JOIN sums b ON b.run_id = g.run_id AND b.thread_id = g.thread_id
        AND b.start_ns <= g.call_ns
), caused AS (
    SELECT *, call_ns - from_ns - sync - alloc - copied - loaded - made AS host,
           copied + if(kind = 'copy', to_ns - call_ns, 0) AS copying,
        CASE WHEN thread_id IS NULL THEN 'unknown'
             WHEN call_ns <= from_ns THEN if(kind = 'copy', 'copy', {{queued}})
             WHEN host >= greatest(sync, alloc, copying, loaded, made) THEN 'host'
             WHEN sync >= greatest(alloc, copying, loaded, made) THEN 'sync'
             WHEN alloc >= greatest(copying, loaded, made) THEN 'allocation'
             WHEN copying >= greatest(loaded, made) THEN 'copy'
             WHEN loaded >= made THEN 'load' ELSE 'graph' END AS cause
    FROM parts
)"""
)
_PART = """coalesce(b.{0}, 0) - CASE WHEN b.kind = '{1}' THEN greatest(b.end_ns - g.call_ns, 0)
           ELSE 0 END - coalesce(a.{0}, 0) + CASE WHEN a.kind = '{1}'
           THEN greatest(a.end_ns - g.from_ns, 0) ELSE 0 END AS {0}"""
_SUMS = (("sync", "sync"), ("alloc", "allocation"), ("copied", "copy"), ("loaded", "load"),
         ("made", "graph"))  # fmt: skip
_BY_CAUSE = """
SELECT run_id, agent_id, cause, to_ns - from_ns <= $launch AS brief, count(*) AS gaps,
       sum(to_ns - from_ns)::BIGINT AS idle_ns, max(to_ns - from_ns) AS longest_ns
FROM caused GROUP BY ALL ORDER BY ALL
"""
_WORK = (
    SPANS
    + """, reached AS (
    SELECT *, max(end_ns) OVER (PARTITION BY run_id, agent_id ORDER BY start_ns, end_ns
           ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS from_ns
    FROM spans WHERE kind <> 'copy'
)
SELECT run_id, agent_id, count(*) AS kernels, max(end_ns) - min(start_ns) AS span_ns,
       sum(greatest(0, end_ns - greatest(start_ns, coalesce(from_ns, start_ns))))::BIGINT
           AS busy_ns,
       median(end_ns - start_ns) FILTER (kind = 'kernel') AS median_ns
FROM reached GROUP BY ALL ORDER BY busy_ns DESC, run_id, agent_id
"""
)


@dataclass(frozen=True)
class Idle:
    """Idle time of one GPU in one run that has one cause and one size.

    Parameters
    ----------
    cause
        ``host``, ``sync``, ``allocation``, ``copy``, ``load``, ``graph``, ``scratch``,
        ``queued`` or ``unknown``.
    brief
        Whether the gaps are short enough to be the launch itself.
    """

    run_id: int
    agent_id: int
    cause: str
    brief: bool
    gaps: int
    idle_ns: int
    longest_ns: int


@dataclass(frozen=True)
class Work:
    """Kernels of one GPU in one run: how many, from first to last, busy, and their median."""

    run_id: int
    agent_id: int
    kernels: int
    span_ns: int
    busy_ns: int
    median_ns: float | None

    @property
    def key(self) -> tuple[int, int]:
        """Run and agent."""
        return self.run_id, self.agent_id


_idle: weakref.WeakKeyDictionary[Profile, tuple[Idle, ...]] = weakref.WeakKeyDictionary()
_work: weakref.WeakKeyDictionary[Profile, tuple[Work, ...]] = weakref.WeakKeyDictionary()


def need_timing(profile: Profile) -> None:
    """Raise where only counter runs exist: they run one kernel at a time.

    Raises
    ------
    UnjudgedError
        If no timing run was recorded.
    """
    if profile.wall_ns is None:
        raise UnjudgedError("a timing run: a counter run serialises, so its gaps mean nothing")


def gaps_sql(profile: Profile, text: str) -> str:
    """Complete a query that begins with `GAPS` or `CAUSES`, for the whole or a region."""
    parts = ",\n           ".join(_PART.format(*each) for each in _SUMS)
    some = profile.scalar("SELECT count(*) FROM (SELECT 1 FROM scratch_events LIMIT 1)")
    text = text.replace("{inside}", _INSIDE if profile.region else "").replace("{parts}", parts)
    return text.replace("{queued}", _SCRATCH if some else "'queued'")


def gaps_params(profile: Profile, **params: object) -> dict[str, object]:
    """Return the parameters of such a query, with those of its own."""
    region = {"region": profile.region} if profile.region else {}
    return {"normal": NORMAL_NS, **region, **params}


def idle(profile: Profile) -> tuple[Idle, ...]:
    """Return the idle time of each GPU by cause; asked once a profile."""
    if profile not in _idle:
        rows = profile.sql(
            gaps_sql(profile, CAUSES + _BY_CAUSE), gaps_params(profile, launch=LAUNCH_NS)
        )
        _idle[profile] = tuple(Idle(**row) for row in rows.to_dicts())
    return _idle[profile]


def work(profile: Profile) -> tuple[Work, ...]:
    """Return what each GPU does in each run, the busiest first; asked once a profile."""
    if profile not in _work:
        _work[profile] = tuple(Work(**row) for row in profile.sql(_WORK).to_dicts())
    return _work[profile]


def launch_bound(
    each: Work, rows: Iterable[Idle], *, median_ns: float = LAUNCH_NS, share: float = 0.3
) -> bool:
    """Tell whether kernels are so short that launching them leaves the GPU idle.

    Parameters
    ----------
    median_ns, share
        Median duration below which, and idle share of the span above which, that is so. The
        defaults are a choice.
    """
    total = sum(row.idle_ns for row in rows if (row.run_id, row.agent_id) == each.key)
    short = each.median_ns is not None and each.median_ns < median_ns
    return short and each.span_ns > 0 and total > share * each.span_ns


def of(each: Work, rows: Iterable[Idle], *causes: str, brief: bool | None = None) -> list[Idle]:
    """Pick the idle time of one GPU by causes, and by size where `brief` is given."""
    return [
        row
        for row in rows
        if (row.run_id, row.agent_id) == each.key
        and row.cause in causes
        and brief in (None, row.brief)
    ]


def worst_of(count: int) -> str:
    """Say in a title that a finding is about the worst of several; empty for one."""
    return f" (the worst of {count} GPUs and processes)" if count > 1 else ""


def lasting(ns: float) -> str:
    """Write a duration with three digits and the unit that fits, such as ``3.21 ms``."""
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= size:
            return f"{ns / size:.3g} {unit}" if ns < 999 * size else f"{ns / size:,.0f} {unit}"
    return f"{ns:.0f} ns"


def gpu_name(each: Work, *, several: bool) -> str:
    """Name a GPU for people; with its run where there are several."""
    return f"GPU agent {each.agent_id}" + (f", run {each.run_id}" if several else "")


def keys(each: Work) -> Mapping[str, Any]:
    """Return the keys that select a GPU's rows."""
    return {"run_id": each.run_id, "agent_id": each.agent_id}
