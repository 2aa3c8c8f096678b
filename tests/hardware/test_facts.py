"""gpus.toml is complete, sourced and honest about what is unconfirmed."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import rocperf.hardware
from rocperf.hardware import HW_NAMES, known_targets, source_text, target_facts
from rocperf.hardware.names import HwName

TOML: dict[str, Any] = tomllib.loads(
    (Path(rocperf.hardware.__file__).parent / "gpus.toml").read_text(encoding="utf-8")
)
TARGETS = [
    "gfx906",
    "gfx908",
    "gfx90a",
    "gfx942",
    "gfx950",
    "gfx1030",
    "gfx1100",
    "gfx1101",
    "gfx1102",
    "gfx1150",
    "gfx1151",
    "gfx1200",
    "gfx1201",
]


def all_figures(node: Any, path: str = "") -> list[tuple[str, dict[str, Any]]]:
    if isinstance(node, list):
        return [f for i, x in enumerate(node) for f in all_figures(x, f"{path}[{i}]")]
    if not isinstance(node, dict):
        return []
    if "value" in node:
        return [(path, node)]
    return [f for key, x in node.items() for f in all_figures(x, f"{path}.{key}")]


FIGURES = all_figures(TOML)


def test_targets() -> None:
    assert known_targets() == tuple(TARGETS)
    assert len(FIGURES) > 300


def test_every_figure_is_a_positive_number_with_known_sources() -> None:
    known = set(TOML["sources"])
    for path, figure in FIGURES:
        assert figure["value"] > 0, path
        assert {key.strip() for key in figure["source"].split(",")} <= known, path
        assert set(figure) <= {"value", "source", "unconfirmed", "links"}, path


def test_general_knowledge_is_always_marked_unconfirmed() -> None:
    bare = [p for p, f in FIGURES if "GEN" in f["source"] and not f.get("unconfirmed")]
    assert bare == []


def test_every_source_is_used_and_spelt_out() -> None:
    used = {key.strip() for _, f in FIGURES for key in f["source"].split(",")}
    assert used == set(TOML["sources"])
    assert source_text("BI, TD").startswith("LLVM, llvm/lib/Target/AMDGPU/Utils/AMDGPUBaseInfo")


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_can_be_occupied(target: str) -> None:
    facts = target_facts(target)
    assert facts is not None
    for wave in facts.wave_sizes:
        limits = facts.limits(wave)
        assert limits.vgprs * wave * 4 * limits.simds <= 2 * 512 * 1024
        assert limits.lds_bytes % limits.lds_granule == 0
        assert limits.max_lds_bytes <= limits.lds_bytes


@pytest.mark.parametrize(
    ("target", "slots", "vgprs", "granule", "lds", "lds_granule", "groups"),
    [
        ("gfx906", 40, 256, 4, 65536, 512, 16),
        ("gfx908", 40, 256, 4, 65536, 512, 16),
        ("gfx90a", 32, 512, 8, 65536, 512, 16),
        ("gfx942", 32, 512, 8, 65536, 512, 16),
        ("gfx950", 32, 512, 8, 163840, 1280, 16),
        ("gfx1030", 64, 1024, 16, 131072, 1024, 32),
        ("gfx1102", 64, 1024, 16, 131072, 1024, 32),
        ("gfx1150", 64, 1024, 16, 131072, 1024, 32),
        ("gfx1100", 64, 1536, 24, 131072, 1024, 32),
        ("gfx1101", 64, 1536, 24, 131072, 1024, 32),
        ("gfx1151", 64, 1536, 24, 131072, 1024, 32),
        ("gfx1200", 64, 1536, 24, 131072, 1024, 32),
        ("gfx1201", 64, 1536, 24, 131072, 1024, 32),
    ],
)
def test_block_limits(
    target: str, slots: int, vgprs: int, granule: int, lds: int, lds_granule: int, groups: int
) -> None:
    facts = target_facts(target)
    assert facts is not None
    got = facts.limits()
    assert (got.wave_slots, got.vgprs, got.vgpr_granule) == (slots, vgprs, granule)
    assert (got.lds_bytes, got.lds_granule, got.workgroup_slots) == (lds, lds_granule, groups)


def test_cu_mode_halves_the_block() -> None:
    facts = target_facts("gfx1100")
    assert facts is not None
    one = facts.limits(cu_mode=True)
    assert (one.simds, one.wave_slots, one.lds_bytes, one.workgroup_slots) == (2, 32, 65536, 16)


def test_unknown_targets_and_features() -> None:
    assert target_facts("gfx1300") is None
    assert target_facts("") is None
    assert target_facts("gfx90a:sramecc+:xnack-") is target_facts("gfx90a")


@pytest.mark.parametrize(
    ("target", "name", "cus", "mhz", "tflops"),
    [
        # Datasheet TFLOP/s of ROCm's documentation and blogs.
        ("gfx908", "matrix_fp16", 120, 1502, 184.6),
        ("gfx908", "matrix_bf16", 120, 1502, 92.3),
        ("gfx908", "vector_fp64", 120, 1502, 11.5),
        ("gfx90a", "matrix_fp64", 208, 1700, 90.5),
        ("gfx90a", "vector_fp32", 208, 1700, 45.3),
        ("gfx90a", "matrix_fp16", 220, 1700, 383.0),
        ("gfx942", "vector_fp64", 304, 2100, 81.7),
        ("gfx942", "vector_fp32", 304, 2100, 163.4),
        ("gfx942", "matrix_fp64", 304, 2100, 163.4),
        ("gfx942", "matrix_bf16", 304, 2100, 1307.4),
        ("gfx942", "matrix_fp8", 304, 2100, 2614.9),
        ("gfx950", "matrix_fp64", 256, 2400, 78.6),
        ("gfx950", "matrix_fp16", 256, 2400, 2516.6),
        ("gfx950", "matrix_fp8", 256, 2400, 5033.2),
        ("gfx950", "matrix_fp4", 256, 2400, 10066.3),
        ("gfx1201", "vector_fp32_dual_issue", 64, 2970, 48.7),
    ],
)
def test_peaks_agree_with_datasheets(
    target: str, name: str, cus: int, mhz: int, tflops: float
) -> None:
    facts = target_facts(target)
    assert facts is not None
    per_clock = facts.figure(f"{name}_flops_per_clk_per_cu")
    assert per_clock is not None
    assert cus * mhz * per_clock.value / 1e6 == pytest.approx(tflops, abs=0.06)


def test_what_is_not_supported_is_absent() -> None:
    cdna1, cdna2, cdna4 = (target_facts(t) for t in ("gfx908", "gfx90a", "gfx950"))
    assert cdna1
    assert cdna2
    assert cdna4
    assert cdna4.figure("matrix_xf32_flops_per_clk_per_cu") is None
    assert cdna2.figure("matrix_fp8_flops_per_clk_per_cu") is None
    assert cdna1.figure("matrix_fp64_flops_per_clk_per_cu") is None


def test_names_of_formulas_have_units_and_sentences() -> None:
    for name, entry in HW_NAMES.items():
        assert isinstance(entry, HwName)
        assert name.isidentifier()
        assert entry.doc.endswith(".")


def test_importing_loads_no_third_party() -> None:
    code = (
        "import sys, rocperf.hardware as h; h.target_facts('gfx942');"
        "print([m for m in ('duckdb', 'polars', 'pyarrow', 'textual', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
