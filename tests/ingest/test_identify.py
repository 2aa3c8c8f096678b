"""Which process a run is of, its role, its time, and the names of kernels."""

from __future__ import annotations

from typing import Any

import pytest

from rocperf.ingest.identify import runs_without_events

#: `tests/ingest/conftest.py` makes it.
Hand = Any

PROCESSES = "SELECT run_id, process_id FROM runs ORDER BY run_id"


def test_passes_of_one_program_are_one_process(hand: Hand) -> None:
    timing = hand.run("timing", "10", "", pid=10, start_ns=1)
    passes = [hand.run(f"counters_{n}", f"{n}", "", pid=n, start_ns=n) for n in (2, 3)]
    for number, run_id in enumerate((timing, *passes)):
        hand.dispatches(run_id, "a")
        if number:
            hand.counters(run_id, f"C{number}")
    hand.finish()
    assert hand.ask(PROCESSES) == [(1, 1), (2, 1), (3, 1)]
    assert hand.ask("SELECT role FROM runs ORDER BY run_id") == [
        ("timing",),
        ("counters",),
        ("counters",),
    ]


def test_processes_of_one_execution_are_told_apart_by_their_start(hand: Hand) -> None:
    # Of two executions in two folders the process that starts first is the same one.
    first = [hand.run("t", f"{pid}", "", pid=pid) for pid in (50, 40)]
    second = [hand.run("c", f"{pid}", "", pid=pid) for pid in (60, 70)]
    starts = {first[0]: 900, first[1]: 100, second[0]: 5000, second[1]: 4000}
    for run_id, start in starts.items():
        hand.sink.runs[run_id].start_ns = start
        hand.counters(run_id, "C" if run_id in second else "D")
    hand.finish()
    found = dict(hand.ask(PROCESSES))
    assert found[first[1]] == found[second[1]]
    assert found[first[0]] == found[second[0]]
    assert found[first[0]] != found[first[1]]


def test_a_rank_outweighs_the_start(hand: Hand) -> None:
    runs = [
        hand.run("t", "a", "", rank=1, start_ns=1),
        hand.run("t", "b", "", rank=0, start_ns=2),
        hand.run("c", "a", "", rank=0, start_ns=1),
        hand.run("c", "b", "", rank=1, start_ns=2),
    ]
    for run_id in runs:
        hand.dispatches(run_id, "a")
        if run_id > 2:
            hand.counters(run_id, "C")
    hand.finish()
    found = dict(hand.ask(PROCESSES))
    assert found[1] == found[4]
    assert found[2] == found[3]
    assert found[1] != found[2]


def test_other_commands_are_other_processes(hand: Hand) -> None:
    for place, command in (("t", "./a"), ("c", "./b")):
        hand.dispatches(hand.run(place, "1", "", command=command), "k")
    hand.finish()
    assert hand.ask("SELECT count(DISTINCT process_id) FROM runs") == [(2,)]


def test_what_no_file_tells_stays_unknown(hand: Hand) -> None:
    hand.dispatches(hand.run("t", "", ""), "k")
    hand.finish()
    row = "SELECT hostname, pid, rank, command, tool_version, rocm_version FROM runs"
    assert hand.ask(row) == [(None,) * 6]
    assert hand.ask("SELECT hostname, rank, command FROM processes") == [(None, None, None)]
    assert hand.ask("SELECT count(*) FROM environment") == [(0,)]


def test_a_run_lasts_from_its_first_to_its_last_event(hand: Hand) -> None:
    run_id = hand.run("t", "", "", start_ns=5, end_ns=6)
    hand.dispatches(run_id, "k", "k", "k")
    empty = hand.run("u", "", "", start_ns=7, end_ns=8)
    hand.counters(empty, "C")
    hand.finish()
    # Events say when; only a run without any keeps what its file states.
    assert hand.ask("SELECT start_ns, end_ns FROM runs ORDER BY run_id") == [(1000, 3500), (7, 8)]


def test_the_command_and_the_environment_are_kept_without_secrets(hand: Hand) -> None:
    environment = {"HSA_XNACK": "1", "HOME": "/home/me", "ROCM_API_KEY": "x"}
    run_id = hand.run("t", "", "", command="./a --token=abc", environment=environment)
    hand.dispatches(run_id, "k")
    hand.finish()
    assert hand.ask("SELECT command FROM runs") == [("./a --token=***",)]
    assert hand.ask("SELECT name, value FROM environment") == [("HSA_XNACK", "1")]


def test_what_several_files_tell_of_one_run_is_joined(hand: Hand) -> None:
    run_id = hand.run("t", "1", "", pid=4)
    assert hand.run("t", "1", "", hostname="node-a", pid=9) == run_id
    assert hand.run("t", "1", "", status="incomplete") == run_id
    hand.dispatches(run_id, "k")
    hand.finish()
    # The first to tell is believed; a file that broke off makes the whole run incomplete.
    assert hand.ask("SELECT pid, hostname, status FROM runs") == [(4, "node-a", "incomplete")]


def test_kernels_are_numbered_in_order_of_runs_and_grouped_without_tails(hand: Hand) -> None:
    hand.dispatches(hand.run("a", "", ""), "ns::z(int) [clone .kd]", "b(int)")
    hand.dispatches(hand.run("b", "", ""), "ns::z(int)")
    hand.finish()
    rows = hand.ask("SELECT kernel_id, name, group_name, short_name FROM kernels ORDER BY 1")
    assert rows == [
        (1, "b(int)", "b(int)", "b"),
        (2, "ns::z(int) [clone .kd]", "ns::z(int)", "z"),
        (3, "ns::z(int)", "ns::z(int)", "z (3)"),
    ]


@pytest.mark.parametrize("table", ["copies", "api_calls", "kfd_events", "pc_samples", "markers"])
def test_a_run_with_any_event_did_something(hand: Hand, table: str) -> None:
    idle, busy = hand.run("a", "", ""), hand.run("b", "", "")
    columns = {
        "copies": "direction",
        "api_calls": "name",
        "kfd_events": "kind",
        "pc_samples": "method",
        "markers": "kind",
    }
    hand.sink.append_sql(table, f"SELECT 'x' AS {columns[table]}", (), run_id=busy, file_id=None)
    assert runs_without_events(hand.sink, [idle, busy]) == {idle}
