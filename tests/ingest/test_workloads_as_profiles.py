"""Workload folders as whole profiles: passes of one process, launches matched over all of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from rocperf.ingest.load import ingest


@pytest.mark.parametrize(
    ("trace", "passes", "launches", "nanoseconds"),
    [
        # Passes and the run for times; kernel time as the tool's own summary has it.
        ("mi300x_ubench/coalescing/uncoalesced", 15, 1, 5889),
        ("compute_vcopy/MI200", 25, 3, 52320),
        ("compute_vcopy/MI300X_A1", 24, 3, None),
        # Times of its first pass, from the first rows of each launch in the file.
        ("compute_vcopy/MI300X_A1_rocpd", 12, 3, 8613 + 6810 + 6730),
    ],
)
def test_every_pass_sees_the_same_launches(
    recorded: Callable[[str], Path],
    tmp_path: Path,
    trace: str,
    passes: int,
    launches: int,
    nanoseconds: int | None,
) -> None:
    profile = ingest([recorded(trace)], tmp_path / "out.rocperf")
    with duckdb.connect(str(profile), read_only=True) as connection:

        def row(sql: str) -> tuple[object, ...] | None:
            return connection.execute(sql).fetchone()

        assert row("SELECT count(*), count(DISTINCT process_id) FROM runs") == (passes, 1)
        assert row("SELECT count(*), min(runs) FROM launches") == (launches, passes)
        assert row("SELECT count(*) FROM all_dispatches WHERE launch_id IS NULL") == (0,)
        assert row("SELECT count(*), sum(end_ns - start_ns) FROM dispatches") == (
            launches,
            nanoseconds,
        )
