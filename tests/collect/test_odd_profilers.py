"""Small profilers of our own that do one odd thing, the written cases, and Ctrl-C from outside."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rocperf.collect import Request, collect, events, prepare
from rocperf.errors import MachineError, NothingError, RocperfError
from rocperf.ingest.load import ingest
from rocperf.profile import open_profile

from .conftest import CASES

_TRACE = (
    '"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name",'
    '"Correlation_Id","Start_Timestamp","End_Timestamp","LDS_Block_Size","Scratch_Size",'
    '"VGPR_Count","Accum_VGPR_Count","SGPR_Count","Workgroup_Size_X","Workgroup_Size_Y",'
    '"Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"\n'
    '"KERNEL_DISPATCH","Agent 1",1,1,7,1,1,"{name}",1,1000,2000,0,0,8,0,16,64,1,1,{grid},1,1\n'
)
_COUNTERS = (
    '"Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size",'
    '"Kernel_Id","Kernel_Name","Workgroup_Size","LDS_Block_Size","Scratch_Size","VGPR_Count",'
    '"Accum_VGPR_Count","SGPR_Count","Counter_Name","Counter_Value","Start_Timestamp",'
    '"End_Timestamp"\n1,1,"Agent 1",1,7,7,640,1,"k",64,0,0,8,0,16,"SQ_WAVES",{waves},1000,2000\n'
)


def profiler(folder: Path, timing: str, counting: str = "exit 0") -> Path:
    """A rocprofv3 of 7.0 that does one thing when it traces, another when it counts."""
    path = folder / "bin" / "rocprofv3"
    path.parent.mkdir()
    path.write_text(
        "#!/bin/sh\n"
        'case "$1" in --version) echo "rocm_version: 7.0.0"; exit;;\n'
        '--help) echo "--pmc --kernel-trace"; exit;; esac\n'
        'counting=no; out=; previous=\n'
        'for word in "$@"; do\n'
        '  [ "$previous" = -d ] && out=$word\n'
        '  [ "$word" = --pmc ] && counting=yes\n'
        '  [ "$word" = -- ] && break\n'
        '  previous=$word\n'
        "done\n"
        f"if [ $counting = yes ]; then\n{counting}\nelse\n{timing}\nfi\n"
    )  # fmt: skip
    path.chmod(0o755)
    return path


def request(path: Path, **options: object) -> Request:
    settings: dict[str, object] = {
        "metrics": ("waves",), "output": Path("app.rocperf"), "rocprofv3": str(path),
        "stdin": Path(os.devnull),
    }  # fmt: skip
    return Request(("./app",), **(settings | options))  # type: ignore[arg-type]


def write(folder: Path, name: str, text: str) -> str:
    """Return a shell command that writes a file of the profiler."""
    (folder / name).write_text(text)
    return f'cp {folder / name} "$out/7_{name}"'


def test_kernels_that_wait_for_each_other_are_not_serialised(
    machine: Callable[..., None], tmp_path: Path
) -> None:
    trace = _TRACE.format(name="ncclDevKernel_Generic(x)", grid=640)
    path = profiler(
        tmp_path, write(tmp_path, "kernel_trace.csv", trace),
        write(tmp_path, "counter_collection.csv", _COUNTERS.format(waves=10)),
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
        tmp_path, write(tmp_path, "kernel_trace.csv", _TRACE.format(name="k", grid=640)),
        write(tmp_path, "counter_collection.csv", _COUNTERS.format(waves=waves)),
    )  # fmt: skip

    done = collect(prepare(request(path)), lambda event: None)

    said = str(done.passes[1].message)
    assert ("SQ_WAVES differs from the size of the launch in 1 of 1" in said) is odd


def test_a_temporary_folder_of_our_own(machine: Callable[..., None], tmp_path: Path) -> None:
    write_trace = write(tmp_path, "kernel_trace.csv", _TRACE.format(name="k", grid=64))
    path = profiler(tmp_path, f'touch "$ROCPROF_TMPDIR/x" && {write_trace}')

    done = collect(prepare(request(path, metrics=())), lambda event: None)

    assert done.passes[0].status == "complete"


def test_the_gpu_is_known_from_the_driver_where_no_file_lists_it(
    machine: Callable[..., None], tmp_path: Path
) -> None:
    trace = _TRACE.format(name="k", grid=64).replace("Agent 1", "Agent 4")
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
    path = profiler(tmp_path, write(tmp_path, "kernel_trace.csv", _TRACE.format(name="k", grid=64)))
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
    path = profiler(first, write(first, "kernel_trace.csv", _TRACE.format(name="k", grid=64)))
    one = collect(prepare(request(path, metrics=())), lambda event: None)
    other = first / "kernel_trace.csv"
    other.write_text(_TRACE.format(name="k2", grid=64))
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
    path = profiler(tmp_path, write(tmp_path, "kernel_trace.csv", _TRACE.format(name="k", grid=64)))

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
def test_written_cases_that_bring_nothing(
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
def test_written_cases_that_keep_the_first_pass(
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


def test_a_written_case_that_never_ends(machine: Callable[..., None], tmp_path: Path) -> None:
    beats: list[object] = []
    started = time.monotonic()

    with pytest.raises(NothingError, match=r"pass 1: took more than 2 s .*nothing was written"):
        collect(prepare(request(case("C05", tmp_path), timeout_s=2.0)), beats.append)

    assert time.monotonic() - started < 5
    assert any(isinstance(event, events.Heartbeat) for event in beats)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_keeps_what_is_finished(
    machine: Callable[..., None], tmp_path: Path, number: signal.Signals
) -> None:
    trace = write(tmp_path, "kernel_trace.csv", _TRACE.format(name="k", grid=64))
    path = profiler(
        tmp_path, trace, f"touch {tmp_path}/counting; trap 'sleep 1; exit 130' INT; sleep 60 & wait"
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
