"""A machine to play with, set up from the shell."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from rocperf.cli import main
from rocperf.testing.standin import playground


def test_a_shell_that_evaluates_what_it_prints_finds_profiler_and_gpu(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert playground.main([str(tmp_path / "a b"), "--gpu", "gfx90a"]) == 0
    printed = capsys.readouterr().out
    for line in printed.splitlines():
        (word,) = shlex.split(line.removeprefix("export "))
        monkeypatch.setenv(*word.split("=", 1))
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert "1: gfx90a" in said
    assert "missing" not in said


def test_it_runs_as_a_module(tmp_path: Path) -> None:
    command = f'eval "$({sys.executable} -m rocperf.testing.standin.playground m)"; env'
    done = subprocess.run(
        ["sh", "-c", command], cwd=tmp_path, env=os.environ.copy(), capture_output=True, check=True
    )
    assert f"ROCPERF_ROCPROFV3={tmp_path}/m/bin/rocprofv3".encode() in done.stdout
