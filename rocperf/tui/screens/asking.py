"""A line to type into, over what is on the screen."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static


class AskingScreen(ModalScreen[str | None]):
    """Ask for one line; escape answers None.

    Parameters
    ----------
    question
        What is asked.
    given
        What the line begins with.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Back")]

    def __init__(self, question: str, given: str = "") -> None:
        super().__init__()
        self._question, self._given = question, given

    def compose(self) -> ComposeResult:
        """Show the question above the line."""
        with Vertical(id="asking"):
            yield Static(self._question, markup=False)
            yield Input(self._given, id="asked", compact=True)
            yield Static("enter answers, escape leaves it", markup=False)

    @on(Input.Submitted)
    def _answer(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)
