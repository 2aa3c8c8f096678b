"""What a collection tells while it goes on; ``str(event)`` is the line for people."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Event:
    """Something that happened to a pass."""

    number: int
    of: int


@dataclass(frozen=True)
class PassStarted(Event):
    """A pass begins."""

    purpose: str

    def __str__(self) -> str:
        return f"pass {self.number} of {self.of}: {self.purpose}"


@dataclass(frozen=True)
class Heartbeat(Event):
    """A pass still runs."""

    seconds: float
    bytes_written: int

    def __str__(self) -> str:
        written = f"{self.bytes_written / 1e6:,.1f} MB written"
        return f"pass {self.number} of {self.of}: {self.seconds:.0f} s, {written}"


@dataclass(frozen=True)
class PassFinished(Event):
    """A pass brought what was asked."""

    seconds: float

    def __str__(self) -> str:
        return f"pass {self.number} of {self.of}: done in {self.seconds:.1f} s"


@dataclass(frozen=True)
class PassFailed(Event):
    """A pass did not bring what was asked."""

    message: str

    def __str__(self) -> str:
        return f"pass {self.number} of {self.of}: {self.message}"
