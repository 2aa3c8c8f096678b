"""How callers of the stand-in reach it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rocperf.testing.standin import install

Result = subprocess.CompletedProcess[str]
Call = Callable[..., Result]
_TRUE = (sys.executable, "-c", "")


@pytest.fixture(scope="module")
def rocprofv3(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(tmp_path_factory.mktemp("bin"))


@pytest.fixture
def call(rocprofv3: Path, tmp_path: Path) -> Call:
    def run(*arguments: str, app: tuple[str, ...] | None = _TRUE, **choices: str) -> Result:
        environment = standin_environment(**choices)
        words = [str(rocprofv3), *arguments, *(["--", *app] if app else [])]
        return subprocess.run(
            words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    return run


def standin_environment(**choices: str) -> dict[str, str]:
    """The environment of this process without what would steer the stand-in, plus choices."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("ROCP", "MPI", "OMPI"))}
    return kept | {f"ROCPERF_STANDIN_{k.upper()}": v for k, v in choices.items()}
