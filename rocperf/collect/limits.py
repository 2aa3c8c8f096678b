"""How many counters of a block one run can hold: pure arithmetic, per GPU family.

Source: the profile builder of rocprofiler-sdk 1.0.0 (ROCm 7.0), which counts events for each
instance of a block. Where ROCm itself can be asked, `rocperf.collect.availability` does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

#: Counters that every run carries, so that runs can be held against each other.
ANCHORS = ("SQ_WAVES", "GRBM_GUI_ACTIVE")

#: What rocprofv3 takes as the name of a counter. Anything else would become another word.
NAME = re.compile(r"[A-Za-z0-9_]+(?::device=\d+)?\Z")

_ALL = {"TCP": 4, "TD": 2, "TA": 2, "SPI": 6, "GRBM": 2, "CPC": 2, "CPF": 2, "CPG": 2}
_OLDER = {"CB": 4, "DB": 4, "GDS": 4, "SX": 4, "RLC": 2, "SDMA": 2, "GCEA": 2, "RMI": 4}
_GL = {"GL2C": 4, "GL2A": 4, "GL1C": 4, "GL1A": 4}
_SLOTS: tuple[tuple[str, dict[str, int]], ...] = (
    ("gfx9", _ALL | _OLDER | {"SQ": 8, "TCC": 4, "TCA": 4}),
    ("gfx10", _ALL | _OLDER | _GL | {"SQ": 8}),
    ("gfx11", _ALL | _OLDER | _GL | {"SQ": 8}),
    # The blocks SQC (16) and SQG (8) share the prefix SQ here: 8 holds for both.
    ("gfx12", _ALL | _GL | {"SQ": 8}),
)
#: Blocks whose counters take the slots of another.
_SHARED = {"SQC": "SQ", "SQG": "SQ"}
_REDUCED = re.compile(r"_(?:sum|avr|max|min)\Z")


def slots(target: str) -> Mapping[str, int]:
    """Return the slots of each block on a target; those of gfx9 where it is unknown."""
    return next((each for family, each in _SLOTS if target.startswith(family)), _SLOTS[0][1])


def block_of(counter: str, target: str) -> str | None:
    """Name the block that counts a counter; None for one derived from others."""
    prefix = counter.split("_", 1)[0]
    block = _SHARED.get(prefix, prefix)
    return block if block in slots(target) else None


def used(counters: Iterable[str], target: str) -> dict[str, int]:
    """Count the slots that counters take, by block; equal ones count once.

    Parameters
    ----------
    counters
        Names, with or without ``_sum`` and the like, which read the same slot.
    target
        gfx target.

    Returns
    -------
    dict
        Slots by block; those of unknown blocks under an empty name.
    """
    taken: dict[str, int] = {}
    for name in dict.fromkeys(_REDUCED.sub("", each.partition(":")[0]) for each in counters):
        block = block_of(name, target) or ""
        # An accumulated level takes its own slot and the accumulator's.
        taken[block] = taken.get(block, 0) + (2 if name.endswith("_ACCUM") else 1)
    return taken


def fits(counters: Iterable[str], target: str, fewer: Mapping[str, int] | None = None) -> bool:
    """Tell whether one run can hold all these counters.

    A counter of an unknown block is derived from counters that are not known here: it goes with
    the anchors only.

    Parameters
    ----------
    counters
        Names.
    target
        gfx target.
    fewer
        Slots of blocks that are known to have fewer than the table says.
    """
    names = tuple(dict.fromkeys(counters))
    taken = used(names, target)
    if unknown := taken.pop("", 0):
        return unknown == 1 and len(set(names) - set(ANCHORS)) == 1
    limits = {**slots(target), **(fewer or {})}
    return all(count <= limits[block] for block, count in taken.items())
