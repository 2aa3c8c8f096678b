"""What the timeline asks a profile: lanes, how busy each is over time, and what happened when.

One process is looked at: clocks of different processes are never mixed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from rocperf.model import Subject
from rocperf.profile import Profile
from rocperf.report.visible import visible

#: Events of every lane, of one run. `lane` sorts as people read: GPUs, copies, host threads.
_EVENTS = """
WITH events AS (
    SELECT 'GPU ' || coalesce(agent_id::VARCHAR, '?') || ' queue '
           || coalesce(queue_id::VARCHAR, '?') AS lane,
           1 AS kind, coalesce(agent_id, 0) AS first, coalesce(queue_id, 0) AS second,
           k.short_name AS what, k.name AS subject, start_ns, end_ns
    FROM dispatches d JOIN kernels k USING (kernel_id) WHERE d.run_id = $run
    UNION ALL
    SELECT 'copy ' || CASE direction WHEN 'host_to_device' THEN 'host to GPU'
               WHEN 'device_to_host' THEN 'GPU to host' WHEN 'device_to_device' THEN 'GPU to GPU'
               ELSE coalesce(direction, '?') END || ' '
           || coalesce(src_agent_id::VARCHAR, '?') || '-' || coalesce(dst_agent_id::VARCHAR, '?'),
           2, coalesce(src_agent_id, 0), coalesce(dst_agent_id, 0),
           coalesce(bytes::VARCHAR || ' B', 'size unknown'), direction, start_ns, end_ns
    FROM copies WHERE run_id = $run
    UNION ALL
    SELECT 'ranges ' || coalesce(thread_id::VARCHAR, '?'), 3, coalesce(thread_id, 0), 0,
           message, message, start_ns, coalesce(end_ns, start_ns)
    FROM markers WHERE run_id = $run
    UNION ALL
    SELECT coalesce(domain, 'calls') || ' ' || coalesce(thread_id::VARCHAR, '?'), 4,
           coalesce(thread_id, 0), 0, name, name, start_ns, end_ns
    FROM api_calls WHERE run_id = $run
), timed AS (FROM events WHERE end_ns >= start_ns)
"""
LANES = (
    _EVENTS
    + """
