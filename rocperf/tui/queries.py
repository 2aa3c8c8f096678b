"""What the screen asks a profile."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from rocperf.profile import open_profile

KERNELS = """
SELECT k.short_name, k.name, count(*) AS dispatches,
       sum(CASE WHEN d.end_ns >= d.start_ns THEN d.end_ns - d.start_ns END)::BIGINT AS total_ns
FROM dispatches d JOIN kernels k USING (kernel_id)
GROUP BY ALL ORDER BY total_ns DESC NULLS LAST, k.name
"""


def kernels_by_time(path: Path) -> pl.DataFrame:
    """Return kernels, the costliest first: short_name, name, dispatches, total_ns, share."""
    with open_profile(path) as profile:
        frame = profile.sql(KERNELS)
        whole = profile.kernel_ns
    share = pl.col("total_ns") / whole if whole else pl.lit(None, pl.Float64)
    return frame.with_columns(share.alias("share"))
