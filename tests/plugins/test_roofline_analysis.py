"""The roofline on traces built by hand."""

from __future__ import annotations

from typing import Any

import pytest

from rocperf import UnjudgedError
from rocperf.model import Finding, Measure
from rocperf.profile import Profile
from rocperf.testing import AnalysisContract, TraceBuilder, ms, us
from rocperf_analyses.roofline import Roofline, RooflineOptions

PRECISIONS = ("F16", "F32", "F64")
VALU = [f"SQ_INSTS_VALU_{what}_{p}" for p in PRECISIONS for what in ("ADD", "MUL", "TRANS", "FMA")]
MFMA = [f"SQ_INSTS_VALU_MFMA_MOPS_{p}" for p in ("F8", "F16", "BF16", "F32", "F64")]
MI300X: dict[str, Any] = {"product": "AMD Instinct MI300X"}


def counters(**more: float) -> dict[str, float]:
    """Return counters of 156.8 MB read and 35.2 MB written, in 1 ms."""
    return (
        dict.fromkeys((*VALU, *MFMA), 0.0)
        | {
            "TCC_BUBBLE_sum": 1_000_000,
            "TCC_EA0_RDREQ_sum": 1_500_000,
            "TCC_EA0_RDREQ_32B_sum": 100_000,
            "TCC_EA0_WRREQ_sum": 600_000,
            "TCC_EA0_WRREQ_64B_sum": 500_000,
            "SQ_WAVES": 1e5,
            "SQ_INSTS_VALU": 1e8,
            "GRBM_GUI_ACTIVE": 8 * 2.1e6,
        }
        | more
    )


#: 1.408e10 operations: 64 lanes of 1e8 multiply-adds and 2e7 additions.
FP64 = {"SQ_INSTS_VALU_FMA_F64": 1e8, "SQ_INSTS_VALU_ADD_F64": 2e7}


def found(profile: Profile, **options: float) -> list[Finding]:
    return list(Roofline(RooflineOptions(**options)).run(profile))


def one(duration: int = ms(1), /, **more: float) -> list[Finding]:
    trace = TraceBuilder(**MI300X)
    trace.dispatch("k", start=0, duration=duration, counters=counters(**more))
    return found(trace.profile())


def measured(finding: Finding) -> dict[str, float]:
    return {m.name: float(m.value) for m in finding.evidence if isinstance(m, Measure)}


class TestRooflineContract(AnalysisContract):
    analysis = Roofline

    def flagged(self, trace: TraceBuilder) -> TraceBuilder:
        trace._agent |= MI300X
        return trace.dispatch("k", start=0, duration=ms(1), counters=counters(**FP64))

    def healthy(self, trace: TraceBuilder) -> TraceBuilder:
        """It copies: without operations there is nothing to say, however far it is."""
        trace._agent |= MI300X
        return trace.dispatch("k", start=0, duration=ms(1), counters=counters())


def test_how_far_a_kernel_is_from_its_roof() -> None:
    """14.08 TFLOP/s of 81.7 (304 x 128 x 2.1 GHz) is 17.2 %; 192 MB in 1 ms are 3.6 % of memory."""
    [finding] = one(**FP64)
    assert finding.rule == "roofline/far"
    values = measured(finding)
    assert values["time that its vector operations take at the peak"] == pytest.approx(
        17.23, abs=0.01
    )
    assert values["time that its bytes take at the peak"] == pytest.approx(3.606, abs=0.001)
    assert values["operations for each byte of memory"] == pytest.approx(73.33, abs=0.01)
    assert finding.saves_ns == pytest.approx(ms(1) * (1 - 0.17230), rel=1e-4)
    assert "17 % of the peak of FP64 on the vector ALUs, with 73.3 FLOP" in finding.title


def test_the_impossible_is_said_and_not_shown() -> None:
    """In 50 µs the same operations would be 281.6 TFLOP/s, over three times the peak."""
    with pytest.raises(UnjudgedError, match="consistent counters: k seems to calculate at 345 %"):
        one(us(50), **FP64, GRBM_GUI_ACTIVE=8 * 2.1e6 / 20)


def test_a_kernel_that_waits_is_left_to_who_says_for_what() -> None:
    assert one(**FP64, SQ_WAIT_ANY=8e8, SQ_WAVE_CYCLES=1e9) == []
    [finding] = one(**FP64, SQ_WAIT_ANY=2e8, SQ_WAVE_CYCLES=1e9)
    assert finding.confidence == "medium"


def test_at_the_roof_of_memory_there_is_less_to_move_and_nothing_to_bound() -> None:
    """192 MB in 50 µs are 3840 GB/s, 72.1 % of 5324.8."""
    few = {"SQ_INSTS_VALU_ADD_F32": 1e6, "GRBM_GUI_ACTIVE": 8 * 2.1e6 / 20}
    [finding] = one(us(50), **few)
    assert finding.rule == "roofline/reached"
    assert finding.saves_ns is None
    assert "72 % of the peak of device memory" in finding.title
    assert "fuse" in finding.advice


def test_between_near_and_far_nothing_is_said() -> None:
    """64 x 2 x 3e8 FP64 operations in 1 ms are 38.4 TFLOP/s, 47 %."""
    assert one(SQ_INSTS_VALU_FMA_F64=3e8) == []


def test_the_matrix_units_have_a_roof_of_their_own() -> None:
    """512 x 2e9 BF16 operations in 1 ms are 1024 of 1307.4 TFLOP/s, 78.3 %."""
    [finding] = one(SQ_INSTS_VALU_MFMA_MOPS_BF16=2e9)
    assert finding.rule == "roofline/reached"
    assert "78 % of the peak of BF16 on the matrix units" in finding.title


def test_a_small_kernel_at_its_roof_is_not_worth_a_word() -> None:
    trace = TraceBuilder(**MI300X)
    trace.dispatch("main", start=0, duration=ms(20), counters=counters())
    gemm = counters(SQ_INSTS_VALU_MFMA_MOPS_BF16=2e9)
    trace.dispatch("gemm", start=ms(20), duration=ms(1), counters=gemm)
    assert found(trace.profile()) == []
    assert len(found(trace.profile(), worth=0.01)) == 1


def test_what_was_counted_in_part_has_no_place() -> None:
    """Matrix operations on FP8 are missing: the kernel could be at their roof."""
    partly = counters(**FP64)
    del partly["SQ_INSTS_VALU_MFMA_MOPS_F8"]
    trace = TraceBuilder(**MI300X).dispatch("k", start=0, duration=ms(1), counters=partly)
    assert found(trace.profile()) == []


def test_without_the_bandwidth_of_the_product_it_says_so() -> None:
    """gfx942 is three products with three bandwidths."""
    trace = TraceBuilder().dispatch("k", start=0, duration=ms(1), counters=counters(**FP64))
    with pytest.raises(UnjudgedError, match="the product of this gfx942: its memory bandwidth"):
        found(trace.profile())
