"""The application: it owns the look and the first screen; screens do the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from textual.app import App
from textual.screen import Screen

from rocperf.model import Outcome
from rocperf.report.visible import visible
from rocperf.tui.screens.help import HelpScreen
from rocperf.tui.screens.main import MainScreen


class ViewApp(App[None]):
    """The screen over one profile.

    Parameters
    ----------
    path, outcomes, load, region
        As for `rocperf.tui.run_view`.
    """

    CSS_PATH = "app.tcss"
    TITLE = "rocperf"
    ENABLE_COMMAND_PALETTE = False

    def __init__(
        self,
        path: Path,
        outcomes: Sequence[Outcome] | None,
        load: Callable[[], Sequence[Outcome]],
        *,
        region: str | None = None,
    ) -> None:
        super().__init__()
        self._main = MainScreen(path, outcomes, load, region)
        self.sub_title = visible(path.name)

    def get_default_screen(self) -> Screen[Any]:
        """Begin on the findings."""
        return self._main

    def action_help(self) -> None:
        """Show the keys."""
        self.push_screen(HelpScreen())
