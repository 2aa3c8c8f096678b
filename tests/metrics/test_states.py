"""Which of the four states a value is in, and the reason it gives."""

from __future__ import annotations

from typing import Any

import pytest

from rocperf.errors import MetricError

C, A = "SQ_LDS_BANK_CONFLICT", "SQ_LDS_IDX_ACTIVE"
TA, TCP = "TA_TOTAL_WAVEFRONTS_sum", "TCP_TOTAL_ACCESSES_sum"
GUI = "GRBM_GUI_ACTIVE"
MI200 = {"target": "gfx90a", "cu_count": 104, "num_xcc": 1, "clock_mhz": 2100}


def test_an_unknown_metric_is_an_error(bench: Any) -> None:
    with pytest.raises(MetricError, match="no metric 'lds'"):
        bench().all("lds")


def test_no_counters_give_no_rows(bench: Any) -> None:
    frame = bench().all("waves")
    assert frame.height == 0
    assert "state" in frame.columns


def test_ratio_of_sums_and_not_mean_of_ratios(bench: Any) -> None:
    """900 of 1000 and 10 of 100: 910 of 1100, not 50 % and not 100 %."""
    bench_ = bench().add({C: 900, A: 1000}).add({C: 10, A: 100})
    row = bench_.one("lds-conflict-share")
    assert round(row["value"], 2) == 82.73
    assert (row["state"], row["confidence"], row["n"]) == ("value", "high", 2)


@pytest.mark.parametrize(
    ("conflicts", "active", "value", "state", "reason"),
    [
        (500, 1000, 1.0, "value", None),
        (0, 1000, 0.0, "value", None),
        (1200, 1000, None, "not trustworthy", "= 1000 - 1200)"),
        (1000, 1000, None, "not applicable", f"{A} - {C} is 0"),
        (0, 0, None, "not applicable", f"{A} - {C} is 0"),
    ],
)
def test_conflicts_against_active_cycles(
    bench: Any, conflicts: int, active: int, value: float | None, state: str, reason: str | None
) -> None:
    row = bench().add({C: conflicts, A: active}).one("lds-conflicts-per-access")
    assert (row["value"], row["state"]) == (value, state)
    assert (row["reason"] is None) if reason is None else row["reason"].endswith(reason)


def test_three_meanings_of_conflict_share_stay_apart(bench: Any) -> None:
    """500 of 1000 active cycles, 100,000 cycles of 104 CUs: 50 %, 1.0, and 0.0048 %."""
    counted = bench(**MI200).add({C: 500, A: 1000, GUI: 100_000})
    ids = ("lds-conflict-share", "lds-conflicts-per-access", "lds-conflict-kernel-share")
    values = counted.all(*ids)["value"].to_list()
    assert [round(value, 4) for value in values] == [50.0, 1.0, 0.0048]


def test_a_value_outside_its_range_is_kept_but_not_trusted(bench: Any) -> None:
    """30,000,000 conflict cycles of 104 CUs in 100,000 cycles: 288.46 %."""
    row = bench(**MI200).add({C: 30_000_000, GUI: 100_000}).one("lds-conflict-kernel-share")
    assert (row["value"], row["state"]) == (None, "not trustworthy")
    assert round(row["raw"], 2) == 288.46
    assert row["reason"] == "288.462 is outside 0..100"


@pytest.mark.parametrize(
    ("waves", "accesses", "value", "raw", "state"),
    [
        (16384, 262144, 100.0, 100.0, "value"),
        (16384, 1048576, 25.0, 25.0, "value"),
        (16384, 65536, None, 400.0, "not trustworthy"),  # narrow or broadcast
        (16384, 0, None, None, "not applicable"),
        (0, 0, None, None, "not applicable"),
    ],
)
def test_coalescing_in_and_out_of_range(
    bench: Any, waves: int, accesses: int, value: float | None, raw: float | None, state: str
) -> None:
    row = bench().add({TA: waves, TCP: accesses}).one("coalescing")
    assert (row["value"], row["raw"], row["state"]) == (value, raw, state)


