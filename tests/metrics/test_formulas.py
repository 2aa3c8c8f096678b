"""Every formula against a number worked out on paper, by its meaning and not by its text."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from rocperf.metrics.catalogue import explain, metrics

#: Agents as a trace describes them.
GPUS: dict[str, dict[str, Any]] = {
    "MI50": {"target": "gfx906", "cu_count": 60, "num_xcc": 1, "clock_mhz": 1725},
    "MI100": {"target": "gfx908", "cu_count": 120, "num_xcc": 1, "clock_mhz": 1502},
    "MI250X": {"target": "gfx90a", "cu_count": 104, "num_xcc": 1, "clock_mhz": 1700},
    "MI300X": {"target": "gfx942", "cu_count": 304, "num_xcc": 8, "clock_mhz": 2100},
    "MI355X": {"target": "gfx950", "cu_count": 256, "num_xcc": 8, "clock_mhz": 2200},
    "RX6900": {"target": "gfx1030", "cu_count": 80, "num_xcc": 1, "clock_mhz": 2250},
    "RX7900": {"target": "gfx1100", "cu_count": 96, "num_xcc": 1, "clock_mhz": 2500},
    "STRIX_HALO": {"target": "gfx1151", "cu_count": 40, "num_xcc": 1, "clock_mhz": 2900},
    "RX9070": {"target": "gfx1201", "cu_count": 64, "num_xcc": 1, "clock_mhz": 2400},
}
#: What they are sold as, which decides the bandwidth of their memory.
PRODUCTS = {
    "MI50": "AMD Radeon Instinct MI50",
    "MI250X": "AMD Instinct MI250X",
    "MI300X": "AMD Instinct MI300X",
    "RX9070": "AMD Radeon RX 9070 XT",
}
MI300X, RX9070 = GPUS["MI300X"], GPUS["RX9070"]


def _examples() -> list[dict[str, Any]]:
    folder = Path(__file__).parent / "worked"
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.toml"))]
    return [example for text in texts for example in tomllib.loads(text)["example"]]


EXAMPLES = _examples()


@pytest.mark.parametrize("gpu", GPUS)
def test_worked_examples(bench: Any, gpu: str) -> None:
    """Each example is a kernel of its own; a millisecond is long enough for any of its cycles."""
    examples = [each for each in EXAMPLES if each["gpu"] == gpu]
    assert examples
    made = bench(**GPUS[gpu], product=PRODUCTS.get(gpu))
    for number, example in enumerate(examples, start=1):
        made.add(example["counters"], kernel=number)
    rows = {
        (row["kernel_id"], row["metric"]): row
        for row in made.all(*{example["metric"] for example in examples}).to_dicts()
    }
    for number, example in enumerate(examples, start=1):
        row = rows[number, example["metric"]]
        assert (row["state"], row["n"]) == ("value", 1), (example, row["reason"])
        assert row["value"] == pytest.approx(example["expected"], rel=1e-12), example


def test_every_formula_has_a_worked_example() -> None:
    shown = {(each["metric"], frozenset(each["counters"])) for each in EXAMPLES}
    formulas = {
        (each.id, frozenset(formula.expression.counters))
        for each in metrics().values()
        for formula in each.formulas
    }
    assert formulas == shown


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
            assert formula.needs in ("counts", "cycles", "time")


def test_an_explanation_names_formula_units_and_source() -> None:
    text = explain("wave-occupancy", "gfx942")
    assert "400 * SQ_WAVE_CYCLES / (" in text
    assert "SQ_WAVE_CYCLES [waves*quad-cycles]" in text
    assert "hw.cus: Compute units" in text
    assert "0..100 %" in text
    assert "OccupancyPercent" in text
    assert "Not available on gfx1201." in explain("coalescing", "gfx1201")
