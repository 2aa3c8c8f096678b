"""The screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from rocperf.model import Outcome
from rocperf.tui.app import ViewApp

__all__ = ["ViewApp", "run_view"]


def run_view(
    path: Path, outcomes: Sequence[Outcome] | None, load: Callable[[], Sequence[Outcome]]
) -> None:
    """Open the screen on a profile and return when it is closed.

    Parameters
    ----------
    path
        The profile.
    outcomes
        Outcomes to show; None to have `load` make them behind the screen.
    load
        Runs the analyses.
    """
    ViewApp(path, outcomes, load).run()
