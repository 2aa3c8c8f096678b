"""Which runs a value comes from: one of a process where it can be, several stitched otherwise."""

from __future__ import annotations

from typing import Any

C, A = "SQ_LDS_BANK_CONFLICT", "SQ_LDS_IDX_ACTIVE"
TA, TCP = "TA_TOTAL_WAVEFRONTS_sum", "TCP_TOTAL_ACCESSES_sum"
GUI = "GRBM_GUI_ACTIVE"


def test_passes_of_a_process_do_not_add_up(bench: Any) -> None:
    """Every pass carries SQ_WAVES; the program launched them once."""
    counted = bench()
    for run in (1, 2, 3):
        counted.add({"SQ_WAVES": 512}, run=run)
    row = counted.one("waves")
    assert (row["value"], row["n"], row["runs"]) == (512, 1, [1])


def test_processes_add_up(bench: Any) -> None:
    counted = bench().add({C: 900, A: 1000}, run=1, process=1)
    row = counted.add({C: 10, A: 100}, run=2, process=2).one("lds-conflict-share")
    assert round(row["value"], 2) == 82.73
    assert (row["n"], row["runs"], row["confidence"]) == (2, [1, 2], "high")


def test_one_run_with_every_counter_is_preferred(bench: Any) -> None:
    counted = bench().add({C: 1}, run=1).add({A: 3}, run=2).add({C: 2, A: 4}, run=3)
    row = counted.one("lds-conflict-share")
    assert (row["value"], row["runs"], row["confidence"]) == (50.0, [3], "high")


def test_an_alternative_from_one_run_beats_a_stitched_first_choice(bench: Any) -> None:
    counted = bench().add({"SQ_WAVE_CYCLES": 1}, run=1)
    counters = {"SQ_LEVEL_WAVES_ACCUM": 4_864_000_000, GUI: 8_000_000}
    row = counted.add(counters, run=2).one("wave-occupancy")
    assert (row["value"], row["runs"]) == (50.0, [2])


def test_counts_of_two_passes_are_stitched_with_medium_confidence(bench: Any) -> None:
    row = bench().add({TA: 1000}, run=1).add({TCP: 16_000}, run=2).one("coalescing")
    assert (row["value"], row["confidence"], row["runs"]) == (100.0, "medium", [1, 2])
    assert row["reason"] == "stitched from 2 passes"


def test_passes_whose_waves_differ_are_not_stitched(bench: Any) -> None:
    counted = bench().add({TA: 1000, "SQ_WAVES": 100}, run=1)
    row = counted.add({TCP: 16_000, "SQ_WAVES": 110}, run=2).one("coalescing")
    assert (row["state"], row["value"], row["raw"]) == ("not trustworthy", None, 100.0)
    assert row["reason"] == "stitched from 2 passes, in which SQ_WAVES differs by 9.1 %"


def test_passes_that_saw_other_dispatches_are_not_stitched(bench: Any) -> None:
    counted = bench().add({TA: 1000}, run=1).add({TCP: 8000}, run=2).add({TCP: 8000}, run=2)
    row = counted.one("coalescing")
    assert row["state"] == "not trustworthy"
    assert "different numbers of dispatches" in row["reason"]


def test_cycles_are_stitched_only_when_anchors_agree(bench: Any) -> None:
    def stitched(gui: float | None) -> dict[str, Any]:
        first = {A: 152e6} | ({} if gui is None else {GUI: gui})
        return dict(bench().add(first, run=1).add({C: 76e6}, run=2).one("lds-conflict-share"))

    assert stitched(None)["value"] == 50.0  # a ratio of counts needs none
    counted = bench().add({"SQ_ACTIVE_INST_VALU": 152e6}, run=1).add({GUI: 8e6}, run=2)
    row = counted.one("valu-utilisation")
    assert row["state"] == "not trustworthy"
    assert row["reason"] == "stitched from 2 passes without common anchors"
    counted = bench().add({"SQ_ACTIVE_INST_VALU": 152e6, "SQ_WAVES": 64}, run=1)
    row = counted.add({GUI: 8e6, "SQ_WAVES": 64}, run=2).one("valu-utilisation")
    assert (row["value"], row["confidence"]) == (50.0, "medium")


def test_counters_of_different_processes_never_meet(bench: Any) -> None:
    counted = bench().add({TA: 1000}, run=1, process=1).add({TCP: 16_000}, run=2, process=2)
    row = counted.one("coalescing")
    assert (row["state"], row["value"]) == ("not collected", None)
    assert row["reason"] == "no process has all of its counters"


def test_a_run_of_no_process_stands_alone(bench: Any) -> None:
    counted = bench().add({"SQ_WAVES": 3}, run=1, process=None)
    row = counted.add({"SQ_WAVES": 4}, run=2, process=None).one("waves")
    assert (row["value"], row["runs"]) == (7, [1, 2])


def test_one_row_a_launch_whatever_runs_saw_it(bench: Any) -> None:
    counted = bench()
    for launch, accesses in ((1, 16_000), (2, 64_000)):
        counted.add({TA: 1000}, run=1, launch=launch)
        counted.add({TCP: accesses}, run=2, launch=launch)
    frame = counted.all("coalescing", per="dispatch")
    assert frame.select("launch_id", "value", "n").rows() == [(1, 100.0, 1), (2, 25.0, 1)]


def test_dispatches_of_no_launch_stand_for_themselves(bench: Any) -> None:
    counted = bench().add({TA: 1000, TCP: 16_000}).add({TA: 1000, TCP: 64_000})
    frame = counted.all("coalescing", per="dispatch")
    columns = frame.select("launch_id", "run_id", "dispatch_id", "value", "n")
    assert columns.rows() == [(None, 1, 1, 100.0, 1), (None, 1, 2, 25.0, 1)]


def test_different_gpus_answer_apart(bench: Any) -> None:
    """A kernel on two kinds of GPU: each by its own number of dies."""
    counted = bench().add({GUI: 8_000}, run=1, process=1)
    counted.agent = {"target": "gfx90a", "cu_count": 104, "num_xcc": 1}
    frame = counted.add({GUI: 8_000}, run=2, process=2).all("gui-cycles")
    assert frame.select("target", "value").rows() == [("gfx90a", 8_000), ("gfx942", 1_000)]
