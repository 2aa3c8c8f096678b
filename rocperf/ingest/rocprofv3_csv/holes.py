"""NUL bytes in a text: holes that a crash leaves on network file systems, or parts of a name."""

from __future__ import annotations

from pathlib import Path

_CHUNK = 1 << 20


def nul_bytes(path: Path) -> tuple[int, int]:
    """Count the NUL bytes of a file.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    tuple of int
        How many, and the offset of the first; 0 and 0 when there are none.
    """
    count = first = done = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            place = chunk.find(b"\0")
            if place >= 0:
                first = first if count else done + place
                count += chunk.count(b"\0")
            done += len(chunk)
    return count, first
