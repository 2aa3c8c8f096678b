"""How many counters of a block one run can hold: pure arithmetic, per GPU family.

Source: the profile builder of rocprofiler-sdk 1.0.0 (ROCm 7.0), which counts events for each
instance of a block. Where ROCm itself can be asked, `rocperf.collect.availability` does.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

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

#: Counters that add up the level counter listed just before them: the two stay side by side.
ACCUMULATORS = frozenset({"SQ_ACCUM_PREV_HIRES", "SQ_ACCUM_PREV"})
#: Ending of the sum of a level, such as ``SQ_LEVEL_WAVES_ACCUM`` of ``SQ_LEVEL_WAVES``.
ACCUMULATED = "_ACCUM"
#: Stands between a level and its accumulator where the two are handled as one.
PAIR = ">"


@cache
def slots(target: str) -> Mapping[str, int]:
    """Return the slots of each block on a target; those of gfx9 where it is unknown."""
    return next((each for family, each in _SLOTS if target.startswith(family)), _SLOTS[0][1])


@cache
def block_of(counter: str, target: str) -> str | None:
    """Name the block that counts a counter; None for one derived from others."""
    prefix = counter.split("_", 1)[0]
    block = _SHARED.get(prefix, prefix)
    return block if block in slots(target) else None


@cache
def _derived() -> tuple[dict[str, Any], ...]:
    text = files("rocperf.collect").joinpath("derived.toml").read_text(encoding="utf-8")
    return tuple(tomllib.loads(text)["derived"])


def pair(counters: Sequence[str]) -> tuple[str, ...]:
    """Join every accumulator with the level listed just before it, as ``LEVEL>ACCUMULATOR``."""
    joined: list[str] = []
    for name in counters:
        if name in ACCUMULATORS and joined and PAIR not in joined[-1]:
            joined[-1] += PAIR + name
        else:
            joined.append(name)
    return tuple(dict.fromkeys(joined))


def unpair(counters: Iterable[str]) -> tuple[str, ...]:
    """List counters as rocprofv3 takes them, each level just before its accumulator."""
    pairs = [each.split(PAIR) for each in counters]
    levels = {each[0] for each in pairs if len(each) > 1}
    return tuple(n for each in pairs if len(each) > 1 or each[0] not in levels for n in each)


@cache
def inputs_of(counter: str, target: str) -> tuple[str, ...]:
    """Return what a counter takes up in a run, one name a slot; equal names share one.

    Parameters
    ----------
    counter
        Basic, reduced (``_sum`` and the like read the same slot), derived, accumulated, or a
        level paired with its accumulator.
    target
        gfx target.
    """
    level, _, accumulator = counter.partition(PAIR)
    if accumulator:
        return (level, counter)
    name = _REDUCED.sub("", counter.partition(":")[0])
    if name.endswith(ACCUMULATED):
        return (name.removesuffix(ACCUMULATED), name)
    for each in _derived():
        if each["name"] == name and target.startswith(tuple(each["targets"])):
            accumulated = each.get("accumulates")
            more = (accumulated, accumulated + ACCUMULATED) if accumulated else ()
            return (*each["inputs"], *more)
    return (name,)


def used(counters: Iterable[str], target: str) -> dict[str, int]:
    """Count the slots that counters take, by block.

    Parameters
    ----------
    counters
        Names. What several of them need counts once.
    target
        gfx target.

    Returns
    -------
    dict
        Slots by block; those of unknown blocks under an empty name.
    """
    taken: dict[str, int] = {}
    for name in dict.fromkeys(n for each in counters for n in inputs_of(each, target)):
        block = block_of(name, target) or ""
        taken[block] = taken.get(block, 0) + 1
    return taken


def fits(counters: Iterable[str], target: str, fewer: Mapping[str, int] | None = None) -> bool:
    """Tell whether one run can hold all these counters.

    A counter of an unknown block is derived from counters that are not known here: it goes with
    the anchors only. An accumulator of rocprofv3 has one name whatever it adds up, so that a run
    holds one pair of it.

    Parameters
    ----------
    counters
        Names.
    target
        gfx target.
    fewer
        Slots of blocks that are known to have fewer than the table says.
    """
    names = pair(tuple(counters))
    if sum(PAIR in name for name in names) > 1:
        return False
    taken = used(names, target)
    if unknown := taken.pop("", 0):
        return unknown == 1 and len(set(names) - set(ANCHORS)) == 1
    limits = {**slots(target), **(fewer or {})}
    return all(count <= limits[block] for block, count in taken.items())


def least_runs(counters: Iterable[str], target: str) -> int:
    """Return a number of runs below which these counters cannot be had, whatever goes together.

    Parameters
    ----------
    counters
        Names, the anchors left out, which every run carries.
    target
        gfx target.
    """
    anchors = used(ANCHORS, target)
    wanted = {n for each in counters for n in inputs_of(each, target)}
    taken = used(wanted - set(ANCHORS), target)
    unknown = taken.pop("", 0)
    room = {block: slots(target)[block] - anchors.get(block, 0) for block in taken}
    return max([unknown, *(-(-count // room[block]) for block, count in taken.items())])
