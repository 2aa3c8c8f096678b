"""How explanations are laid out: paragraphs and labelled entries, no wider than 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from rocperf.hardware import Figure, known_targets, target_facts
from rocperf.report.visible import visible

WIDTH: Final = 80


def heading(name: str, kind: str) -> str:
    """Return the first line of an explanation."""
    return f"{visible(name)} ({kind})"


def paragraph(text: str, indent: int = 2) -> str:
    """Wrap a text; words longer than a line, such as formulas without spaces, stay whole."""
    lead = " " * indent
    return textwrap.fill(
        visible(" ".join(text.split())),
        WIDTH,
        initial_indent=lead,
        subsequent_indent=lead,
        break_long_words=False,
        break_on_hyphens=False,
    )


def entry(label: str, text: str) -> str:
    """Return a label and its text, wrapped under itself."""
    return paragraph(f"{label}: {text}") if text else ""


def block(parts: Iterable[str]) -> str:
    """Put the non-empty parts one under another."""
    return "\n".join(part for part in parts if part)


def number(value: float) -> str:
    """Write a figure: whole numbers with their digits, the rest with up to six of them."""
    return f"{value:,.0f}".replace(",", " ") if value == int(value) else f"{value:.6g}"


def by_gpu(values: Mapping[str, str]) -> list[str]:
    """Return one line a value, with the GPUs that have it.

    Parameters
    ----------
    values
        GPU -> value as text, in the order in which they are to be listed.
    """
    groups: dict[str, list[str]] = {}
    for gpu, value in values.items():
        groups.setdefault(value, []).append(gpu)
    return [f"{value}: {', '.join(gpus)}" for value, gpus in groups.items()]


def figure_text(figure: Figure) -> str:
    """Write a figure and whether it is confirmed."""
    return number(figure.value) + (" (unconfirmed)" if figure.unconfirmed else "")


def figure_lines(names: Sequence[str], target: str | None) -> str:
    """Return what ``gpus.toml`` says of figures, by GPU.

    Parameters
    ----------
    names
        Names of figures.
    target
        Only of this one; of all when None.
    """
    lines: list[str] = []
    for name in names:
        values: dict[str, str] = {}
        for gfx in (target,) if target else known_targets():
            facts = target_facts(gfx)
            if facts is None:
                continue
            for gpu, figure in _figures(facts.target, name):
                values[gpu] = figure_text(figure)
            if name in facts.lacks:
                values[gfx] = "none"
        if values:
            lines.append(f"  {name}")
            lines += [paragraph(line, 4) for line in by_gpu(values)]
    return "\n".join(lines)


def _figures(target: str, name: str) -> list[tuple[str, Figure]]:
    """Return the figure of a target, or where they differ those of its products."""
    facts = target_facts(target)
    if facts is None:
        return []
    own = facts.figures.get(name)
    if own is not None:
        return [(target, own)]
    return [
        (" and ".join(product.names), product.figures[name])
        for product in facts.products
        if name in product.figures
    ]
