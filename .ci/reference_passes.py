"""The table of how many runs the triage set takes, inside the page that explains passes."""

from __future__ import annotations

import re
import tomllib
from importlib import import_module
from pathlib import Path

from reference_page import table

from rocperf.collect.passes import plan

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "explanation" / "collect-and-passes.md"
TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")

_BLOCK = re.compile(r"(<!-- triage: [^\n]*-->\n).*?(<!-- end of triage -->\n)", re.DOTALL)


def passes_page() -> str:
    """Return the page with a table that is current."""
    text = PAGE.read_text(encoding="utf-8")
    heads = ("GPU", "runs of the program", "counters of each counter run")
    shown = table(heads, [_row(target) for target in TARGETS])
    return _BLOCK.sub(lambda found: f"{found[1]}\n{shown}\n{found[2]}", text)


def triage() -> tuple[str, ...]:
    """Name the metrics of a first look that the analyses that ship declare."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        entries = tomllib.load(file)["project"]["entry-points"]["rocperf"]
    kinds = [k for _, m in sorted(entries.items()) for k in import_module(m).rocperf_analyses()]
    return tuple(dict.fromkeys(m for kind in kinds for m in kind.requires.first_look()))


def _row(target: str) -> tuple[str, ...]:
    passes = plan(triage(), target)
    counts = ", ".join(str(len(each.counters)) for each in passes) or "none"
    return (target, str(1 + len(passes)), counts)
