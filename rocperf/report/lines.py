"""Text broken into lines that fit."""

from __future__ import annotations

import textwrap

from rich.cells import cell_len, set_cell_size

from rocperf.report.visible import visible


def wrap(text: str, width: int, first: str = "", rest: str | None = None) -> list[str]:
    """Break a text into lines of at most `width` cells, showing control characters."""
    safe = visible(text)
    rest = first if rest is None else rest
    lines = textwrap.wrap(
        safe, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    )
    fitted: list[str] = []
    for line in lines or [first]:
        remaining = line
        while cell_len(remaining) > width:  # wide characters count two cells
            head = set_cell_size(remaining, width).rstrip()
            fitted.append(head)
            remaining = rest + remaining[len(head) :]
        fitted.append(remaining)
    return fitted
