"""What the command line says when a collection is over."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rocperf.cli import main

Machine = Callable[..., None]


def test_the_line_that_opens_the_screen_can_be_pasted_and_resuming_says_when_all_is_there(
    machine: Machine, standin: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine()
    common = ["--rocprofv3", str(standin), "--for", "memcpy-bandwidth"]
    arguments = [*common, "--stdin", os.devnull, "-o", "my run.rocperf", "true"]
    assert main(["collect", *arguments]) == 0
    said = capsys.readouterr()
    assert "\nOpen the screen: rocperf view 'my run.rocperf'\n" in said.out
    assert "nothing is missing" not in said.err
    assert main(["collect", *common, "--resume", "my run.rocperf"]) == 0
    said = capsys.readouterr()
    assert "note: nothing is missing: every pass came to its end" in said.err
    assert "saves at most" in said.out
