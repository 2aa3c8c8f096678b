"""Numbers for people: times, sizes and shares with a unit that fits."""

from __future__ import annotations

import math

_TIMES = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"))
#: Units of time that measures come in.
NANOSECONDS = {"ns": 1, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_SIZES = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def duration(ns: int) -> str:
    """Write nanoseconds with three significant digits, such as ``3.21 ms``."""
    for size, unit in _TIMES:
        if abs(ns) >= size:
            return f"{_three(ns / size)} {unit}"
    return f"{ns} ns"


def size(count: int) -> str:
    """Write bytes with three significant digits, such as ``32.0 MiB``."""
    for unit_size, unit in _SIZES:
        if count >= unit_size:
            return f"{_three(count / unit_size)} {unit}"
    return f"{count} B"


def share(part: float) -> str:
    """Write a share of 0 to 1 in per cent; one too small for a digit reads so, not as none."""
    return "under 0.1 %" if 0 < part < 0.0005 else f"{part * 100:.1f} %"


def amount(value: float | str, unit: str = "") -> str:
    """Write a measured value with its unit, in no more digits than it deserves.

    Bytes and times get a unit that fits; whole numbers keep their digits, others get four.
    """
    if isinstance(value, str):
        return f"{value} {unit}".rstrip()
    if unit == "B" and value >= 0:
        return size(round(value))
    if unit in NANOSECONDS:
        return duration(round(value * NANOSECONDS[unit]))
    whole = isinstance(value, int) or (value.is_integer() and abs(value) < 1e15)
    digits = 0 if whole or abs(value) >= 1000 else 3 - _magnitude(value)
    return f"{value:,.{digits}f} {unit}".rstrip()


def count(number: int, noun: str) -> str:
    """Write how many of something there are: ``1 run``, ``2 copies``, ``3 dispatches``."""
    if number == 1:
        return f"1 {noun}"
    if noun.endswith(("ch", "s")):
        return f"{number:,} {noun}es"
    if noun.endswith("y") and noun[-2:] not in ("ay", "ey", "oy"):
        return f"{number:,} {noun[:-1]}ies"
    return f"{number:,} {noun}s"


def _magnitude(value: float) -> int:
    """Return the power of ten of a value below 1000; what is tiny counts as 10**-6."""
    return math.floor(math.log10(max(abs(value), 1e-6)))


def _three(value: float) -> str:
    magnitude = abs(value)
    digits = 2 if magnitude < 9.995 else 1 if magnitude < 99.95 else 0
    return f"{value:,.{digits}f}"
