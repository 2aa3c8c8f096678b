"""Small profilers of our own that do one odd thing, and Ctrl-C from outside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rocperf.collect import Request, collect, prepare
from rocperf.errors import MachineError, RocperfError
from rocperf.ingest.load import ingest
from rocperf.profile import open_profile

from .small_profilers import COUNTERS, TRACE, profiler, request, write


def test_kernels_that_wait_for_each_other_are_not_serialised(
    machine: Callable[..., None], tmp_path: Path
) -> None:
    trace = TRACE.format(name="ncclDevKernel_Generic(x)", grid=640)
    path = profiler(
        tmp_path, write(tmp_path, "kernel_trace.csv", trace),
        write(tmp_path, "counter_collection.csv", COUNTERS.format(waves=10)),
    )  # fmt: skip
    told: list[object] = []

    done = collect(prepare(request(path)), told.append)

    assert [each.status for each in done.passes] == ["complete", "missing"]
    assert "ncclDevKernel_Generic" in str(done.passes[1].message)
    assert "--allow-serialised" in "\n".join(map(str, told))
    assert done.exit_code(strict=False) == 0

    done = collect(prepare(request(path, force=True, allow_serialised=True)), told.append)

    assert [each.status for each in done.passes] == ["complete", "complete"]


@pytest.mark.parametrize(("waves", "odd"), [(10, False), (20, True)])
def test_waves_are_held_against_the_launch(
    machine: Callable[..., None], tmp_path: Path, waves: int, odd: bool
) -> None:
    path = profiler(
        tmp_path, write(tmp_path, "kernel_trace.csv", TRACE.format(name="k", grid=640)),
        write(tmp_path, "counter_collection.csv", COUNTERS.format(waves=waves)),
    )  # fmt: skip

    done = collect(prepare(request(path)), lambda event: None)

    said = str(done.passes[1].message)
    assert ("SQ_WAVES differs from the size of the launch in 1 of 1" in said) is odd


def test_a_temporary_folder_of_our_own(machine: Callable[..., None], tmp_path: Path) -> None:
    write_trace = write(tmp_path, "kernel_trace.csv", TRACE.format(name="k", grid=64))
    path = profiler(tmp_path, f'touch "$ROCPROF_TMPDIR/x" && {write_trace}')

    done = collect(prepare(request(path, metrics=())), lambda event: None)

    assert done.passes[0].status == "complete"


def test_the_gpu_is_known_from_the_driver_where_no_file_lists_it(
    machine: Callable[..., None], tmp_path: Path
) -> None:
    trace = TRACE.format(name="k", grid=64).replace("Agent 1", "Agent 4")
    path = profiler(tmp_path, write(tmp_path, "kernel_trace.csv", trace))

    done = collect(prepare(request(path, metrics=())), lambda event: None)

    with open_profile(done.profile) as profile:
        assert [gpu.target for gpu in profile.gpus] == ["gfx942"]
        assert profile.sql("SELECT agent_id, target FROM agents").rows() == [(4, "gfx942")]


def test_no_gpu_ends_before_anything_is_launched(
    machine: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = profiler(tmp_path, f"touch {tmp_path}/launched")
    monkeypatch.setenv("ROCPERF_DEV", str(tmp_path / "empty"))

    with pytest.raises(MachineError, match=r"no AMD GPU visible: no .*/kfd"):
        prepare(request(path))

    assert not (tmp_path / "launched").exists()


@pytest.mark.parametrize(
    "damage",
    [
        "{", "[]", '{"schema": "rocperf.raw/9", "passes": []}', '{"schema": "rocperf.raw/1"}',
        '{"schema": "rocperf.raw/1", "passes": [1, {}, {"number": 1, "folder": "../.."}]}',
        '{"schema": "rocperf.raw/1", "passes": [{"number": 1, "folder": "pass_1", "argv": 3,'
        ' "counters": {}, "exit_code": "x"}], "machine": {"agents": [1], "links": 3},'
        ' "command": 1, "environment": [], "versions": 2}',
    ],
)  # fmt: skip
def test_a_damaged_manifest_costs_nothing(
    machine: Callable[..., None], tmp_path: Path, damage: str
) -> None:
    path = profiler(tmp_path, write(tmp_path, "kernel_trace.csv", TRACE.format(name="k", grid=64)))
    done = collect(prepare(request(path, metrics=())), lambda event: None)
    (done.raw / "manifest.json").write_text(damage)

    ingest([done.raw], Path("again.rocperf"))

    with open_profile(Path("again.rocperf")) as profile:
        assert profile.scalar("SELECT count(*) FROM all_dispatches") == 1
    with pytest.raises(RocperfError):
        prepare(request(path, resume=done.raw, metrics=("waves",)))


def test_passes_of_appended_collections_are_numbered_on(
    machine: Callable[..., None], tmp_path: Path
) -> None:
    first = tmp_path / "first"
    first.mkdir()
    path = profiler(first, write(first, "kernel_trace.csv", TRACE.format(name="k", grid=64)))
    one = collect(prepare(request(path, metrics=())), lambda event: None)
    other = first / "kernel_trace.csv"
    other.write_text(TRACE.format(name="k2", grid=64))
    two = collect(prepare(request(path, metrics=(), output=Path("b.rocperf"))), lambda event: None)

    ingest([two.raw], one.profile, mode="append")

    with open_profile(one.profile) as profile:
        assert profile.sql('SELECT "pass" FROM passes ORDER BY 1').rows() == [(1,), (2,)]
        assert profile.sql('SELECT "pass" FROM runs ORDER BY 1').rows() == [(1,), (2,)]


def test_secrets_stay_out(
    machine: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_abcdefghijk")
    monkeypatch.setenv("HSA_XNACK", "1")
    path = profiler(tmp_path, write(tmp_path, "kernel_trace.csv", TRACE.format(name="k", grid=64)))

    done = collect(
        prepare(Request(
            ("./app", "--token", "abc123"), output=Path("app.rocperf"), rocprofv3=str(path),
            stdin=Path(os.devnull),
        )),
        lambda event: None,
    )  # fmt: skip

    manifest = (done.raw / "manifest.json").read_text()
    assert "hf_abc" not in manifest
    assert json.loads(manifest)["environment"]["HSA_XNACK"] == "1"
    with open_profile(done.profile) as profile:
        told = profile.sql("SELECT p.command, r.command AS of_run FROM passes p, runs r").row(0)
        assert "abc123" not in " ".join(told)
        assert profile.sql("SELECT value FROM environment WHERE name = 'HSA_XNACK'").rows() == [
            ("1",)
        ]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_keeps_what_is_finished(
    machine: Callable[..., None], tmp_path: Path, number: signal.Signals
) -> None:
    trace = write(tmp_path, "kernel_trace.csv", TRACE.format(name="k", grid=64))
    path = profiler(
        tmp_path, trace, f"trap 'sleep 1; exit 130' INT; touch {tmp_path}/counting; sleep 60 & wait"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "rocperf", "collect", "--for", "lds-bank-conflicts",
         "--rocprofv3", str(path), "--", "./app"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not (tmp_path / "counting").exists():
        assert time.monotonic() < deadline, process.poll()
        time.sleep(0.05)
    process.send_signal(number)
    said, _ = process.communicate(timeout=60)

    assert process.returncode == 130
    assert "waiting for rocprofv3 to flush" in said
    assert "interrupted run" in said
    assert "--resume app.rocperf" in said
    with open_profile(Path("app.rocperf")) as profile:
        assert profile.sql('SELECT status FROM passes ORDER BY "pass"').rows() == [
            ("complete",), ("interrupted",),
        ]  # fmt: skip
