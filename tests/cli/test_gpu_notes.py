"""What a trace says of its GPU and cannot be is told beside the findings."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocperf.cli import main
from rocperf.testing import TraceBuilder, ms

Capture = pytest.CaptureFixture[str]


def analysed(capsys: Capture, trace: TraceBuilder, path: Path) -> str:
    trace.dispatch("k", start=0, duration=ms(5), vgpr=32, agpr=0, workgroup_size=256)
    assert main(["analyze", str(trace.save(path)), "--all"]) == 0
    return " ".join(capsys.readouterr().out.split())


def test_impossible_dies_are_told(capsys: Capture, tmp_path: Path) -> None:
    out = analysed(capsys, TraceBuilder(cu_count=304, num_xcc=1), tmp_path / "one.rocperf")
    assert "304 CUs on 1 XCC" in out


def test_a_possible_gpu_needs_no_note(capsys: Capture, tmp_path: Path) -> None:
    out = analysed(capsys, TraceBuilder(cu_count=304, num_xcc=8), tmp_path / "eight.rocperf")
    assert "XCC" not in out
