"""The application: it owns the look and the first screen; screens do the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from textual.app import App, SystemCommand
from textual.screen import Screen

from rocperf.engine import Stop
from rocperf.model import Outcome
from rocperf.report.visible import visible
from rocperf.tui.screens.help import HelpScreen
from rocperf.tui.screens.main import MainScreen


class ViewApp(App[None]):
    """The screen over one profile.

    Parameters
    ----------
    path, outcomes, load, region, source
        As for `rocperf.tui.run_view`.
    """

    CSS_PATH = "app.tcss"
    TITLE = "rocperf"

    def __init__(
        self,
        path: Path,
        outcomes: Sequence[Outcome] | None,
        load: Callable[[Stop], Sequence[Outcome]],
        *,
        region: str | None = None,
        source: str | None = None,
    ) -> None:
        super().__init__()
        self._stop = Stop()
        self._main = MainScreen(path, outcomes, lambda: load(self._stop), region, self._stop)
        self.sub_title = visible(source or path.name)

    def get_default_screen(self) -> Screen[Any]:
        """Begin on the findings."""
        return self._main

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """List what the keys of a screen do beside what every screen can, such as themes."""
        yield from super().get_system_commands(screen)  # pyright: ignore[reportUnknownMemberType]
        for key, active in screen.active_bindings.items():
            binding = active.binding
            if binding.description and not binding.system and active.node is screen:
                run = partial(self.run_action, binding.action, active.node)
                yield SystemCommand(binding.description, f"key {key}", run)

    def on_unmount(self) -> None:
        """End what runs behind the screen: Python waits for its threads before it exits."""
        self._stop.now()

    def action_help(self) -> None:
        """Show the keys."""
        self.push_screen(HelpScreen())
