"""Where the written cases are, and how a test reads one as a user would."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import rocperf
from rocperf.cli import main

ROOT = Path(__file__).resolve().parents[2]


def cases_folder() -> Path:
    """Where cases are read from: ``ROCPERF_CASES``, or the folder beside the recorded traces."""
    traces = os.environ.get("ROCPERF_TRACES") or str(ROOT.parent / "shared" / "traces")
    return Path(os.environ.get("ROCPERF_CASES") or Path(traces).parent / "cases")


@pytest.fixture
def case(tmp_path: Path) -> Callable[[str], Path]:
    """Return a copy of a case's input, which may be changed, or skip where there are none."""

    def find(name: str) -> Path:
        source = cases_folder()
        if not source.is_dir():
            pytest.skip(f"no written cases at {source}")
        first = name.partition("/")[0]
        copy = tmp_path / "cases" / first
        if not copy.exists():
            shutil.copytree(source / first, copy, copy_function=shutil.copyfile)
            for folder, *_ in os.walk(copy):
                Path(folder).chmod(0o755)
        assert (tmp_path / "cases" / name).exists(), name
        return tmp_path / "cases" / name

    return find


@dataclass(frozen=True)
class Read:
    """What came of reading something.

    Parameters
    ----------
    code
        Exit code of ``rocperf ingest``.
    err
        What it said.
    path
        The profile; it may not exist.
    """

    code: int
    err: str
    path: Path

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        """Query the profile."""
        with rocperf.open(self.path) as opened:
            return opened.sql(query).rows()

    @property
    def notes(self) -> str:
        """Every note of the profile, a line each."""
        return "\n".join(str(row[0]) for row in self.ask("SELECT message FROM notes ORDER BY ALL"))


@pytest.fixture
def read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Read]:
    """Return a function that ingests paths and tells what came of it."""

    def run(*arguments: str | Path) -> Read:
        path = tmp_path / "out.rocperf"
        code = main(["ingest", "-v", *map(str, arguments), "-o", str(path), "--force"])
        err = capsys.readouterr().err
        assert "Traceback" not in err
        return Read(code, err, path)

    return run
