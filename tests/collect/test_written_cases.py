"""The written cases of collecting, each with the input that was written for it.

=====  ============================================================================================
case   test
=====  ============================================================================================
C01    `test_cases_that_bring_nothing`
C02    `test_cases_that_bring_nothing`; split once: ``test_runs``
C03    `test_cases_that_keep_the_first_pass`, `test_counters_that_a_gpu_cannot_give`
C05    `test_a_case_that_never_ends`; kernels that wait for others: ``test_waiting``
C06    `test_an_interrupted_case_keeps_what_is_written`
C08    `test_attaching_that_brings_nothing`
C09    `test_cases_that_keep_the_first_pass`
C10    `test_cases_that_bring_nothing`
C12    `test_a_machine_without_a_gpu`
C14    `test_children_without_gpu_work`; wrong launches: ``test_runs``
C15    `test_cases_that_keep_the_first_pass`
C16    `test_counters_that_silently_lack`
C18    `test_each_state_of_the_device_has_its_sentence`
C19    `test_cases_that_keep_the_first_pass`
C20    `test_variables_that_decide_a_run`
H23    `test_arguments_are_passed_on_untouched`
=====  ============================================================================================
"""

from __future__ import annotations

import csv
import errno
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rocperf import pipeline
from rocperf.cli import main
from rocperf.collect import collect, events, prepare
from rocperf.collect import machine as machines
from rocperf.errors import MachineError, NothingError, RocperfError
from rocperf.ingest.load import ingest
from rocperf.model import Skipped
from rocperf.profile import open_profile

from .conftest import CASES
from .small_profilers import TRACE, profiler, request, write


def case(name: str, tmp_path: Path) -> Path:
    """Copy a written case, or skip where there are none."""
    if not (CASES / name).is_dir():
        pytest.skip(f"no written cases at {CASES}")
    copy = tmp_path / name
    shutil.copytree(CASES / name, copy)
    for path in [copy, *copy.rglob("*")]:
        path.chmod(0o755)
    return copy / "bin" / "rocprofv3"


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("C01", NothingError, r"no kernel dispatch rows \(it wrote \d+_agent_info.csv, \d+_res"),
        ("C02", NothingError, "exceeds what one pass can hold: SQ_WAVES GRBM_GUI_ACTIVE"),
        ("C10", MachineError, "libsqlite3.so"),
    ],
)
def test_cases_that_bring_nothing(
    machine: Callable[..., None], tmp_path: Path, name: str, kind: type[RocperfError], said: str
) -> None:
    path = case(name, tmp_path)

    with pytest.raises(kind, match=said):
        collect(prepare(request(path, metrics=("coalescing", "waves"))), lambda event: None)

    raw = Path("app.rocperf.raw")
    assert (raw / "manifest.json").is_file()
    for orphan in raw.rglob("orphan.pid"):
        state = Path(f"/proc/{orphan.read_text().strip()}/stat")
        assert not state.exists() or ") Z " in state.read_text()
    if name == "C10":
        assert not (raw / "pass_2").exists()


@pytest.mark.parametrize("name", ["C03", "C09", "C15", "C19"])
def test_cases_that_keep_the_first_pass(
    machine: Callable[..., None], tmp_path: Path, name: str
) -> None:
    done = collect(prepare(request(case(name, tmp_path))), lambda event: None)

    assert done.exit_code(strict=False) == 0
    assert done.exit_code(strict=True) == 5
    assert done.passes[0].status == "complete"
    with open_profile(done.profile) as profile:
        assert profile.scalar("SELECT count(*) FROM dispatches") == 1
    words = done.passes[0].argv
    assert "%pid%" in words[words.index("-o") + 1]
    if name == "C19":
        assert "another profiler instance is active" in str(done.passes[1].message)


def test_a_case_that_never_ends(machine: Callable[..., None], tmp_path: Path) -> None:
    beats: list[object] = []
    started = time.monotonic()

    with pytest.raises(NothingError, match=r"pass 1: took more than 2 s .*nothing was written"):
        collect(prepare(request(case("C05", tmp_path), timeout_s=2.0)), beats.append)

    assert time.monotonic() - started < 5
    assert any(isinstance(event, events.Heartbeat) for event in beats)


def test_counters_that_a_gpu_cannot_give(machine: Callable[..., None], tmp_path: Path) -> None:
    needed = pipeline.metrics_needed(pipeline.Selection(only=("coalescing",)))
    done = collect(prepare(request(case("C03", tmp_path), metrics=needed)), lambda event: None)

    (skipped,) = pipeline.analyze(done.profile, pipeline.Selection(only=("coalescing",))).outcomes

    assert isinstance(skipped, Skipped)
    (text,) = skipped.missing
    assert text.endswith("(unavailable: pass 2 ended by signal 6)")
    assert done.exit_code(strict=False) == 0
    assert done.exit_code(strict=True) == 5


