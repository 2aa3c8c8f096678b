"""Numbers for people: times, sizes and shares with a unit that fits."""

from __future__ import annotations

_TIMES = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"))
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
    """Write a share of 0 to 1 in per cent."""
    return f"{part * 100:.1f} %"


def _three(value: float) -> str:
    magnitude = abs(value)
    digits = 2 if magnitude < 9.995 else 1 if magnitude < 99.95 else 0
    return f"{value:,.{digits}f}"
