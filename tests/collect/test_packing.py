"""The fewest bins: every partition of small tasks is tried, large ones have a stated bound."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocperf.collect.limits import ANCHORS, fits, least_runs, slots, used
from rocperf.collect.packing import pack
from rocperf.collect.passes import plan
from rocperf.metrics import catalogue

TARGETS = ("gfx908", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1151", "gfx1201")

_NAMES = [f"{block}_{n}" for block in ("SQ", "TCP", "TA", "TCC") for n in range(7)]
_GROUP = st.lists(st.sampled_from(_NAMES), min_size=1, max_size=5).map(frozenset)


def holds(counters: frozenset[str]) -> bool:
    return fits((*ANCHORS, *sorted(counters)), "gfx942")


def partitions(count: int) -> Iterator[list[int]]:
    """Every way to put things into bins: a number for each, a new one at most one higher."""

    def grow(places: list[int], most: int) -> Iterator[list[int]]:
        if len(places) == count:
            yield places
            return
        for place in range(most + 1):
            yield from grow([*places, place], max(most, place + 1))

    yield from grow([], 0)


def fewest(groups: Sequence[frozenset[str]]) -> int:
    best = len(groups)
    for places in partitions(len(groups)):
        count = max(places, default=-1) + 1
        if count < best:
            bins: list[set[str]] = [set() for _ in range(count)]
            for place, group in zip(places, groups, strict=True):
                bins[place] |= group
            if all(holds(frozenset(each)) for each in bins):
                best = count
    return best


@given(st.lists(_GROUP.filter(holds), max_size=7))
@settings(deadline=None)
def test_small_tasks_are_solved_as_well_as_can_be(groups: list[frozenset[str]]) -> None:
    bins = pack(groups, holds)

    assert all(map(holds, bins))
    assert all(any(group <= each for each in bins) for group in groups)
    assert len(bins) == fewest(groups)


def test_first_fit_is_not_enough() -> None:
    # 2, 1, 3 and 2 of four slots: in this order first fit opens three bins.
    groups = [frozenset(each) for each in (
        {"TCP_0", "TCP_1"}, {"TCP_2"}, {"TCP_3", "TCP_4", "TCP_5"}, {"TCP_6", "TCP_7"},
    )]  # fmt: skip

    assert len(pack(groups, holds)) == 2


def bound(groups: Sequence[frozenset[str]], target: str) -> float:
    """Return what `pack` states: 1 + 2 L, where the anchors leave so many slots."""
    anchors = used(ANCHORS, target)
    total = 0.0
    for group in groups:
        for block, count in used(group, target).items():
            total += count / (slots(target)[block] - anchors.get(block, 0))
    return 1 + 2 * total


@given(st.lists(_GROUP.filter(holds), min_size=15, max_size=60))
@settings(deadline=None, max_examples=15)
def test_large_tasks_stay_within_the_bound(groups: list[frozenset[str]]) -> None:
    least = least_runs({name for group in groups for name in group}, "gfx942")

    bins = pack(groups, holds, least)

    assert all(map(holds, bins))
    assert least <= len(bins) <= min(bound(groups, "gfx942"), len(set(groups)))
    assert not any(holds(one | other) for i, one in enumerate(bins) for other in bins[i + 1 :])


@pytest.mark.parametrize("target", TARGETS)
def test_the_whole_catalogue_takes_hardly_more_than_its_counters_must(target: str) -> None:
    metrics = [name for name in catalogue.metrics() if catalogue.metric(name).on(target)]
    if not metrics:
        pytest.skip(f"no metric can be measured on {target}")
    started = time.monotonic()

    passes = plan(metrics, target)

    assert time.monotonic() - started < 20
    wanted = {name for metric in metrics for name in catalogue.counters_of(metric, target)}
    least = max(1, least_runs(wanted, target))
    assert least <= len(passes) <= 1.5 * least + 1
    assert all(fits(each.counters, target) for each in passes)
    assert all(each.counters[:2] == ANCHORS for each in passes)
    for metric in metrics:
        counters = set(catalogue.counters_of(metric, target)) - set(ANCHORS)
        serving = [each for each in passes if metric in each.metrics]
        if not any(metric in each.stitched for each in serving):
            assert len(serving) == 1 or not catalogue.counters_of(metric, target)
            assert counters <= {name for each in serving for name in each.counters}
