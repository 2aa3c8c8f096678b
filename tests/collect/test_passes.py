"""Metrics into passes: worked by hand against the slots of the hardware."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from rocperf.collect.counting import Chosen
from rocperf.collect.limits import ANCHORS, fits
from rocperf.collect.passes import CounterPass, plan, split, unmeasurable
from rocperf.collect.sums import is_sum

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


def no_sum(metric: str, target: str) -> bool:
    return False


def planned(*metrics: str) -> tuple[CounterPass, ...]:
    return plan(metrics, "gfx942", counters_of=lookup, sums=no_sum)


def of(table: Mapping[str, tuple[str, ...]], target: str = "gfx942") -> tuple[CounterPass, ...]:
    """Plan metrics of a table."""
    return plan(list(table), target, counters_of=lambda name, _: table[name], sums=no_sum)


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

    passes = of(table)

    assert [each.metrics for each in passes] == [("a", "d"), ("b", "c")]


def test_what_no_pass_holds_is_stitched_together_and_says_so() -> None:
    passes = planned("huge")

    assert [len(each.counters) - 2 for each in passes] == [4, 4, 1]  # nine of four slots
    assert {c for each in passes for c in each.counters} == {*ANCHORS, *_TABLE["huge"]}
    assert all(each.stitched == ("huge",) for each in passes)
    assert not any(each.summed for each in passes)


def test_a_sum_that_no_pass_holds_may_fill_gaps() -> None:
    # Six counters of the L2 and two ratios of three: three passes of four, where the sum in one
    # piece of four and one of two would need four.
    table = {
        "sum": tuple(f"TCC_{n}_sum" for n in range(6)),
        "one": ("TCC_A", "TCC_B", "TCC_C"),
        "two": ("TCC_D", "TCC_E", "TCC_F"),
    }

    passes = plan(
        list(table), "gfx942", counters_of=lambda name, _: table[name],
        sums=lambda name, _: name == "sum",
    )  # fmt: skip

    assert [len(each.counters) - 2 for each in passes] == [4, 4, 4]
    assert {name for each in passes for name in each.summed} == {"sum"}
    assert sorted(n for each in passes for n in each.metrics if n != "sum") == ["one", "two"]


def test_a_target_without_counters_is_named() -> None:
    assert plan(["two-x"], "gfx1201", counters_of=lookup) == ()
    assert unmeasurable(["two-x"], "gfx1201", counters_of=lookup) == ("two-x",)


def test_the_shipped_metrics_need_two_passes_at_most() -> None:
    everything = ("coalescing", "lds-conflict-share", "wave-occupancy", "valu-utilisation")

    for target in ("gfx90a", "gfx942", "gfx950", "gfx1151", "gfx1201"):
        passes = plan(everything, target)
        assert 1 <= len(passes) <= 2
        assert all(fits(each.counters, target) for each in passes)


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


def test_halving_does_not_part_a_level_from_its_accumulator() -> None:
    whole = CounterPass(
        (*ANCHORS, "SQ_INST_LEVEL_LDS", "SQ_ACCUM_PREV_HIRES", "SQ_INSTS_LDS"), ("three",)
    )

    first, second = split(whole, "gfx942", counters_of=lookup)

    assert first.counters == (*ANCHORS, "SQ_INST_LEVEL_LDS", "SQ_ACCUM_PREV_HIRES")
    assert second.counters == (*ANCHORS, "SQ_INSTS_LDS")


def test_a_derived_counter_takes_what_it_is_computed_from() -> None:
    # FETCH_SIZE reads three counters of the L2 on gfx942, so that one is left in its pass.
    table = {"fetch": ("FETCH_SIZE",), "hit": ("TCC_HIT_sum",), "miss": ("TCC_MISS_sum",)}

    assert [each.metrics for each in of(table)] == [("fetch", "hit"), ("miss",)]
    # On gfx90a it reads two.
    assert [each.metrics for each in of(table, "gfx90a")] == [("fetch", "hit", "miss")]


def test_what_derived_counters_share_is_counted_once() -> None:
    table = {
        "fetch": ("FETCH_SIZE",),
        "bytes": ("TCC_BUBBLE_sum", "TCC_EA0_RDREQ_sum", "TCC_EA0_RDREQ_32B_sum"),
        "hit": ("TCC_HIT_sum",),
    }

    (only,) = of(table)

    assert only.metrics == ("fetch", "bytes", "hit")


def test_a_level_stays_just_before_its_accumulator() -> None:
    table = {
        "valu": ("SQ_INSTS_VALU",),
        "latency": ("SQ_INSTS_VMEM", "SQ_INST_LEVEL_VMEM", "SQ_ACCUM_PREV_HIRES"),
        "level": ("SQ_INST_LEVEL_VMEM",),
    }

    (only,) = of(table)

    at = only.counters.index("SQ_ACCUM_PREV_HIRES")
    assert only.counters[at - 1] == "SQ_INST_LEVEL_VMEM"
    assert only.counters.count("SQ_INST_LEVEL_VMEM") == 1


def test_an_accumulator_of_one_name_adds_up_one_level_a_pass() -> None:
    table = {
        "vmem": ("SQ_INST_LEVEL_VMEM", "SQ_ACCUM_PREV_HIRES", "SQ_INSTS_VMEM"),
        "lds": ("SQ_INST_LEVEL_LDS", "SQ_ACCUM_PREV_HIRES", "SQ_INSTS_LDS"),
    }

    first, second = of(table)

    assert first.metrics == ("vmem",)
    assert second.metrics == ("lds",)
    assert second.counters == (
        *ANCHORS, "SQ_INST_LEVEL_LDS", "SQ_ACCUM_PREV_HIRES", "SQ_INSTS_LDS",
    )  # fmt: skip


def test_accumulated_levels_of_their_own_names_share_a_pass() -> None:
    # Each takes two of the eight slots of the SQ, beside SQ_WAVES: three of them fit, not four.
    levels = [f"SQ_INST_LEVEL_{name}_ACCUM" for name in ("A", "B", "C", "D")]

    passes = of({name: (name,) for name in levels})

    assert [len(each.metrics) for each in passes] == [3, 1]


def test_metrics_move_into_earlier_passes_that_have_room() -> None:
    # The third most valuable metric needs one slot of the L1, which the first pass has.
    table = {
        "a": ("TCP_A", "TCP_B", "TCP_C"),
        "b": ("TCP_D", "TCP_E", "TCP_F"),
        "c": ("TCP_G",),
        "d": ("TCP_H",),
    }

    assert [each.metrics for each in of(table)] == [("a", "c"), ("b", "d")]


@pytest.mark.parametrize(
    ("metric", "target", "adds"),
    [
        ("fabric-read-bytes", "gfx942", True),
        ("fabric-write-bytes", "gfx90a", True),
        ("fabric-read-bytes", "gfx1201", True),
        ("coalescing", "gfx942", False),
        ("lds-conflict-share", "gfx942", False),
        ("coalescing", "gfx1201", False),  # it has none
    ],
)
def test_which_metrics_only_add_up(metric: str, target: str, adds: bool) -> None:
    assert is_sum(metric, target) is adds


def test_what_cannot_fit_is_said_before() -> None:
    passes = planned("huge")
    parted = Chosen(passes, "", (), ()).warnings("gfx942")
    summed = tuple(replace(each, summed=each.stitched) for each in passes)

    assert parted == (
        "huge: needs more counters than one run can hold; stitched together from several runs,"
        " and marked so",
    )
    assert Chosen(summed, "", (), ()).warnings("gfx942") == (
        "huge: added up over several runs, and trusted when SQ_WAVES and GRBM_GUI_ACTIVE agree",
    )


def test_a_long_list_in_a_warning_is_cut() -> None:
    names = tuple(f"m{n}" for n in range(11))

    (text,) = Chosen((), "", names).warnings("gfx942")

    assert text == "gfx942 has no counters for m0, m1, m2, m3, m4, m5, m6, m7 and 3 more"
