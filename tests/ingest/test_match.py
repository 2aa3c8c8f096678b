"""Dispatches of several runs that are one launch, and those that are not."""

from __future__ import annotations

from typing import Any

import pytest

#: `tests/ingest/conftest.py` makes it.
Hand = Any

LAUNCHES = (
    "SELECT run_id, dispatch_id, name, launch_id IS NOT NULL, nth, runs FROM all_dispatches"
    " JOIN kernels USING (kernel_id) LEFT JOIN launches USING (launch_id) ORDER BY 1, 2"
)


def two_runs(hand: Hand, **second: object) -> tuple[int, int]:
    timing = hand.run("t", "1", "", pid=10, start_ns=1, role="timing")
    counters = hand.run("c", "1", "", pid=20, start_ns=2, role="counters", **second)
    return timing, counters


def test_the_nth_of_equal_dispatches_is_the_same_launch_whatever_its_id(hand: Hand) -> None:
    timing, counters = two_runs(hand)
    hand.dispatches(timing, "a", "b", "a")
    hand.dispatches(counters, "a", "a", "b", dispatch_id=None)  # ids are set below
    hand.sink.connection.execute(
        "UPDATE scratch.main.incoming SET dispatch_id = 90 + start_ns // 1000 WHERE run_id = 2"
    )
    hand.finish()
    pairs = hand.ask(
        "SELECT t.dispatch_id, c.dispatch_id FROM all_dispatches t JOIN all_dispatches c"
        " USING (launch_id) WHERE t.run_id = 1 AND c.run_id = 2 ORDER BY 1"
    )
    # The first `a` with the first, the second with the second, `b` with `b`.
    assert pairs == [(1, 91), (2, 93), (3, 92)]
    assert hand.ask("SELECT count(*), min(runs), max(runs) FROM launches") == [(3, 2, 2)]
    assert hand.notes == []


def test_another_tail_is_the_same_kernel_another_shape_is_not_the_same_launch(hand: Hand) -> None:
    timing, counters = two_runs(hand)
    hand.dispatches(timing, "k(int) [clone .kd]", "m(int)")
    hand.dispatches(counters, "k(int)", "m(int)")
    hand.sink.connection.execute(
        "UPDATE scratch.main.incoming SET grid_size = 2048 WHERE run_id = 2 AND kernel = 'm(int)'"
    )
    hand.finish()
    assert hand.ask("SELECT nth, runs FROM launches ORDER BY launch_id") == [(1, 2), (1, 1), (1, 1)]
    assert hand.ask("SELECT count(DISTINCT group_name) FROM kernels") == [(2,)]


def test_a_group_of_another_number_is_compared_per_kernel_only_and_said(hand: Hand) -> None:
    timing, counters = two_runs(hand)
    hand.dispatches(timing, "a", "b", "b")
    hand.dispatches(counters, "a", "b")
    hand.finish()
    assert hand.ask(LAUNCHES) == [
        (1, 1, "a", True, 1, 2),
        (1, 2, "b", True, 1, 1),
        (1, 3, "b", True, 2, 1),
        (2, 1, "a", True, 1, 2),
        (2, 2, "b", False, None, None),
    ]
    (note,) = hand.notes
    assert (note.code, note.rows) == ("launches-unmatched", 1)
    assert note.message.startswith("run 2: 1 dispatches of 1 kernel shapes")


def test_the_timing_run_is_the_reference_even_when_it_comes_last(hand: Hand) -> None:
    counters = hand.run("c", "1", "", role="counters", start_ns=2)
    timing = hand.run("t", "1", "", role="timing", start_ns=1)
    hand.dispatches(counters, "a")
    hand.dispatches(timing, "a", "a")
    hand.finish()
    assert hand.ask("SELECT run_id, launch_id IS NULL FROM all_dispatches ORDER BY ALL") == [
        (1, True),
        (2, False),
        (2, False),
    ]


def test_other_processes_and_other_gpus_are_never_matched(hand: Hand) -> None:
    ranks = [hand.run("t", str(n), "", rank=n, role="timing", start_ns=n + 1) for n in (0, 1)]
    for run_id in ranks:
        hand.dispatches(run_id, "a")
    other = hand.run("c", "0", "", rank=0, role="counters", start_ns=5)
    hand.dispatches(other, "a", agent_id=5)
    hand.finish()
    assert hand.ask("SELECT count(*), max(runs) FROM launches") == [(3, 1)]


def test_dispatches_without_agent_or_size_still_match(hand: Hand) -> None:
    timing, counters = two_runs(hand)
    for run_id in (timing, counters):
        hand.dispatches(run_id, "a", agent_id=None, grid_size=None, workgroup_size=None)
    hand.finish()
    assert hand.ask("SELECT nth, runs FROM launches") == [(1, 2)]


def test_no_dispatch_gets_lost_or_twice_a_place(hand: Hand) -> None:
    timing, counters = two_runs(hand)
    hand.dispatches(timing, *"abcabcaab")
    hand.dispatches(counters, *"aabbccab")
    hand.finish()
    assert hand.ask("SELECT run_id, count(*) FROM all_dispatches GROUP BY 1 ORDER BY 1") == [
        (1, 9),
        (2, 8),
    ]
    assert hand.ask(
        "SELECT count(*) - count(DISTINCT (run_id, launch_id)) FROM all_dispatches"
        " WHERE launch_id IS NOT NULL"
    ) == [(0,)]
    # Launch numbers run from 1 without a hole.
    assert hand.ask("SELECT min(launch_id), max(launch_id), count(*) FROM launches") == [(1, 9, 9)]


@pytest.mark.parametrize("order", ["aabbbc", "cbbbaa", "abcbab", "bacabb"])
def test_the_order_among_different_kernels_does_not_matter(hand: Hand, order: str) -> None:
    timing, counters = two_runs(hand)
    hand.dispatches(timing, *"aabbbc")
    hand.dispatches(counters, *order)
    hand.finish()
    assert hand.ask("SELECT count(*), min(runs), max(runs) FROM launches") == [(6, 2, 2)]
    assert hand.notes == []
