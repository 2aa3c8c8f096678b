"""Every formula against a number worked out on paper, by its meaning and not by its text."""

from __future__ import annotations

from typing import Any

import pytest

from rocperf.metrics.catalogue import explain, metrics

MI300X = {"target": "gfx942", "cu_count": 304, "num_xcc": 8, "clock_mhz": 2100}
MI200 = {"target": "gfx90a", "cu_count": 104, "num_xcc": 1, "clock_mhz": 1700}
MI350X = {"target": "gfx950", "cu_count": 256, "num_xcc": 8, "clock_mhz": 2200}
STRIX_HALO = {"target": "gfx1151", "cu_count": 40, "num_xcc": 1, "clock_mhz": 2900}
RX9070 = {"target": "gfx1201", "cu_count": 64, "num_xcc": 1, "clock_mhz": 2400}

#: metric, GPU, counters, expected, and how it was worked out.
WORKED: list[tuple[str, dict[str, Any], dict[str, float], float]] = [
    ("waves", MI300X, {"SQ_WAVES": 16384}, 16384),
    # 8 dies of 1,000,000 cycles each.
    ("gui-cycles", MI300X, {"GRBM_GUI_ACTIVE": 8_000_000}, 1_000_000),
    ("gui-cycles", MI200, {"GRBM_GUI_ACTIVE": 8_000_000}, 8_000_000),
    # 1.216e9 quad-cycles are 4864 waves over 1e6 cycles; 304 CUs hold 32 each, 9728.
    (
        "wave-occupancy",
        MI300X,
        {"SQ_WAVE_CYCLES": 1_216_000_000, "GRBM_GUI_ACTIVE": 8_000_000},
        50.0,
    ),
    # The same waves as a level added up every cycle.
    (
        "wave-occupancy",
        MI300X,
        {"SQ_LEVEL_WAVES_ACCUM": 4_864_000_000, "GRBM_GUI_ACTIVE": 8_000_000},
        50.0,
    ),
    # RDNA: cycles, not quad-cycles; 64 CUs of 32 slots are 2048, a quarter of them is 512.
    ("wave-occupancy", RX9070, {"SQ_WAVE_CYCLES": 512e6, "GRBM_GUI_ACTIVE": 1e6}, 25.0),
    # Half of the cycles of 304 CUs; the four of quad-cycles and the four SIMDs cancel.
    (
        "valu-utilisation",
        MI300X,
        {"SQ_ACTIVE_INST_VALU": 152_000_000, "GRBM_GUI_ACTIVE": 8_000_000},
        50.0,
    ),
    ("valu-instructions", MI200, {"SQ_INSTS_VALU": 163_840, "SQ_WAVES": 16_384}, 10.0),
    # 1000 wave loads of 4 bytes a lane: 16 accesses each when perfect, 64 when scattered.
    (
        "coalescing",
        MI300X,
        {"TA_TOTAL_WAVEFRONTS_sum": 1000, "TCP_TOTAL_ACCESSES_sum": 16_000},
        100.0,
    ),
    (
        "coalescing",
        MI300X,
        {"TA_TOTAL_WAVEFRONTS_sum": 1000, "TCP_TOTAL_ACCESSES_sum": 64_000},
        25.0,
    ),
    (
        "accesses-per-vmem",
        MI200,
        {"TA_TOTAL_WAVEFRONTS_sum": 1000, "TCP_TOTAL_ACCESSES_sum": 16_000},
        16.0,
    ),
    (
        "lines-per-vmem",
        MI300X,
        {"TA_TOTAL_WAVEFRONTS_sum": 1000, "TCP_TOTAL_CACHE_ACCESSES_sum": 64_000},
        64.0,
    ),
    # A copy of 8 bytes a lane: a load and a store move 512 bytes each. MI300X reads 128 B a
    # request and writes 64, MI200 64 and 64.
    (
        "l2-bytes-per-vmem",
        MI300X,
        {
            "TA_TOTAL_WAVEFRONTS_sum": 2000,
            "TCP_TCC_READ_REQ_sum": 4000,
            "TCP_TCC_WRITE_REQ_sum": 8000,
        },
        512.0,
    ),
    (
        "l2-bytes-per-vmem",
        MI200,
        {
            "TA_TOTAL_WAVEFRONTS_sum": 2000,
            "TCP_TCC_READ_REQ_sum": 8000,
            "TCP_TCC_WRITE_REQ_sum": 8000,
        },
        512.0,
    ),
    # A third of three million active cycles, half of the conflict-free two million.
    ("lds-conflict-share", MI300X, {"C": 1e6, "A": 3e6}, 100 / 3),
    ("lds-conflicts-per-access", MI300X, {"C": 1e6, "A": 3e6}, 0.5),
    # One read of a wave, all 32 ways in conflict: 64 cycles instead of 2.
    ("lds-conflict-share", MI300X, {"C": 62, "A": 64}, 96.875),
    ("lds-conflicts-per-access", MI300X, {"C": 62, "A": 64}, 31.0),
    ("lds-conflicts-per-instruction", MI300X, {"C": 62, "SQ_INSTS_LDS": 1}, 62.0),
    ("lds-conflict-share", STRIX_HALO, {"RC": 500, "RA": 1000}, 50.0),
    ("lds-conflicts-per-access", RX9070, {"RC": 500, "RA": 1000}, 1.0),
    ("lds-conflicts-per-instruction", RX9070, {"RC": 60, "SQ_INSTS_LDS": 30}, 2.0),
    # 152e6 cycles of 304 CUs are 500,000 a CU.
    ("lds-utilisation", MI300X, {"A": 3e6, "GRBM_GUI_ACTIVE": 4e6}, 300 / 152),
    ("lds-conflict-kernel-share", MI300X, {"C": 1e6, "GRBM_GUI_ACTIVE": 4e6}, 100 / 152),
    # 1.0 M of 128 B, 0.4 M of 64 B and 0.1 M of 32 B.
    (
        "fabric-read-bytes",
        MI300X,
        {
            "TCC_BUBBLE_sum": 1_000_000,
            "TCC_EA0_RDREQ_sum": 1_500_000,
            "TCC_EA0_RDREQ_32B_sum": 100_000,
        },
        156_800_000,
    ),
    # The older rule on the same requests: 1.4 M of 64 B and 0.1 M of 32 B.
    (
        "fabric-read-bytes",
        MI200,
        {"TCC_EA_RDREQ_sum": 1_500_000, "TCC_EA_RDREQ_32B_sum": 100_000},
        92_800_000,
    ),
    (
        "fabric-read-bytes",
        MI350X,
        {
            "TCC_EA0_RDREQ_32B_sum": 1000,
            "TCC_EA0_RDREQ_64B_sum": 100,
            "TCC_EA0_RDREQ_128B_sum": 10,
        },
        32_000 + 6_400 + 1_280,
    ),
    (
        "fabric-read-bytes",
        STRIX_HALO,
        {f"GL2C_EA_RDREQ_{size}B_sum": 10 for size in (32, 64, 96, 128)},
        3200,
    ),
    # Measured: a read of 16 MiB makes 65,536 requests of 256 B, and two more.
    ("fabric-read-bytes", RX9070, {"GL2C_EA_RDREQ_sum": 65_538}, 16 * 2**20 + 512),
    (
        "fabric-write-bytes",
        MI300X,
        {"TCC_EA0_WRREQ_sum": 600_000, "TCC_EA0_WRREQ_64B_sum": 500_000},
        35_200_000,
    ),
    (
        "fabric-write-bytes",
        MI200,
        {"TCC_EA_WRREQ_sum": 600_000, "TCC_EA_WRREQ_64B_sum": 500_000},
        35_200_000,
    ),
    (
        "fabric-write-bytes",
        STRIX_HALO,
        {"GL2C_MC_WRREQ_sum": 6, "GL2C_EA_WRREQ_64B_sum": 5},
        352,
    ),
    ("fabric-write-bytes", RX9070, {"GL2C_EA_WRREQ_sum": 1000}, 256_000),
]

