"""What a collection tells while it goes on; ``str(event)`` is the line for people."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Event:
    """Something that happened to a pass."""

    number: int
    of: int

    @property
    def name(self) -> str:
        """Which pass it is about, for people."""
        return f"pass {self.number} of {self.of}"


@dataclass(frozen=True)
class Notice(Event):
    """Something that the user should know of the whole collection."""

    message: str

    def __str__(self) -> str:
        return f"note: {self.message}"


@dataclass(frozen=True)
class PassStarted(Event):
    """A pass begins."""

    purpose: str

    def __str__(self) -> str:
        return f"{self.name}: {self.purpose}"


@dataclass(frozen=True)
class Heartbeat(Event):
    """A pass still runs.

    Parameters
    ----------
    seconds
        Since its start.
    bytes_written
        Size of its folder.
    waiting
        What is waited for after an interrupt; empty before one.
    """

    seconds: float
    bytes_written: int
    waiting: str = ""

    def __str__(self) -> str:
        written = f"{self.bytes_written / 1e6:,.1f} MB written"
        waiting = f"{self.waiting}, " if self.waiting else ""
        return f"{self.name}: {waiting}{self.seconds:.0f} s, {written}"


@dataclass(frozen=True)
class PassFinished(Event):
    """A pass brought data.

    Parameters
    ----------
    seconds
        How long it took.
    dispatches
        Kernel dispatches that it recorded.
    """

    seconds: float
    dispatches: int = 0

    def __str__(self) -> str:
        plural = "" if self.dispatches == 1 else "es"
        return f"{self.name}: done in {self.seconds:.1f} s, {self.dispatches:,} dispatch{plural}"


@dataclass(frozen=True)
class PassFailed(Event):
    """A pass did not bring what was asked, or was not run."""

    message: str

    def __str__(self) -> str:
        return f"{self.name}: {self.message}"


@dataclass(frozen=True)
class Told(Event):
    """Something that the user should know of a pass that goes on."""

    message: str

    def __str__(self) -> str:
        return f"{self.name}: {self.message}"
