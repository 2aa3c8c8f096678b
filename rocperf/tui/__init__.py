"""The screen: findings, kernels and what could not be judged, driven by keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from rocperf.engine import Stop
from rocperf.model import Outcome
from rocperf.tui.app import ViewApp

__all__ = ["ViewApp", "run_view"]


def run_view(
    path: Path,
    outcomes: Sequence[Outcome] | None,
    load: Callable[[Stop], Sequence[Outcome]],
    *,
    region: str | None = None,
    source: str | None = None,
) -> None:
    """Open the screen on a profile and return when it is closed.

    Parameters
    ----------
    path
        The profile.
    outcomes
        Outcomes to show; None to have `load` make them behind the screen.
    load
        Runs the analyses until the stop that it is given is asked for: leaving the screen does.
        Called in a thread of its own, at most once.
    region
        Message of the roctx range that `load` looks inside of; kernels are limited to it too.
    source
        What the profile was read from, where the user named that; shown in its stead.
    """
    ViewApp(path, outcomes, load, region=region, source=source).run()