SELECT lane, count(*) AS events, min(start_ns) AS first_ns, max(end_ns) AS last_ns
FROM timed GROUP BY lane, kind, first, second ORDER BY kind, first, second, lane
"""
)
#: Of every lane and cell of the picture: nanoseconds in which something ran, added up. An event
#: shorter than a cell lies in one cell or in two; a longer one is cut at every cell it touches.
CELLS = (
    _EVENTS
    + """, seen AS (
    SELECT lane, greatest(start_ns, $from) - $from AS a, least(end_ns, $to) - $from AS b
    FROM timed WHERE end_ns >= $from AND start_ns < $to
), cut AS (
    SELECT lane, a, b, unnest(range(a // $step,
        least(greatest(b - 1, a) // $step, $cells - 1) + 1)) AS cell FROM seen
)
SELECT lane, cell, sum(least(b, (cell + 1) * $step) - greatest(a, cell * $step))::BIGINT AS ns,
       count(*) AS events
FROM cut GROUP BY lane, cell
"""
)
AT = (
    _EVENTS
    + """
SELECT what, subject, start_ns, end_ns, count(*) OVER () AS events
FROM timed WHERE lane = $lane AND end_ns >= $from AND start_ns < $to
ORDER BY end_ns - start_ns DESC, start_ns LIMIT 5
"""
)
_PLACE = (
    _EVENTS
    + """
SELECT lane, start_ns, end_ns FROM timed WHERE {test}
ORDER BY end_ns - start_ns DESC, start_ns LIMIT 1
"""
)
#: The process whose events span the longest time.
_RUN = """
SELECT run_id FROM runs WHERE run_id IN (SELECT run_id FROM dispatches
    UNION SELECT run_id FROM copies UNION SELECT run_id FROM api_calls)
ORDER BY role <> 'timing', coalesce(end_ns - start_ns, 0) DESC, run_id LIMIT 1
"""


@dataclass(frozen=True)
class Lane:
    """One row of the picture.

    Parameters
    ----------
    name
        As the profile has it; `label` is safe to show.
    events
        How many there are in all.
    """

    name: str
    events: int

    @property
    def label(self) -> str:
        """The name, letter by letter."""
        return visible(self.name)


@dataclass(frozen=True)
class Extent:
    """A process on the timeline: its run, its lanes, its first and last nanosecond."""

    run: int
    lanes: tuple[Lane, ...]
    first_ns: int
    last_ns: int


@dataclass(frozen=True)
class Window:
    """What the picture shows: from a nanosecond on, so many to a cell."""

    from_ns: int
    step_ns: int
    cells: int

    @property
    def to_ns(self) -> int:
        """Where it ends."""
        return self.from_ns + self.step_ns * self.cells

    def zoomed(self, by: float, at_cell: int) -> Window:
        """Return the window with cells `by` times as long, the time at a cell kept in place."""
        step = max(1, round(self.step_ns * by))
        kept = self.from_ns + self.step_ns * at_cell
        return Window(kept - step * at_cell, step, self.cells)

    def moved(self, cells: int) -> Window:
        """Return the window so many cells later."""
        return Window(self.from_ns + cells * self.step_ns, self.step_ns, self.cells)


def whole(extent: Extent, cells: int) -> Window:
    """Return the window that shows everything."""
    span = max(1, extent.last_ns - extent.first_ns)
    return Window(extent.first_ns, max(1, -(-span // cells)), cells)


def extent_of(profile: Profile) -> Extent | None:
    """Return the process that ran longest; None where nothing has a time."""
    run = profile.scalar(_RUN)
    if run is None:
        return None
    rows = profile.sql(LANES, {"run": run})
    if not rows.height:
        return None
    lanes = tuple(Lane(lane, events) for lane, events in rows.select("lane", "events").rows())
    first, last = rows.select(pl.col("first_ns").min(), pl.col("last_ns").max()).row(0)
    return Extent(run, lanes, first, last)


def busy(profile: Profile, run: int, window: Window) -> Mapping[str, Mapping[int, float]]:
    """Return how full each cell of each lane is, 0 to 1: events that overlap add up to full.

    Cells in which nothing happened are absent; an event that takes no time fills nothing.
    """
    rows = profile.sql(
        CELLS,
        {
            "run": run,
            "from": window.from_ns,
            "to": window.to_ns,
            "step": window.step_ns,
            "cells": window.cells,
        },
    )
    found: dict[str, dict[int, float]] = {}
    # At most one step for each cell of the picture.
    for lane, cell, ns, _ in rows.iter_rows():
        found.setdefault(lane, {})[cell] = min(ns / window.step_ns, 1.0)
    return found


def events_at(profile: Profile, run: int, lane: str, from_ns: int, to_ns: int) -> pl.DataFrame:
    """Return the longest events of a lane within a time, shape (5 at most, 5).

    Columns ``what``, ``subject``, ``start_ns``, ``end_ns`` and ``events``, how many there are.
    """
    return profile.sql(AT, {"run": run, "lane": lane, "from": from_ns, "to": to_ns})


def place_of(profile: Profile, run: int, subject: Subject) -> tuple[str, int, int] | None:
    """Return lane, start and end of the longest event that a finding is about.

    None where it is about no single kind of event, or none of this process.
    """
    if subject.kind == "kernel":
        test, params = "kind = 1 AND subject = $name", {"name": subject.name}
    elif subject.kind == "copy" and "direction" in subject.details:
        test, params = "kind = 2 AND subject = $name", {"name": str(subject.details["direction"])}
    elif subject.kind == "gpu":
        test, params = "kind = 1", {}
    else:
        return None
    rows = profile.sql(_PLACE.format(test=test), {"run": run, **params})
    return rows.row(0) if rows.height else None