def test_a_negative_number_of_requests_is_told_with_its_numbers(bench: Any) -> None:
    counters = {"TCC_EA0_RDREQ_sum": 1000, "TCC_BUBBLE_sum": 600, "TCC_EA0_RDREQ_32B_sum": 700}
    row = bench().add(counters).one("fabric-read-bytes")
    assert (row["value"], row["state"]) == (None, "not trustworthy")
    assert row["reason"].startswith("negative difference (")
    assert row["reason"].endswith("= 1000 - 600 - 700)")


def test_absent_counters_are_named(bench: Any) -> None:
    row = bench().add({C: 1}).one("lds-conflict-share")
    assert (row["state"], row["value"], row["n"]) == ("not collected", None, 0)
    assert row["reason"] == f"counters {A} were not collected"


def test_a_metric_that_the_gpu_lacks(bench: Any) -> None:
    row = bench(target="gfx1151", cu_count=40).add({"SQ_WAVES": 1}).one("coalescing")
    assert (row["state"], row["reason"]) == ("not collected", "not available on gfx1151")


def test_a_hostile_target_is_only_text(bench: Any) -> None:
    target = "gfx942'; DROP TABLE kernels; --"
    row = bench(target=target).add({C: 1, A: 2}).one("lds-conflict-kernel-share")
    assert target in row["reason"] or row["target"] == "unknown"
    assert row["state"] == "not collected"


def test_a_fact_that_nobody_knows(bench: Any) -> None:
    """On an unknown GPU counts hold where every target agrees; figures per CU do not."""
    counted = bench(target="gfx9999").add({C: 1, A: 2, GUI: 3})
    frame = counted.all("lds-conflict-share", "lds-conflict-kernel-share")
    assert "value" not in frame["state"].to_list()


@pytest.mark.parametrize("agent", [{"target": "gfx1201", "cu_count": 64}, MI200])
def test_clock_gated_counters(bench: Any, agent: dict[str, Any]) -> None:
    counted = bench(**agent).add({"SQ_WAVES": 256, "SQ_INSTS_VALU": 0})
    waves, instructions = counted.all("waves", "valu-instructions").to_dicts()
    assert (waves["state"], waves["value"]) == ("value", 256)
    assert (instructions["state"], instructions["value"]) == ("not trustworthy", None)
    assert "sudo amd-smi set --perf-level STABLE_STD" in instructions["reason"]


def test_gated_lds_counters_are_not_called_unused(bench: Any) -> None:
    counters = {"SQ_WAVES": 9, "SQ_INSTS_VALU": 0, "SQC_LDS_BANK_CONFLICT": 0}
    counted = bench(target="gfx1201", cu_count=64).add(counters | {"SQC_LDS_IDX_ACTIVE": 0})
    row = counted.one("lds-conflict-share")
    assert row["state"] == "not trustworthy"
    assert "clock gated" in row["reason"]


def test_a_kernel_without_lds_is_not_gated(bench: Any) -> None:
    counters = {"SQ_WAVES": 9, "SQ_INSTS_VALU": 90, "SQC_LDS_BANK_CONFLICT": 0}
    counted = bench(target="gfx1201", cu_count=64).add(counters | {"SQC_LDS_IDX_ACTIVE": 0})
    row = counted.one("lds-conflict-share")
    assert (row["state"], row["reason"]) == ("not applicable", "SQC_LDS_IDX_ACTIVE is 0")


def test_waves_without_wave_cycles(bench: Any) -> None:
    counters = {"SQ_WAVES": 9, "SQ_INSTS_VALU": 90, "SQ_WAVE_CYCLES": 0, GUI: 8e6}
    row = bench().add(counters).one("wave-occupancy")
    assert row["state"] == "not trustworthy"
    assert "SQ_WAVE_CYCLES is 0" in row["reason"]


