"""Recorded kernels of which it is known what they did."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rocperf
from rocperf.ingest.load import ingest

MIB = 2**20
Ask = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def ask(recorded: Callable[[str], Path], tmp_path: Path) -> Ask:
    """Return a function that evaluates metrics of a recorded trace."""

    def answer(trace: str, *ids: str) -> list[dict[str, Any]]:
        path = ingest([recorded(trace)], tmp_path / "trace.rocperf")
        with rocperf.open(path) as profile:
            return profile.metrics(ids, per="dispatch").to_dicts()

    return answer


@pytest.mark.parametrize("mib", [32, 256])
def test_reads_of_known_size_on_gfx1201(ask: Ask, mib: int) -> None:
    rows = ask(f"rocprofv3_csv_gfx1201_bandwidth/rd_{mib}MiB", "fabric-read-bytes")
    [row] = [row for row in rows if (row["value"] or 0) > MIB]
    assert row["state"] == "value"
    assert row["value"] == pytest.approx(mib * MIB, rel=0.01)


@pytest.mark.parametrize("mib", [16, 256])
def test_writes_of_known_size_on_gfx1201(ask: Ask, mib: int) -> None:
    """A fill and a kernel write them; up to 6 MiB stay in the L2."""
    rows = ask(f"rocprofv3_csv_gfx1201_bandwidth/wr_{mib}MiB", "fabric-write-bytes")
    assert len(rows) == 2
    for row in rows:
        assert row["state"] == "value"
        assert (mib - 6) * MIB <= row["value"] <= mib * MIB


def test_sized_requests_that_read_zero_there_are_not_used(ask: Ask) -> None:
    trace = "rocprofv3_csv_gfx1201_bandwidth/rd_null"
    assert all((row["value"] or 0) < MIB for row in ask(trace, "fabric-read-bytes"))


def test_clock_gated_counters_are_not_trusted(ask: Ask) -> None:
    rows = ask("rocprofv3_csv_gfx1201_clock_gated", "waves", "valu-instructions")
    waves = [row for row in rows if row["metric"] == "waves"]
    assert waves
    assert all(row["state"] == "value" and row["value"] > 0 for row in waves)
    vector = [row for row in rows if row["metric"] == "valu-instructions"]
    assert vector
    assert {row["state"] for row in vector} == {"not trustworthy"}
    assert all("clock gated" in row["reason"] for row in vector)
    assert all("amd-smi set --perf-level STABLE_STD" in row["reason"] for row in vector)


def test_wide_and_long_formats_agree(recorded: Callable[[str], Path], tmp_path: Path) -> None:
    """The same copy on an MI300X, as wide CSV and as long CSV made of rocpd."""
    ids = ("waves", "instructions-per-wave", "l1-lines", "l1-hit-rate", "l2-bytes", "coalescing")
    found = []
    for number, name in enumerate(("MI300X_A1", "MI300X_A1_rocpd")):
        path = ingest([recorded(f"compute_vcopy/{name}")], tmp_path / f"{number}.rocperf")
        with rocperf.open(path) as profile:
            frame = profile.metrics(ids)
        assert set(frame["state"]) == {"value"}
        found.append(frame.select("metric", "value").rows())
    assert found[0] == found[1]


def test_instances_add_up_to_the_wide_value(
    recorded: Callable[[str], Path], tmp_path: Path
) -> None:
    """Channels of the L2 that a file tells apart add up to what its ``_sum`` column says."""
    path = ingest([recorded("compute_vcopy/MI200")], tmp_path / "t.rocperf")
    with rocperf.open(path) as profile:
        pairs = profile.sql("""
            WITH added AS (
                SELECT run_id, dispatch_id, counter || '_sum' AS counter, sum(value) AS total,
                       count(*) AS instances
                FROM counter_instances GROUP BY ALL
            )
            SELECT added.counter, instances, total, v.value
            FROM added JOIN counter_values v USING (run_id, dispatch_id, counter)
        """)
    assert pairs.height > 30
    assert set(pairs["instances"]) == {32}
    assert pairs["total"].to_list() == pairs["value"].to_list()
