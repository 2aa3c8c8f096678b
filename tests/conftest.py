"""Where recorded traces are, and how a test asks for one."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what it puts into the background with Ctrl-C ignored, which programs started
    # by tests of interruptions would inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parent.parent


def traces_folder() -> Path:
    """Where recorded traces are read from: ``ROCPERF_TRACES`` or the folder beside this one."""
    return Path(os.environ.get("ROCPERF_TRACES") or ROOT.parent / "shared" / "traces")


@pytest.fixture(scope="session")
def recorded() -> Callable[[str], Path]:
    """Return the path of a recorded trace, or skip where there are none."""
    folder = traces_folder()

    def find(name: str) -> Path:
        if not folder.is_dir():
            pytest.skip(f"no recorded traces at {folder}")
        path = folder / name
        assert path.exists(), f"{path} is missing"
        return path

    return find


@pytest.fixture(scope="session")
def golden(recorded: Callable[[str], Path]) -> Callable[[str], Path]:
    """Return the path of a file of golden values, or skip where there are none."""

    def find(name: str) -> Path:
        return recorded(".").parent / "golden" / name

    return find
