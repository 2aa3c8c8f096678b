"""Slots of the hardware, worked by hand against its table."""

from __future__ import annotations

import pytest

from rocperf.collect import limits
from rocperf.collect.limits import ANCHORS, fits


@pytest.mark.parametrize(
    ("counters", "target", "held"),
    [
        ([f"SQ_{n}" for n in range(8)], "gfx942", True),
        ([f"SQ_{n}" for n in range(9)], "gfx942", False),
        (["TA_A_sum", "TA_B_sum"], "gfx90a", True),
        (["TA_A_sum", "TA_B_sum", "TA_C_sum"], "gfx90a", False),
        (["TCC_A", "TCC_A_sum", "TCC_A_max", "TCC_B", "TCC_C", "TCC_D"], "gfx942", True),
        (["GL2C_A", "GL2C_B", "GL2C_C", "GL2C_D"], "gfx1201", True),
        (["GL2C_A", "GL2C_B", "GL2C_C", "GL2C_D", "GL2C_E"], "gfx1100", False),
        ([*(f"SQ_{n}" for n in range(7)), "SQ_LEVEL_WAVES_ACCUM"], "gfx942", False),
        ([*(f"SQ_{n}" for n in range(6)), "SQ_LEVEL_WAVES_ACCUM"], "gfx942", True),
        ([*(f"SQ_{n}" for n in range(5)), *(f"SQC_{n}" for n in range(4))], "gfx90a", False),
        ([*ANCHORS, "GPUBusy"], "gfx942", True),  # computed from what is not known here
        ([*ANCHORS, "GPUBusy", "SQ_INSTS_VALU"], "gfx942", False),
        ([*ANCHORS, "FETCH_SIZE", "SQ_INSTS_VALU", "TCC_HIT"], "gfx942", True),
        ([*ANCHORS, "FETCH_SIZE", "TCC_HIT", "TCC_MISS"], "gfx942", False),
        (["SPI_A", "SPI_B", "SPI_C", "SPI_D", "SPI_E", "SPI_F"], "gfx942", True),
    ],
)
def test_slots(counters: list[str], target: str, held: bool) -> None:
    assert fits(counters, target) is held


def test_a_device_suffix_is_the_same_counter() -> None:
    assert limits.used(["TCC_A_sum", "TCC_A:device=1"], "gfx942") == {"TCC": 1}


@pytest.mark.parametrize(
    ("counter", "target", "inputs"),
    [
        ("TCC_HIT_sum", "gfx942", ("TCC_HIT",)),
        ("FETCH_SIZE", "gfx942", ("TCC_BUBBLE", "TCC_EA0_RDREQ", "TCC_EA0_RDREQ_32B")),
        ("FETCH_SIZE", "gfx90a", ("TCC_EA_RDREQ", "TCC_EA_RDREQ_32B")),
        ("FETCH_SIZE", "gfx1201", ("FETCH_SIZE",)),  # not known there: it goes alone
        ("LDSBankConflict", "gfx1100", ("SQC_LDS_BANK_CONFLICT", "SQC_LDS_IDX_ACTIVE")),
        ("SQ_LEVEL_WAVES_ACCUM", "gfx942", ("SQ_LEVEL_WAVES", "SQ_LEVEL_WAVES_ACCUM")),
        ("VmemLatency", "gfx942",
         ("SQ_INSTS_VMEM", "SQ_INST_LEVEL_VMEM", "SQ_INST_LEVEL_VMEM_ACCUM")),
        ("A>SQ_ACCUM_PREV", "gfx942", ("A", "A>SQ_ACCUM_PREV")),
    ],
)  # fmt: skip
def test_inputs(counter: str, target: str, inputs: tuple[str, ...]) -> None:
    assert limits.inputs_of(counter, target) == inputs


def test_every_derived_counter_takes_known_blocks_only() -> None:
    rows = limits._derived()

    assert len(rows) > 10
    for row in rows:
        assert row["source"]
        for target in ("gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201"):
            if target.startswith(tuple(row["targets"])):
                assert "" not in limits.used([row["name"]], target), (row["name"], target)
                assert fits((*ANCHORS, row["name"]), target)


def test_pairs_of_a_level_and_its_accumulator() -> None:
    listed = ("SQ_WAVES", "SQ_LEVEL_WAVES", "SQ_ACCUM_PREV_HIRES", "SQ_INSTS_VALU")

    paired = limits.pair(listed)

    assert paired == ("SQ_WAVES", "SQ_LEVEL_WAVES>SQ_ACCUM_PREV_HIRES", "SQ_INSTS_VALU")
    assert limits.unpair(paired) == listed
    assert limits.used(paired, "gfx942") == {"SQ": 4}
    # The level itself comes with its pair.
    assert limits.unpair(["SQ_LEVEL_WAVES", *paired]) == listed
    # One accumulator name, one level.
    assert not fits(["A", "SQ_ACCUM_PREV_HIRES", "SQ_B", "SQ_ACCUM_PREV"], "gfx942")


@pytest.mark.parametrize(
    ("counters", "runs"),
    [
        ([], 0),
        (["TCP_A", "TCP_B", "TCP_C", "TCP_D"], 1),
        (["TCP_A", "TCP_B", "TCP_C", "TCP_D", "TCP_E"], 2),
        # SQ_WAVES takes one of the eight slots of the SQ in every run.
        ([f"SQ_{n}" for n in range(7)], 1),
        ([f"SQ_{n}" for n in range(15)], 3),
        (["FETCH_SIZE", "TCC_A", "TCC_B"], 2),
        (["UNKNOWN", "OTHER"], 2),
        (list(ANCHORS), 0),
    ],
)
def test_the_least_number_of_runs(counters: list[str], runs: int) -> None:
    assert limits.least_runs(counters, "gfx942") == runs


def test_a_block_may_be_known_to_have_fewer() -> None:
    assert fits(["TCP_A", "TCP_B"], "gfx942", {"TCP": 2})
    assert not fits(["TCP_A", "TCP_B", "TCP_C"], "gfx942", {"TCP": 2})
