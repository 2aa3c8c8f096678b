"""Failures of the stand-in: each looks from outside as rocprofv3's own does."""

from __future__ import annotations

import csv
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

Result = subprocess.CompletedProcess[str]
Call = Callable[..., Result]


def _names(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def _counters(path: Path) -> set[str]:
    with path.open(newline="") as file:
        return {row["Counter_Name"] for row in csv.DictReader(file)}


def test_too_many_counters_abort_as_the_real_one_does(call: Call, tmp_path: Path) -> None:
    names = ["TCC_HIT_sum", "TCC_MISS_sum", "TCC_REQ_sum", "TCC_READ_sum", "TCC_WRITE_sum"]

    result = call("--pmc", *names, "-o", "x")

    assert result.returncode == -signal.SIGABRT
    assert "error code 38: Request exceeds the capabilities of the hardware" in result.stderr
    assert _names(tmp_path) == []


@pytest.mark.parametrize(
    ("fail", "code", "files"),
    [
        ("abort", -signal.SIGABRT, False),
        ("no-output", 0, False),
        ("crash-app", -signal.SIGSEGV, False),
        ("permission", 0, False),
        ("too-many-counters", -signal.SIGABRT, False),
        ("not-locked", 0, True),
        ("timing:abort", 0, True),
        ("counters:abort", -signal.SIGABRT, False),
        ("SQ_WAVES:no-output", 0, False),
        ("GRBM_COUNT:no-output", 0, True),
    ],
)
def test_failures(call: Call, tmp_path: Path, fail: str, code: int, files: bool) -> None:
    result = call("--pmc", "SQ_WAVES", "-o", "x", "-f", "csv", fail=fail)

    assert result.returncode == code
    assert bool(_names(tmp_path)) is files


def test_unknown_failures_are_refused(call: Call) -> None:
    result = call("--kernel-trace", fail="counters:explode")

    assert result.returncode == 1
    assert "'explode'" in result.stderr


def test_missing_and_gated_counters(call: Call, tmp_path: Path) -> None:
    words = ("--pmc", "SQ_WAVES", "SQ_INSTS_VALU", "-f", "csv", "-o")
    missing = call(*words, "m", fail="missing-counter:SQ_INSTS_VALU")
    call(*words, "z", fail="zero-counters", gpu="gfx1201")

    assert _counters(tmp_path / "m_counter_collection.csv") == {"SQ_WAVES"}
    assert "Missing: ['SQ_INSTS_VALU']" in missing.stderr
    with (tmp_path / "z_counter_collection.csv").open(newline="") as file:
        rows = [(r["Counter_Name"], float(r["Counter_Value"])) for r in csv.DictReader(file)]
    assert all((value == 0) == (name == "SQ_INSTS_VALU") for name, value in rows)


def test_truncated_files(call: Call, tmp_path: Path) -> None:
    call("--kernel-trace", "-o", "x", "-f", "csv", "json", "rocpd", fail="truncated")

    assert not (tmp_path / "x_kernel_trace.csv").read_text().endswith("\n")
    with pytest.raises(json.JSONDecodeError):
        json.loads((tmp_path / "x_results.json").read_text())
    connection = sqlite3.connect(tmp_path / "x_results.db")
    with pytest.raises(sqlite3.DatabaseError):
        connection.execute("SELECT * FROM top_kernels").fetchall()
    connection.close()


def _start(rocprofv3: Path, folder: Path, code: str, fail: str = "") -> subprocess.Popen[str]:
    """Start it and wait until its program has said that it runs."""
    process = subprocess.Popen(
        [str(rocprofv3), "--kernel-trace", "-o", "x", "--", sys.executable, "-u", "-c", code],
        cwd=folder, env=os.environ | {"ROCPERF_STANDIN_FAIL": fail}, stdout=subprocess.PIPE,
        text=True, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    return process


def test_an_interrupt_ends_the_app_and_output_is_written(rocprofv3: Path, tmp_path: Path) -> None:
    code = "import time; print('up'); time.sleep(60)"
    process = _start(rocprofv3, tmp_path, code)

    process.send_signal(signal.SIGTERM)

    process.communicate(timeout=20)
    assert process.returncode == -signal.SIGTERM
    assert _names(tmp_path) == ["x_results.db"]


@pytest.mark.parametrize(("fail", "gentle"), [("hang", True), ("hang-hard", False)])
def test_hangs(rocprofv3: Path, tmp_path: Path, fail: str, gentle: bool) -> None:
    process = _start(rocprofv3, tmp_path, "print('up')", fail)
    time.sleep(1)  # for the program to end
    assert process.poll() is None

    process.send_signal(signal.SIGTERM)

    if not gentle:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=1)
        process.kill()
    process.communicate(timeout=20)
    assert process.returncode == -(signal.SIGTERM if gentle else signal.SIGKILL)
    assert _names(tmp_path) == []
