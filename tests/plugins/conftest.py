"""Profiles of recorded traces, each read once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rocperf.ingest.load import ingest


@pytest.fixture(scope="session")
def ingested(
    recorded: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """Return the profile of a recorded trace."""
    done: dict[str, Path] = {}

    def profile(name: str) -> Path:
        if name not in done:
            target = tmp_path_factory.mktemp("profile") / "trace.rocperf"
            done[name] = ingest([recorded(name)], target)
        return done[name]

    return profile