#: Short for the names of the LDS counters, CDNA and RDNA.
SHORT = {
    "C": "SQ_LDS_BANK_CONFLICT",
    "A": "SQ_LDS_IDX_ACTIVE",
    "RC": "SQC_LDS_BANK_CONFLICT",
    "RA": "SQC_LDS_IDX_ACTIVE",
}


@pytest.mark.parametrize(("metric", "agent", "counters", "expected"), WORKED)
def test_worked_example(
    bench: Any, metric: str, agent: dict[str, Any], counters: dict[str, float], expected: float
) -> None:
    named = {SHORT.get(name, name): value for name, value in counters.items()}
    # A millisecond: long enough for any of the cycles above.
    row = bench(**agent).add(named).one(metric)
    assert (row["state"], row["target"]) == ("value", agent["target"]), row["reason"]
    assert row["value"] == pytest.approx(expected, rel=1e-12)
    assert row["n"] == 1


def test_every_formula_has_a_worked_example() -> None:
    shown = {
        (metric, frozenset(SHORT.get(name, name) for name in counters))
        for metric, _, counters, _ in WORKED
    }
    formulas = {
        (each.id, frozenset(formula.expression.counters))
        for each in metrics().values()
        for formula in each.formulas
    }
    assert formulas <= shown


def test_the_lds_example_on_a_real_duration(bench: Any) -> None:
    """A = 3e6, C = 1e6, 500,000 cycles in 238 µs on 304 CUs: 1.97 % and 0.66 %."""
    counters = {"SQ_LDS_IDX_ACTIVE": 3e6, "SQ_LDS_BANK_CONFLICT": 1e6, "GRBM_GUI_ACTIVE": 4e6}
    frame = bench().add(counters, ns=238_000).all("lds-utilisation", "lds-conflict-kernel-share")
    assert [round(value, 2) for value in frame["value"]] == [1.97, 0.66]
    assert frame["confidence"].to_list() == ["high", "high"]


def test_rdna_occupancy_says_what_is_not_confirmed(bench: Any) -> None:
    counters = {"SQ_WAVE_CYCLES": 512e6, "GRBM_GUI_ACTIVE": 1e6}
    row = bench(**RX9070).add(counters).one("wave-occupancy")
    assert row["confidence"] == "medium"
    assert "not confirmed" in row["reason"]


def test_metrics_name_their_source_and_range() -> None:
    for each in metrics().values():
        assert each.source
        assert each.plain.endswith(".")
        assert each.better in ("high", "low", "neither")
        assert each.low is not None
        for formula in each.formulas:
            assert formula.needs in ("counts", "cycles")


def test_an_explanation_names_formula_units_and_source() -> None:
    text = explain("wave-occupancy", "gfx942")
    assert "400 * SQ_WAVE_CYCLES / (" in text
    assert "SQ_WAVE_CYCLES [waves*quad-cycles]" in text
    assert "hw.cus: Compute units" in text
    assert "0..100 %" in text
    assert "OccupancyPercent" in text
    assert "Not available on gfx1201." in explain("coalescing", "gfx1201")