def test_an_interrupted_case_keeps_what_is_written(
    machine: Callable[..., None], tmp_path: Path
) -> None:
    path = case("C06", tmp_path)
    process = subprocess.Popen(
        [sys.executable, "-m", "rocperf", "collect", "--rocprofv3", str(path), "--", "./app"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    raw = Path("app.rocperf.raw")
    deadline = time.monotonic() + 60
    while not (raw / "pass_1").is_dir() or not any(raw.glob("pass_1/*/")):
        assert time.monotonic() < deadline, process.poll()
        time.sleep(0.05)
    time.sleep(1)  # a shell needs some of it to set its trap
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)

    assert process.returncode == 130
    assert list(raw.glob("pass_1/**/*_kernel_trace.csv"))
    assert "waiting for rocprofv3 to flush" in said
    assert "interrupted run" in said


def test_attaching_that_brings_nothing(machine: Callable[..., None], tmp_path: Path) -> None:
    with pytest.raises(NothingError, match="ROCP_TOOL_ATTACH=1") as error:
        collect(prepare(request(case("C08", tmp_path))), lambda event: None)

    assert error.value.exit_code == 4


def test_a_machine_without_a_gpu(
    machine: Callable[..., None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = profiler(tmp_path, write(tmp_path, "kernel_trace.csv", TRACE.format(name="k", grid=64)))
    collect(prepare(request(path, metrics=())), lambda event: None)
    for name in ("ROCPERF_SYSFS", "ROCPERF_DEV"):
        monkeypatch.setenv(name, str(tmp_path / "empty"))

    assert main(["collect", "-o", "b.rocperf", "--rocprofv3", str(path), "--", "./app"]) == 3
    assert "no AMD GPU visible: " in capsys.readouterr().err
    assert main(["analyze", "app.rocperf"]) == 0


def test_children_without_gpu_work(tmp_path: Path) -> None:
    folder = case("C14", tmp_path).parent.parent

    with open_profile(ingest([folder], tmp_path / "a.rocperf")) as profile:
        assert profile.scalar("SELECT count(*) FROM all_dispatches") == 1
        said = "\n".join(profile.notes["message"].to_list())
    assert "100_results.db: empty (0 bytes), skipped" in said


def test_counters_that_silently_lack(machine: Callable[..., None], tmp_path: Path) -> None:
    folder = case("C16", tmp_path).parent.parent
    trace = write(tmp_path, "kernel_trace.csv", TRACE.format(name="k", grid=64))
    counted = f'cp {folder / "counter_collection.csv"} "$out/7_counter_collection.csv"'
    path = profiler(tmp_path, trace, counted)

    done = collect(
        prepare(request(path, metrics=("lds-conflicts-per-instruction",))), lambda event: None
    )

    assert done.passes[1].status == "complete"
    assert done.exit_code(strict=True) == 5
    assert str(done.passes[1].message).startswith(
        "requested, not returned: GRBM_GUI_ACTIVE, SQ_LDS"
    )
    with open_profile(done.profile) as profile:
        analysis = pipeline.installed().analyses()["lds-bank-conflicts"]
        (text,) = profile.missing(analysis.requires)
    assert "asked for in pass 2, which did not return them" in text


def test_each_state_of_the_device_has_its_sentence(tmp_path: Path) -> None:
    table = case("C18", tmp_path).parent.parent / "preflight.txt"
    dev = tmp_path / "dev"
    dev.mkdir()

    def opener(path: str, flags: int) -> int:
        if code:
            raise OSError(code, os.strerror(code), path)
        return os.open(os.devnull, os.O_RDONLY)

    for row in csv.reader(table.read_text().splitlines()[1:]):
        number, state, expected = row[0], row[1], ",".join(row[2:])
        code = {"missing": errno.ENOENT, "EACCES": errno.EACCES, "EINVAL": errno.EINVAL}.get(state)
        trouble = machines.device_trouble(dev, opener)
        assert trouble is not None, number
        assert trouble.message.replace(str(dev), "/dev") == expected
        assert trouble.fix


def test_variables_that_decide_a_run(
    machine: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (case("C20", tmp_path).parent.parent / "env.txt").read_text()
    given = dict(line.split("=", 1) for line in text.splitlines() if line)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    path = profiler(tmp_path, write(tmp_path, "kernel_trace.csv", TRACE.format(name="k", grid=64)))
    told: list[object] = []

    done = collect(prepare(request(path, metrics=())), told.append)

    assert "HIP_VISIBLE_DEVICES indexes hidden devices" in "\n".join(map(str, told))
    with open_profile(done.profile) as profile:
        rows = dict(profile.sql("SELECT name, value FROM environment").iter_rows())
    assert {name: rows.get(name) for name in given} == given


def test_arguments_are_passed_on_untouched(machine: Callable[..., None], tmp_path: Path) -> None:
    lines = (case("H23", tmp_path).parent.parent / "argv.txt").read_text().splitlines()
    trace = write(tmp_path, "kernel_trace.csv", TRACE.format(name="k", grid=64))
    path = profiler(tmp_path, f'printf "%s\\n" "$@" > {tmp_path}/seen; {trace}')
    home = tmp_path / "home"
    home.mkdir()
    os.chdir(home)

    for line in lines[:3]:
        words = shlex.split(line)[2:]
        rest = words[words.index("--") + 1 :]
        code = main(
            ["collect", "--force", "--for", "memcpy-bandwidth", "--rocprofv3", str(path), *words]
        )
        assert code == 0
        seen = (tmp_path / "seen").read_text().splitlines()
        assert seen[seen.index("--") + 1 :] == rest
    assert main(shlex.split(lines[3])[1:]) == 2
    assert not Path("/tmp/pwned").exists()
