"""Metrics into passes: worked by hand against the slots of the hardware."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocperf.collect import limits
from rocperf.collect.limits import ANCHORS, fits
from rocperf.collect.passes import CounterPass, plan, split, unmeasurable

_TABLE = {
    "two-x": ("TCP_A", "TCP_B"),
    "two-y": ("TCP_C", "TCP_D"),
    "three": ("TCP_E", "TCP_F", "TCP_G"),
    "within": ("TCP_E", "TCP_F"),
    "waves": ("SQ_WAVES",),
    "sq": tuple(f"SQ_INSTS_{n}" for n in range(7)),
    "huge": tuple(f"TCC_{n}_sum" for n in range(9)),
}


def lookup(metric: str, target: str) -> tuple[str, ...]:
    return _TABLE.get(metric, ()) if target == "gfx942" else ()


def planned(*metrics: str) -> tuple[CounterPass, ...]:
    return plan(metrics, "gfx942", counters_of=lookup)


def test_every_pass_carries_the_anchors_and_a_ratio_is_not_parted() -> None:
    (only,) = planned("two-x", "sq")

    assert only.counters == (*ANCHORS, "TCP_A", "TCP_B", *_TABLE["sq"])
    assert only.metrics == ("two-x", "sq")
    assert not only.stitched


def test_counters_that_several_metrics_need_are_taken_once() -> None:
    (only,) = planned("three", "within")

    assert only.counters == (*ANCHORS, "TCP_E", "TCP_F", "TCP_G")


def test_a_metric_of_anchors_alone_needs_a_pass_only_when_there_is_none() -> None:
    assert [each.metrics for each in planned("waves")] == [("waves",)]
    assert [each.metrics for each in planned("two-x", "waves")] == [("two-x", "waves")]


def test_the_pass_of_the_most_valuable_metric_comes_first() -> None:
    passes = planned("three", "two-x", "two-y")

    assert [each.metrics for each in passes] == [("three",), ("two-x", "two-y")]


def test_an_exact_search_finds_fewer_passes_than_first_fit() -> None:
    # Sizes 2, 1, 3, 2 on four slots: first fit gives (2, 1), (3), (2); the best is (2, 2), (1, 3).
    table = {
        "a": ("TCP_A", "TCP_B"),
        "b": ("TCP_C",),
        "c": ("TCP_D", "TCP_E", "TCP_F"),
        "d": ("TCP_G", "TCP_H"),
    }

    passes = plan("abcd", "gfx942", counters_of=lambda name, _: table[name])

    assert [each.metrics for each in passes] == [("a", "d"), ("b", "c")]


def test_what_no_pass_holds_is_stitched_together_and_says_so() -> None:
    passes = planned("huge")

    assert [len(each.counters) - 2 for each in passes] == [4, 4, 1]  # nine of four slots
    assert {c for each in passes for c in each.counters} == {*ANCHORS, *_TABLE["huge"]}
    assert all(each.stitched == ("huge",) for each in passes)


def test_a_target_without_counters_is_named() -> None:
    assert plan(["two-x"], "gfx1201", counters_of=lookup) == ()
    assert unmeasurable(["two-x"], "gfx1201", counters_of=lookup) == ("two-x",)


def test_the_shipped_metrics_need_two_passes_at_most() -> None:
    everything = ("coalescing", "lds-conflict-share", "wave-occupancy", "valu-utilisation")

    for target in ("gfx90a", "gfx942", "gfx950", "gfx1151", "gfx1201"):
        passes = plan(everything, target)
        assert 1 <= len(passes) <= 2
        assert all(fits(each.counters, target) for each in passes)


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
        ([*ANCHORS, "FETCH_SIZE"], "gfx942", True),
        ([*ANCHORS, "FETCH_SIZE", "SQ_INSTS_VALU"], "gfx942", False),
        (["SPI_A", "SPI_B", "SPI_C", "SPI_D", "SPI_E", "SPI_F"], "gfx942", True),
    ],
)
def test_slots(counters: list[str], target: str, held: bool) -> None:
    assert fits(counters, target) is held


def test_a_device_suffix_is_the_same_counter() -> None:
    assert limits.used(["TCC_A_sum", "TCC_A:device=1"], "gfx942") == {"TCC": 1}


def test_a_pass_that_proved_too_large_is_halved_by_metrics() -> None:
    (whole,) = planned("two-x", "two-y", "sq")

    first, second = split(whole, "gfx942", counters_of=lookup)

    assert first == CounterPass((*ANCHORS, "TCP_A", "TCP_B"), ("two-x",))
    assert second == CounterPass((*ANCHORS, "TCP_C", "TCP_D", *_TABLE["sq"]), ("two-y", "sq"))


def test_one_metric_is_halved_by_counters_and_marked() -> None:
    (whole,) = planned("three")

    first, second = split(whole, "gfx942", counters_of=lookup)

    assert first.counters == (*ANCHORS, "TCP_E")
    assert second.counters == (*ANCHORS, "TCP_F", "TCP_G")
    assert first.stitched == second.stitched == ("three",)
    assert split(first, "gfx942", counters_of=lookup) == ()


_NAMES = [f"{block}_{n}" for block in ("SQ", "TCP", "TA", "TCC") for n in range(6)]


@given(st.lists(st.lists(st.sampled_from(_NAMES), min_size=1, max_size=5), max_size=6))
def test_plans_hold(sets: list[list[str]]) -> None:
    table = {f"m{i}": tuple(dict.fromkeys(names)) for i, names in enumerate(sets)}

    passes = plan(list(table), "gfx942", counters_of=lambda name, _: table[name])

    assert all(fits(each.counters, "gfx942") for each in passes)
    assert all(each.counters[:2] == ANCHORS for each in passes)
    for name, counters in table.items():
        serving = [each for each in passes if name in each.metrics]
        if fits((*ANCHORS, *counters), "gfx942"):
            assert len(serving) == 1
            assert set(counters) <= set(serving[0].counters)
        else:
            assert set(counters) <= {c for each in serving for c in each.counters}
    if all(fits((*ANCHORS, *counters), "gfx942") for counters in table.values()):
        assert len(passes) == _fewest([set(counters) for counters in table.values()])


def _fewest(sets: list[set[str]]) -> int:
    """The fewest bins, by trying every assignment."""
    for count in range(1, len(sets) + 1):
        for places in itertools.product(range(count), repeat=len(sets) - 1):
            bins: list[set[str]] = [set() for _ in range(count)]
            for place, names in zip((0, *places), sets, strict=True):
                bins[place] |= names
            if all(fits((*ANCHORS, *names), "gfx942") for names in bins):
                return count
    return len(sets)
