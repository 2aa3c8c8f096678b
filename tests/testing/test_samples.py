"""The committed sample traces are what the simulator writes."""

from __future__ import annotations

import os
import socket
import sqlite3
import tomllib
from pathlib import Path

import pytest

from rocperf.testing.simulator import SCENARIOS
from rocperf.testing.simulator.samples import SAMPLES, write_samples

_COMMITTED = Path(__file__).parents[2] / "sample_traces"


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("samples")
    write_samples(folder)
    return folder


def _files(folder: Path) -> set[str]:
    found = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    return {name for name in found if not name.endswith("README.md")}


def test_the_same_files_are_written(fresh: Path) -> None:
    assert _files(fresh) == _files(_COMMITTED)


def test_texts_are_equal_and_databases_hold_the_same(fresh: Path) -> None:
    for name in sorted(_files(fresh)):
        new, old = fresh / name, _COMMITTED / name
        if name.endswith(".db"):
            assert _dump(new) == _dump(old), name
        else:
            assert new.read_bytes() == old.read_bytes(), name


def _dump(path: Path) -> list[str]:
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


def test_every_scenario_of_a_fault_or_none_has_a_sample() -> None:
    assert {s.scenario for s in SAMPLES} == set(SCENARIOS) - {"demo", "collective"}
    assert len(SAMPLES) == 26


def test_samples_say_that_they_are_synthetic_and_stay_small() -> None:
    for sample in SAMPLES:
        manifest = tomllib.loads((_COMMITTED / sample.scenario / "manifest.toml").read_text())
        assert manifest["origin"] == "synthetic, rocperf simulator"
        assert manifest["scenario"] == sample.scenario
        assert all((_COMMITTED / sample.scenario / run).is_dir() for run in manifest["runs"])
    traces = [name for name in _files(_COMMITTED) if not name.endswith("expected.json")]
    assert sum((_COMMITTED / name).stat().st_size for name in traces) < 20_000 * len(SAMPLES)


def test_nothing_of_the_machine_is_in_them(fresh: Path) -> None:
    secrets = [str(Path.home()), str(Path.cwd()), str(fresh), socket.gethostname()]
    secrets += [os.environ.get("USER", "")]
    for name in _files(fresh):
        content = (fresh / name).read_bytes()
        for secret in secrets:
            if len(secret) > 5:  # shorter ones occur by chance
                assert secret.encode() not in content, (name, secret)
