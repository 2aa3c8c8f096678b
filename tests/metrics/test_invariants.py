"""Counters that contradict each other, their launch or its time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rocperf
from rocperf.errors import MetricError
from rocperf.hardware import known_targets
from rocperf.ingest.load import ingest
from rocperf.metrics import consistency
from rocperf.metrics.consistency import Broken, broken
from rocperf.metrics.expression import parse
from rocperf.metrics.invariants import CODE, concerned, invariants, linear
from rocperf.metrics.units import counters

C, A = "SQ_LDS_BANK_CONFLICT", "SQ_LDS_IDX_ACTIVE"
GUI = "GRBM_GUI_ACTIVE"


def found(bench: Any) -> list[Broken]:
    profile = bench.profile()
    return broken(bench.connection, profile.gpu_of)


@pytest.fixture(params=[200_000, 0], ids=["grouped", "joined"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check both ways of looking: that of few rows and that of many."""
    monkeypatch.setattr(consistency, "_MANY_ROWS", request.param)


@pytest.mark.usefixtures("way")
def test_hits_and_misses_that_are_not_the_requests(bench: Any) -> None:
    made = bench()
    for requests in (10, 12, 12):
        made.add({"TCC_HIT_sum": 7, "TCC_MISS_sum": 3, "TCC_REQ_sum": requests})
    [one] = found(made)
    assert (one.invariant, one.run_id, one.dispatches) == ("l2-requests", 1, 2)
    assert (one.dispatch_id, one.left, one.right) == (2, 10, 12)
    assert str(one) == (
        "hits and misses of the L2 are its requests: not so in 2 dispatches of run 1, "
        "such as dispatch 2 (10 against 12)"
    )


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(("conflicts", "breaks"), [(0, 0), (999, 0), (1000, 0), (1001, 1)])
def test_a_part_is_at_most_its_whole(bench: Any, conflicts: int, breaks: int) -> None:
    assert len(found(bench().add({C: conflicts, A: 1000}))) == breaks


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(("busy", "breaks"), [(304e6, 0), (306e6, 0), (310e6, 1)])
def test_nothing_is_busy_for_longer_than_the_kernel(bench: Any, busy: float, breaks: int) -> None:
    """A million cycles of 304 compute units are 304e6; 1 % more is let pass."""
    rules = found(bench().add({"SQ_BUSY_CU_CYCLES": busy, GUI: 8e6}))
    assert [each.invariant for each in rules] == ["busy-compute-units"] * breaks


@pytest.mark.usefixtures("way")
def test_rules_of_one_gpu_are_not_asked_of_another(bench: Any) -> None:
    counted = {"TCC_BUBBLE_sum": 90, "TCC_EA0_RDREQ_32B_sum": 20, "TCC_EA0_RDREQ_sum": 100}
    assert [each.invariant for each in found(bench().add(counted))] == ["fabric-reads-gfx942"]
    assert found(bench(target="gfx950", cu_count=256, num_xcc=8).add(counted)) == []


@pytest.mark.usefixtures("way")
def test_counters_of_different_dispatches_or_runs_are_not_compared(bench: Any) -> None:
    made = bench().add({C: 5}).add({A: 3})
    made.add({C: 9}, run=2).add({A: 1}, run=3)
    assert found(made) == []
    assert found(bench().add({C: None, A: 1})) == []


def _launch(bench: Any, waves: float, **geometry: int) -> list[str]:
    made = bench.add({"SQ_WAVES": waves})
    for column, value in geometry.items():
        made.connection.execute(f"UPDATE all_dispatches SET {column} = {value}")
    return [each.invariant for each in found(made)]


def test_waves_are_those_of_the_launch(bench: Any) -> None:
    """4096 work-items in workgroups of 100: 41 of two waves each, or of four of 32 lanes."""
    flat = {"grid_x": 4096, "grid_y": 1, "grid_z": 1, "workgroup_size": 100}
    shape = {"workgroup_x": 100, "workgroup_y": 1, "workgroup_z": 1}
    assert _launch(bench(), 82, **flat, **shape) == []
    assert _launch(bench(), 81, **flat, **shape) == ["launch-waves"]
    assert _launch(bench(), 164, **flat, **shape) == ["launch-waves"]
    assert _launch(bench(target="gfx1100", cu_count=96), 164, **flat, **shape) == []
    assert _launch(bench(target="gfx1100", cu_count=96), 82, **flat, **shape) == []
    # The size alone tells where workgroups fill the grid, and nothing where they do not.
    assert _launch(bench(), 8, grid_size=512, workgroup_size=64) == []
    assert _launch(bench(), 9, grid_size=512, workgroup_size=64) == ["launch-waves"]
    assert _launch(bench(), 9, grid_size=500, workgroup_size=64) == []


