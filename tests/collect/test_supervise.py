"""Processes, signals, time limits and standard error of one pass."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocperf.collect import family, inputs, supervise
from rocperf.collect.relay import Relay
from rocperf.collect.supervise import Ended, Interrupts


def watch(
    tmp_path: Path,
    script: str,
    *,
    limit_s: float | None = 20.0,
    press: tuple[float, ...] = (),
    told: list[str] | None = None,
) -> Ended:
    """Supervise a shell script, with Ctrl-C at some times."""
    told = [] if told is None else told
    with Interrupts() as interrupts:
        timers = [threading.Timer(at, os.kill, (os.getpid(), signal.SIGINT)) for at in press]
        for timer in timers:
            timer.start()
        try:
            return supervise.supervise(
                ["/bin/sh", "-c", script],
                environment=dict(os.environ),
                stdin=subprocess.DEVNULL,
                log=tmp_path / "log",
                limit_s=limit_s,
                interrupts=interrupts,
                tell=told.append,
                beat=lambda seconds, waiting: None,
            )
        finally:
            for timer in timers:
                timer.cancel()


def test_exit_codes_and_signals(tmp_path: Path) -> None:
    assert watch(tmp_path, "exit 3").code == 3
    crashed = watch(tmp_path, "kill -SEGV $$")
    assert (crashed.how, crashed.code) == ("exited", -signal.SIGSEGV)


def test_a_time_limit_ends_the_whole_family(tmp_path: Path) -> None:
    script = f"trap '' TERM; sleep 60 & echo $! > {tmp_path}/child; wait; sleep 60"

    ended = watch(tmp_path, script, limit_s=0.5)

    assert ended.how == "timeout"
    assert ended.seconds < 5
    assert not _alive(int((tmp_path / "child").read_text()))


def test_an_interrupt_waits_for_what_is_written(tmp_path: Path) -> None:
    told: list[str] = []
    script = f"trap 'sleep 1; echo data > {tmp_path}/out; exit 130' INT; sleep 60 & wait $!"

    ended = watch(tmp_path, script, limit_s=0.9, press=(0.4,), told=told)

    assert ended.how == "interrupted"  # the limit no longer counts
    assert (tmp_path / "out").read_text() == "data\n"
    assert "waiting for rocprofv3 to flush" in told[0]


def test_three_interrupts_end_anything(tmp_path: Path) -> None:
    told: list[str] = []

    ended = watch(
        tmp_path, "trap '' INT TERM; while :; do sleep 1; done", press=(0.3, 0.8, 1.3), told=told
    )

    assert (ended.how, ended.code) == ("interrupted", -signal.SIGKILL)
    assert len(told) == 3


def test_workers_may_end_by_themselves(tmp_path: Path) -> None:
    script = f"(sleep 1; echo late > {tmp_path}/late) > /dev/null & exit 0"

    ended = watch(tmp_path, script)

    assert not ended.left
    assert (tmp_path / "late").exists()


def test_those_that_stay_are_ended_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervise, "LEFTOVER_S", 0.3)
    told: list[str] = []

    ended = watch(tmp_path, "sleep 77 & exit 0", told=told)

    assert list(ended.left.values()) == ["sleep"]
    assert "sleep (process" in told[0]
    assert not any(_alive(pid) for pid in ended.left)


def test_a_crashed_program_leaves_nobody_behind(tmp_path: Path) -> None:
    ended = watch(tmp_path, "sleep 77 & kill -ABRT $$")

    assert ended.seconds < 5
    assert not any(_alive(pid) for pid in ended.left)


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def test_members_of_a_session_are_found() -> None:
    process = subprocess.Popen(["sleep", "30"], start_new_session=True)
    try:
        deadline = time.monotonic() + 5
        while family.members(process.pid) != {process.pid: "sleep"}:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        family.end(process.pid)
        process.wait()
    assert family.members(process.pid) == {}


@pytest.fixture
def relayed(tmp_path: Path) -> Iterator[tuple[int, list[bytes], Relay, Path]]:
    read_end, write_end = os.pipe()
    shown: list[bytes] = []
    relay = Relay(read_end, tmp_path / "log", shown.append)
    yield write_end, shown, relay, tmp_path / "log"
    relay.finish()


def test_lines_of_the_profiler_go_to_the_log_only(
    relayed: tuple[int, list[bytes], Relay, Path],
) -> None:
    write_end, shown, relay, log = relayed
    said = (
        b"first\nE20261201 02:25:12.000000 2166 output_stream.cpp:110] Opened result file: x\n"
        b"W1201 02:25:12.0 1 a.cpp:1] Unable\n[rocprofv3] Warning: y\nEnd of step 1\n10%\r20%\r"
    )

    os.write(write_end, said[:40])
    os.write(write_end, said[40:])
    os.close(write_end)
    relay.finish()

    assert b"".join(shown) == b"first\nEnd of step 1\n10%\r20%\r"
    assert log.read_bytes() == said


def test_a_prompt_without_an_end_is_shown(relayed: tuple[int, list[bytes], Relay, Path]) -> None:
    write_end, shown, _relay, _ = relayed

    os.write(write_end, b"Enter a name: ")
    deadline = time.monotonic() + 5
    while not shown:
        assert time.monotonic() < deadline
        time.sleep(0.01)

    os.close(write_end)
    assert b"".join(shown) == b"Enter a name: "


def test_a_pipe_that_somebody_holds_is_not_waited_for(
    relayed: tuple[int, list[bytes], Relay, Path],
) -> None:
    write_end, shown, relay, _ = relayed
    os.write(write_end, b"said\n")

    relay.finish()

    assert shown == [b"said\n"]
    os.close(write_end)


@pytest.mark.parametrize(("writes", "closes", "piped"), [(True, True, True), (False, True, False),
                                                         (False, False, True)])  # fmt: skip
def test_which_pipes_count(
    monkeypatch: pytest.MonkeyPatch, writes: bool, closes: bool, piped: bool
) -> None:
    read_end, write_end = os.pipe()
    if writes:
        os.write(write_end, b"x")
    if closes:
        os.close(write_end)
    with os.fdopen(read_end) as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert inputs.piped() is piped
    if not closes:
        os.close(write_end)


def test_a_redirected_file_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("skip\nrest\n")
    code = (
        "import os; os.read(0, 5)\n"
        "from rocperf.collect.inputs import open_input\n"
        "for _ in range(2):\n"
        "    d = open_input(None); print(os.read(d, 99).decode(), end=''); os.close(d)\n"
    )
    with (tmp_path / "in").open() as given:
        done = subprocess.run(
            [sys.executable, "-c", code], stdin=given, capture_output=True, text=True, check=True
        )
    assert done.stdout == "rest\nrest\n"
