"""What ``rocm-smi --showtopo`` prints."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rocperf.errors import InputError
from rocperf.ingest.topology.rows import Row, frames_of

if TYPE_CHECKING:
    import polars as pl

#: Title of its table of link types, which no other text has.
LINK_TYPES = "Link Type between two GPUs"


def read_showtopo(path: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read what ``rocm-smi --showtopo`` printed.

    Parameters
    ----------
    path
        The text. GPUs are numbered as in it, from 0.

    Returns
    -------
    tuple of polars.DataFrame
        Rows of ``agents`` and ``links``.

    Raises
    ------
    InputError
        It has no table of link types.
    """
    with path.open(encoding="utf-8", errors="replace") as file:
        lines = file.read(1 << 20).splitlines()
    sections: dict[str, list[str]] = {}
    current = ""
    for line in lines:
        title = re.fullmatch(r"=+ (.+?) =+", line.strip())
        current = title[1] if title else current
        if not title:
            sections.setdefault(current, []).append(line)
    kinds = _matrix(sections.get(LINK_TYPES, ()))
    if not kinds:
        raise InputError(f"{path.name}: no table of link types", hint="rocm-smi --showtopo")
    hops = _matrix(sections.get("Hops between two GPUs", ()))
    weights = _matrix(sections.get("Weight between two GPUs", ()))
    links: list[Row] = [
        {
            "from_agent_id": pair[0],
            "to_agent_id": pair[1],
            "kind": {"XGMI": "xgmi", "PCIE": "pcie"}.get(kind.upper(), "other"),
            "hops": _number(hops.get(pair)),
            "weight": _number(weights.get(pair)),
            "max_bandwidth": None,
        }
        for pair, kind in kinds.items()
        if pair[0] != pair[1]
    ]
    numa = {
        int(match[1]): int(match[2])
        for line in sections.get("Numa Nodes", ())
        if (match := re.search(r"GPU\[(\d+)\].*Numa Node: (\d+)", line))
    }
    numbers = sorted({pair[0] for pair in kinds})
    agents: list[Row] = [
        {"agent_id": gpu, "kind": "GPU", "type_index": gpu, "numa_node": numa.get(gpu)}
        for gpu in numbers
    ]
    return frames_of(agents, links)


def _matrix(lines: Sequence[str]) -> dict[tuple[int, int], str]:
    """Read a table of GPUs by GPUs."""
    columns: list[int] = []
    cells: dict[tuple[int, int], str] = {}
    for line in lines:
        words = line.split()
        if not words or not words[0].startswith("GPU"):
            continue
        if all(word.startswith("GPU") for word in words):
            columns = [int(word.removeprefix("GPU")) for word in words]
        else:
            row = int(words[0].removeprefix("GPU"))
            cells |= {(row, to): cell for to, cell in zip(columns, words[1:], strict=False)}
    return cells


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None
