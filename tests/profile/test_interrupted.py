"""Ctrl-C while a profile answers."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rocperf.ingest.load import ingest
from rocperf.testing.simulator import Request, profile

# Sends itself Ctrl-C while the query goes on.
INTERRUPTED = """
import os, signal, sys, threading
from rocperf.cli import main
threading.Timer(float(sys.argv.pop(1)), os.kill, (os.getpid(), signal.SIGINT)).start()
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("after", ["0.2", "1", "4"])
def test_a_long_query_ends_without_a_trace(tmp_path: Path, after: str) -> None:
    profile("tiny_grid", tmp_path / "raw" / "7", Request(), ["csv"])
    path = ingest([tmp_path / "raw"], tmp_path / "p.rocperf")
    query = "SELECT sum(sqrt(i)) FROM range(10000000000000) AS t(i)"
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, after, "query", str(path), query],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 128 + signal.SIGINT, done.stderr
    assert done.stderr == "rocperf: interrupted\n"
    assert done.stdout == ""
