"""What the threads behind the screen tell it."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from textual.message import Message

from rocperf.errors import RocperfError
from rocperf.model import Outcome
from rocperf.tui.queries import Overview
from rocperf.tui.rows import Rows


class OverviewReady(Message):
    """The profile was read; `cells` are its kernels as their table shows them."""

    def __init__(self, overview: Overview, cells: pl.DataFrame) -> None:
        super().__init__()
        self.overview = overview
        self.cells = cells


class OutcomesReady(Message):
    """Every analysis has ended, one way or another."""

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        super().__init__()
        self.outcomes = outcomes


class ReadingFailed(Message):
    """The profile could not be read; `text` says why."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class AnalysingFailed(Message):
    """The analyses could not be run at all; `text` says why."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class RowsReady(Message):
    """A query was answered; `found` holds rows, or says why there are none."""

    def __init__(self, found: Rows | str, asked: int) -> None:
        super().__init__()
        self.found = found
        self.asked = asked


class Said(Message):
    """Something that was done behind the screen has ended so."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class Answered(Message):
    """A question was answered: of what kind, the how-manyeth of it, and what came."""

    def __init__(self, what: str, number: int, found: object) -> None:
        super().__init__()
        self.what = what
        self.number = number
        self.found = found


def explained(error: Exception) -> str:
    """Say what went wrong: our own errors in their words, others with their type."""
    if isinstance(error, RocperfError):
        return f"{error.message}. {error.hint}" if error.hint else error.message
    return f"{type(error).__name__}: {error}"
