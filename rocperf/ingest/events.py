"""What an ingest tells while it goes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """How far reading is.

    Parameters
    ----------
    file
        Name of the file that is read.
    rows
        Rows stored so far, of all files.
    bytes
        Bytes read so far, of all files.
    total_bytes
        Bytes of all files.
    rate
        Rows a second since the start.
    """

    file: str
    rows: int
    bytes: int
    total_bytes: int
    rate: float


@dataclass(frozen=True, slots=True)
class Note:
    """An oddity: kept in the profile's notes, and told at once."""

    severity: str
    code: str
    message: str
    file: str | None = None
    row: int | None = None
    rows: int | None = None
