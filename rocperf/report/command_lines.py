"""Command lines that a person copies: broken so that a shell still reads one command."""

from __future__ import annotations

import re

from rich.cells import cell_len

from rocperf.report.visible import visible

#: Words of a shell: what is quoted stays whole, for a line must not break inside of it.
_WORDS = re.compile(r"""(?:'[^']*'|"[^"]*"|\S)+""")


def wrap_command(text: str, width: int, first: str, rest: str) -> list[str]:
    """Break a command between words, with a backslash where it goes on.

    Parameters
    ----------
    text
        The command, quoted for a shell.
    width
        Cells of a line. A word that is longer sticks out: broken it would be another.
    first, rest
        What stands before the first line, and before the others.
    """
    lines: list[str] = []
    line = first
    for word in _WORDS.findall(visible(text)):
        begun = line not in (first, rest)
        if begun and cell_len(f"{line} {word} \\") > width:
            lines.append(f"{line} \\")
            line = rest
            begun = False
        line = f"{line} {word}" if begun else f"{line}{word}"
    return [*lines, line]