@pytest.mark.parametrize(
    ("ns", "factor", "breaks"), [(1_000_000, 1.3, 1), (1_000_000, 1.1, 0), (40_000, 2.0, 0)]
)
def test_cycles_fit_the_clock_where_the_kernel_lasts(
    bench: Any, ns: int, factor: float, breaks: int
) -> None:
    """2.1 GHz on 8 dies; short kernels are not held against it."""
    made = bench().add({GUI: 8 * 2.1 * ns * factor}, ns=ns)
    assert [each.invariant for each in found(made)] == ["clock"] * breaks


def test_what_a_broken_rule_concerns_is_believed_less(bench: Any) -> None:
    made = bench().add({C: 500, A: 1000, "SQ_WAVES": 64, "SQ_INSTS_VALU": 640})
    sure = made.all("lds-conflict-share", "valu-instructions")
    assert set(sure["confidence"]) == {"high"}
    note = {"severity": "warning", "code": f"{CODE}lds-conflicts", "message": "", "run_id": 1}
    made.insert("notes", note)
    share, vector = made.all("lds-conflict-share", "valu-instructions").to_dicts()
    assert (share["state"], share["value"], share["confidence"]) == ("value", 50.0, "medium")
    assert share["reason"] == "counters of run 1 contradict each other, see its notes"
    assert (vector["confidence"], vector["reason"]) == ("high", None)


def test_no_wave_counted_is_not_a_wave_less(bench: Any) -> None:
    made = bench().add({"SQ_WAVES": 0, "SQ_INSTS_VALU": 0, GUI: 8e6})
    waves, cycles = made.all("waves", "gui-cycles").to_dicts()
    assert (waves["state"], waves["value"]) == ("not trustworthy", None)
    assert waves["reason"] == "no wave was counted though the kernel ran"
    assert (cycles["state"], cycles["value"]) == ("value", 1_000_000)


def test_ingest_notes_contradictions(recorded: Callable[[str], Path], tmp_path: Path) -> None:
    """Two passes of the recorded workload counted no wave of seven kernels."""
    path = ingest([recorded("compute_multikernel/MI200")], tmp_path / "t.rocperf")
    with rocperf.open(path) as profile:
        notes = profile.sql("SELECT * FROM notes WHERE starts_with(code, 'invariant-')")
        assert notes.height == 2
        assert set(notes["code"]) == {"invariant-launch-waves"}
        assert set(notes["rows"]) == {7}
        assert all("(0 against " in message for message in notes["message"])
        assert set(profile.metrics(["waves"])["state"]) == {"not trustworthy"}


@pytest.mark.parametrize("name", ["compute_vcopy/MI200", "compute_gemm_mi325x"])
def test_recorded_kernels_break_no_rule(
    recorded: Callable[[str], Path], tmp_path: Path, name: str
) -> None:
    path = ingest([recorded(name)], tmp_path / "t.rocperf", merge=True)
    with rocperf.open(path) as profile:
        notes = profile.sql("SELECT message FROM notes WHERE starts_with(code, 'invariant-')")
    assert notes["message"].to_list() == []


def test_rules_are_sums_of_counters_with_like_units() -> None:
    facts = {"cus": 3.0, "xccs": 2.0, "simds": 12.0}
    known = counters()
    for rule in invariants().values():
        left, right = linear(rule.left, facts), linear(rule.right, facts)
        assert left
        assert right
        assert all(factor > 0 for factor in (*left.values(), *right.values()))
        assert not set(rule.targets) - set(known_targets())
        assert concerned(rule.id) == rule.counters
        units = {known[name].unit for name in rule.counters if name in known}
        plain = {unit.replace("quad-", "").replace("lanes*", "") for unit in units}
        assert len(plain) <= 1, rule.id


def test_sums_are_taken_apart() -> None:
    assert linear(parse("2 * (AB + 3 * CD) - AB / 4"), {}) == {"AB": 1.75, "CD": 6}
    assert linear(parse("AB * hw.cus / hw.xccs"), {"cus": 304, "xccs": 8}) == {"AB": 38}
    for text in ("AB * CD", "AB / CD", "AB + 1", "max(AB, CD)"):
        with pytest.raises(MetricError):
            linear(parse(text), {})


def test_nothing_is_left_on_the_connection(bench: Any) -> None:
    made = bench().add({C: 5, A: 3})
    assert len(found(made)) == 1
    query = "SELECT table_name FROM duckdb_tables() WHERE temporary"
    assert made.connection.execute(query).fetchall() == []