def test_cycles_that_do_not_fit_the_time(bench: Any) -> None:
    """2.1 GHz for a millisecond are 2.1e6 cycles; 1.3 times that on 8 dies is too many."""
    counters = {"SQ_WAVE_CYCLES": 1.216e9, GUI: 8 * 2.1e6 * 1.3}
    row = bench().add(counters).one("wave-occupancy")
    assert row["state"] == "not trustworthy"
    assert row["reason"] == "the GPU counted 1.30 times the cycles that fit the time"
    fits = bench().add(counters | {GUI: 8 * 2.1e6 * 1.15}).one("wave-occupancy")
    assert fits["state"] == "value"


def test_a_short_dispatch_is_not_judged_by_cycles(bench: Any) -> None:
    counters = {"SQ_WAVE_CYCLES": 1e6, GUI: 8 * 20_000, TA: 1000, TCP: 16_000}
    rows = bench().add(counters, ns=9_000).all("wave-occupancy", "coalescing", "gui-cycles")
    occupancy, coalescing, cycles = rows.to_dicts()
    assert occupancy["state"] == "not trustworthy"
    assert occupancy["reason"] == "dispatches of 9 µs are too short for figures per cycle"
    assert (coalescing["state"], coalescing["value"]) == ("value", 100.0)
    assert (cycles["state"], cycles["value"]) == ("value", 20_000)


def test_cycles_without_times(bench: Any) -> None:
    row = bench().add({"SQ_WAVE_CYCLES": 1e6, GUI: 8e6}, ns=None).one("wave-occupancy")
    assert row["state"] == "not trustworthy"
    assert "no times" in row["reason"]
    assert row["raw"] == pytest.approx(100 * 4e6 / (1e6 * 304 * 32))


def test_values_in_conflict_are_not_called_uncollected(bench: Any) -> None:
    why = "two rows of one dispatch: 900 and 1200"
    row = bench().add({"SQ_WAVES": None}, reason=why).one("waves")
    assert (row["state"], row["value"], row["reason"]) == ("not trustworthy", None, why)


def test_one_spoilt_value_of_several_lowers_confidence(bench: Any) -> None:
    counted = bench().add({"SQ_WAVES": 512}).add({"SQ_WAVES": None}, reason="900 and 1200")
    row = counted.one("waves")
    assert (row["state"], row["value"], row["n"]) == ("value", 512, 1)
    assert (row["confidence"], row["reason"]) == ("medium", "900 and 1200")


def test_half_filled_dispatches_are_left_out(bench: Any) -> None:
    """One dispatch lacks a counter: the other alone gives the ratio, and that is said."""
    counted = bench().add({"SQ_WAVES": 100}).add({"SQ_WAVES": 10, "SQ_INSTS_VALU": 70})
    row = counted.one("valu-instructions")
    assert (row["state"], row["value"], row["n"]) == ("value", 7.0, 1)
    assert row["confidence"] == "medium"
    assert row["reason"] == "1 of 2 dispatches lack a counter and are left out"


def test_counters_that_never_meet_in_a_dispatch(bench: Any) -> None:
    counted = bench().add({"SQ_WAVES": 100}).add({"SQ_WAVES": 100}).add({"SQ_INSTS_VALU": 70})
    row = counted.one("valu-instructions")
    assert (row["state"], row["value"]) == ("not trustworthy", None)
    assert row["reason"] == "no dispatch has all of its counters"


def test_counters_that_are_not_numbers(bench: Any) -> None:
    row = bench().add({"SQ_WAVES": float("inf")}).one("waves")
    assert (row["value"], row["state"]) == (None, "not trustworthy")
    assert "not finite" in row["reason"]


def test_answers_come_in_the_order_asked_for(bench: Any) -> None:
    counted = bench().add({"SQ_WAVES": 1}, kernel=2).add({"SQ_WAVES": 2}, kernel=1)
    frame = counted.all("waves", "coalescing", "waves")
    assert frame.select("kernel_id", "metric").rows() == [
        (1, "waves"),
        (1, "coalescing"),
        (2, "waves"),
        (2, "coalescing"),
    ]


def test_nothing_is_left_on_the_connection(bench: Any) -> None:
    counted = bench().add({"SQ_WAVES": 1})
    counted.all("waves")
    left = counted.connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE temporary"
    ).fetchall()
    assert left == []
