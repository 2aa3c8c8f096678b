"""A played machine and a stand-in profiler, for tests that run programs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rocperf.collect import Collected, Plan, Request, collect, prepare
from rocperf.testing.standin import install, played_machine

#: A program that ends well at once.
APP = (sys.executable, "-c", "")

CASES = Path(os.environ.get("ROCPERF_TRACES") or "../shared/traces").resolve().parent / "cases"


@pytest.fixture(scope="session")
def standin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(tmp_path_factory.mktemp("bin"))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Play a GPU and a release; everything else that steers collecting is unset."""
    for name in list(os.environ):
        if name.startswith(("ROCP", "ROCM", "ROCR", "HIP_", "HSA_")):
            monkeypatch.delenv(name)

    def play(gpu: str = "gfx942", **choices: str) -> None:
        for name, value in played_machine(tmp_path / f"machine-{gpu}", gpu).items():
            monkeypatch.setenv(name, value)
        for name, value in ({"gpu": gpu, "version": "7.0", "fail": ""} | choices).items():
            monkeypatch.setenv(f"ROCPERF_STANDIN_{name.upper()}", value)

    play()
    monkeypatch.chdir(tmp_path)
    return play


class Run:
    """Collects with the stand-in and keeps what was told."""

    def __init__(self, standin: Path) -> None:
        self._standin = standin
        self.events: list[object] = []

    def plan(self, *argv: str, **options: object) -> Plan:
        settings: dict[str, object] = {
            "metrics": ("lds-conflict-share", "coalescing"),
            "output": Path("app.rocperf"),
            "rocprofv3": str(self._standin),
            "stdin": Path(os.devnull),
        }
        argv = () if "resume" in options else argv or APP
        return prepare(Request(argv, **(settings | options)))  # type: ignore[arg-type]

    def __call__(self, *argv: str, **options: object) -> Collected:
        return collect(self.plan(*argv, **options), self.events.append)

    @property
    def told(self) -> str:
        return "\n".join(map(str, self.events))


@pytest.fixture
def run(standin: Path, machine: object) -> Run:
    return Run(standin)
