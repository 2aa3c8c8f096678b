"""What the screen asks a profile. Each call opens and closes its own connection."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from rocperf.engine import Stop
from rocperf.pipeline import Summary, summarise
from rocperf.profile import Profile, open_profile

# A dispatch whose end lies before its start has no duration: it is counted, and left out of
# total and mean.
KERNELS = """
WITH timed AS (
    SELECT kernel_id, CASE WHEN end_ns >= start_ns THEN end_ns - start_ns END AS ns
    FROM dispatches
)
SELECT k.kernel_id, k.short_name, k.name, count(*) AS dispatches, sum(ns)::BIGINT AS total_ns,
       avg(ns) AS mean_ns, median(ns) AS median_ns, quantile_cont(ns, 0.95) AS p95_ns
FROM timed JOIN kernels k USING (kernel_id)
GROUP BY ALL ORDER BY total_ns DESC NULLS LAST, k.name
"""


@dataclass(frozen=True)
class Overview:
    """A profile at a glance.

    Parameters
    ----------
    summary
        What a report says first.
    kernels
        As `kernels_by_time` returns them.
    short_names
        Full kernel names to the unique ones made for people.
    """

    summary: Summary
    kernels: pl.DataFrame
    short_names: dict[str, str]


def overview(path: Path, region: str | None = None, stop: Stop | None = None) -> Overview:
    """Read what the screen shows besides findings.

    Parameters
    ----------
    path
        The profile.
    region
        Message of a roctx range to look inside of; None for everything.
    stop
        Asked from another thread to end the reading.

    Raises
    ------
    RocperfError
        As `rocperf.profile.open_profile`.
    """
    stop = stop or Stop()
    with open_profile(path, region=region) as profile, stop.watching(profile.interrupt):
        names = profile.sql("SELECT name, short_name FROM kernels")
        return Overview(
            summary=summarise(profile, path, region),
            kernels=kernels_by_time(profile),
            short_names=dict(names.iter_rows()),
        )


def kernels_by_time(profile: Profile) -> pl.DataFrame:
    """Return kernels, the costliest first.

    Returns
    -------
    polars.DataFrame
        Shape (kernels with a dispatch, 9): ``kernel_id``, ``short_name``, ``name``,
        ``dispatches``; ``total_ns``, ``mean_ns``, ``median_ns`` and ``p95_ns`` (null where no
        dispatch has a duration; between two dispatches they are interpolated); ``share`` of the
        summed kernel time, 0 to 1 (null where that is unknown).
    """
    frame = profile.sql(KERNELS)
    whole = profile.kernel_ns
    share = pl.col("total_ns") / whole if whole else pl.lit(None, pl.Float64)
    return frame.with_columns(share.alias("share"))
