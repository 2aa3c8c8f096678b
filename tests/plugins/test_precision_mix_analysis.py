"""Precision of arithmetic, on traces built by hand."""

from __future__ import annotations

from typing import Any

import pytest

from rocperf.model import Finding
from rocperf.profile import Profile
from rocperf.testing import AnalysisContract, TraceBuilder, ms
from rocperf_analyses.precision_mix import PrecisionMix, PrecisionOptions

MI300X: dict[str, Any] = {"product": "AMD Instinct MI300X"}
MI350X: dict[str, Any] = {"target": "gfx950", "cu_count": 256, "num_xcc": 8, "clock_mhz": 2200}
UNIT_CYCLES = 2.1e6 * 304
VALU = [
    f"SQ_INSTS_VALU_{k}_{p}" for p in ("F16", "F32", "F64") for k in ("ADD", "MUL", "TRANS", "FMA")
]
MFMA = [f"SQ_INSTS_VALU_MFMA_MOPS_{p}" for p in ("F8", "F16", "BF16", "F32", "F64", "F6F4", "XF32")]


def counters(**more: float) -> dict[str, float]:
    return (
        dict.fromkeys((*VALU, *MFMA), 0.0)
        | {"SQ_WAVES": 1e5, "SQ_INSTS_VALU": 1e8, "GRBM_GUI_ACTIVE": 8 * 2.1e6}
        | more
    )


def found(profile: Profile, **options: float) -> list[Finding]:
    return list(PrecisionMix(PrecisionOptions(**options)).run(profile))


def one(counts: dict[str, float], agent: dict[str, Any] = MI300X, lds: int = 0) -> list[Finding]:
    trace = TraceBuilder(**agent)
    return found(
        trace.dispatch("k", start=0, duration=ms(1), counters=counts, lds_bytes=lds).profile()
    )


#: The matrix units of 304 units with 4 SIMDs work half of 1 ms.
HALF = {"SQ_VALU_MFMA_BUSY_CYCLES": 0.5 * 4 * UNIT_CYCLES}


class TestPrecisionContract(AnalysisContract):
    analysis = PrecisionMix

    def flagged(self, trace: TraceBuilder) -> TraceBuilder:
        counts = counters(SQ_INSTS_VALU_MFMA_MOPS_F32=1e8, **HALF)
        return trace.dispatch("k", start=0, duration=ms(1), counters=counts)

    def healthy(self, trace: TraceBuilder) -> TraceBuilder:
        counts = counters(SQ_INSTS_VALU_MFMA_MOPS_BF16=1e8, **HALF)
        return trace.dispatch("k", start=0, duration=ms(1), counters=counts)


def test_fp32_where_the_matrix_units_have_xf32() -> None:
    """256 against 1024 operations a cycle and unit: three quarters of half of 1 ms."""
    [finding] = one(counters(SQ_INSTS_VALU_MFMA_MOPS_F32=1e8, **HALF))
    assert finding.rule == "precision-mix/fp32-matrix"
    assert "100 % of its operations are FP32" in finding.title
    assert "XF32 4 times as fast" in finding.title
    assert finding.saves_ns == pytest.approx(ms(0.375), rel=1e-6)


def test_fp32_beside_narrow_types_is_on_purpose() -> None:
    narrow = {"SQ_INSTS_VALU_MFMA_MOPS_F32": 1e8, "SQ_INSTS_VALU_MFMA_MOPS_F16": 1e6}
    assert one(counters(**narrow, **HALF)) == []


def test_without_utilisation_all_of_the_time_bounds() -> None:
    [finding] = one(counters(SQ_INSTS_VALU_MFMA_MOPS_F32=1e8))
    assert finding.saves_ns == ms(0.75)
    assert finding.confidence == "low"


@pytest.mark.parametrize(("wide", "flagged"), [(0.19, False), (0.21, True)])
def test_fp64_on_matrix_units_that_are_slow_at_it(wide: float, flagged: bool) -> None:
    """An MI350 does 128 FP64 operations a cycle on either unit, and 256 in FP32."""
    mixed = {
        "SQ_INSTS_VALU_MFMA_MOPS_F64": wide * 1e8,
        "SQ_INSTS_VALU_MFMA_MOPS_BF16": (1 - wide) * 1e8,
    }
    findings = one(counters(**mixed), MI350X)
    assert [each.rule for each in findings] == ["precision-mix/fp64-matrix"] * flagged
    for finding in findings:
        assert finding.saves_ns == ms(0.5)
    assert one(counters(**mixed)) == [], "an MI300X is twice as fast at it on its matrix units"


def test_vector_arithmetic_of_a_tiled_kernel() -> None:
    """FP16: 256 against 2048 operations a cycle and unit; the vector ALUs work 80 % of 1 ms."""
    busy = counters(SQ_INSTS_VALU_FMA_F16=1e8, SQ_ACTIVE_INST_VALU=0.8 * UNIT_CYCLES)
    [finding] = one(busy, lds=8192)
    assert finding.rule == "precision-mix/idle-matrix"
    assert "8 times as fast" in finding.title
    assert finding.saves_ns == pytest.approx(ms(0.7), rel=1e-6)
    assert finding.confidence == "low"
    assert one(busy, lds=0) == [], "nothing hints at a matrix product"
    half_idle = busy | {"SQ_ACTIVE_INST_VALU": 0.5 * UNIT_CYCLES}
    assert one(half_idle, lds=8192) == []


def test_fp32_gains_nothing_on_the_matrix_units_of_an_mi300x() -> None:
    busy = counters(SQ_INSTS_VALU_FMA_F32=1e8, SQ_ACTIVE_INST_VALU=0.8 * UNIT_CYCLES)
    assert one(busy, lds=8192) == []


@pytest.mark.parametrize(("converted", "flagged"), [(0.09, False), (0.2, True)])
def test_conversions(converted: float, flagged: bool) -> None:
    """A fifth of the vector instructions, which take half of 1 ms."""
    counts = counters(SQ_INSTS_VALU_CVT=converted * 1e8, SQ_ACTIVE_INST_VALU=0.5 * UNIT_CYCLES)
    findings = one(counts)
    assert [each.rule for each in findings] == ["precision-mix/conversions"] * flagged
    for finding in findings:
        assert finding.saves_ns == pytest.approx(ms(0.1), rel=1e-6)


def test_what_was_counted_in_part_is_not_judged() -> None:
    """BF16 operations are missing: FP32 may not be all that it does."""
    partly = counters(SQ_INSTS_VALU_MFMA_MOPS_F32=1e8, **HALF)
    del partly["SQ_INSTS_VALU_MFMA_MOPS_BF16"]
    assert one(partly) == []
