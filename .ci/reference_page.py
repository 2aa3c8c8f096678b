"""How generated pages are laid out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

NOTICE = "<!-- Written by .ci/generate_reference.py: change the code, then run it. -->\n"


def page(title: str, intro: str, parts: Iterator[str]) -> str:
    """Return a page of a title, an introduction and parts."""
    body = "\n".join(part.rstrip() + "\n" for part in parts)
    return f"{NOTICE}\n# {title}\n\n{intro.strip()}\n\n{body}"


def cell(text: str) -> str:
    """Return a text that a table's cell can hold."""
    parts = text.replace("|", r"\|").split("`")
    # Outside code, a name in angle brackets would be taken for HTML.
    parts[::2] = [part.replace("<", "&lt;") for part in parts[::2]]
    return " ".join("`".join(parts).split())


def table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Return a table."""
    lines = [heads, tuple("---" for _ in heads), *rows]
    return "\n".join("| " + " | ".join(map(cell, line)) + " |" for line in lines) + "\n"
