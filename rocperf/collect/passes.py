"""Metrics to counters to few passes: pure arithmetic over the limits of the hardware."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rocperf.metrics.catalogue import counters_of

#: Counters that every pass carries, so that passes can be held against each other.
ANCHORS = ("SQ_WAVES", "GRBM_GUI_ACTIVE")

#: Counters of one block that one pass can hold (rocprofiler-sdk's aqlprofile, gfx9 to gfx12).
LIMITS = {
    "SQ": 8, "SQC": 8, "TCP": 4, "TD": 2, "TA": 2, "TCC": 4, "TCA": 4, "GL1A": 4, "GL1C": 4,
    "GL2A": 4, "GL2C": 4, "SPI": 6, "GRBM": 2, "CPC": 2, "CPF": 2,
}  # fmt: skip
#: Blocks whose counters share the slots of another.
_SHARED = {"SQC": "SQ"}


@dataclass(frozen=True)
class CounterPass:
    """One counter run: its counters, anchors first, and the metrics that they serve."""

    counters: tuple[str, ...]
    metrics: tuple[str, ...]


def plan(metrics: Sequence[str], target: str) -> tuple[CounterPass, ...]:
    """Put metrics into few passes; the counters of one metric always share one.

    Parameters
    ----------
    metrics
        Ids, most valuable first.
    target
        gfx target.

    Returns
    -------
    tuple
        Passes, the most valuable first. Each metric goes into the first pass with room
        (first-fit), and metrics that a target cannot measure into none.
    """
    passes: list[tuple[dict[str, None], list[str]]] = []
    for name in metrics:
        needed = counters_of(name, target)
        if not needed:
            continue
        for counters, served in passes:
            if fits((*counters, *needed)):
                counters.update(dict.fromkeys(needed))
                served.append(name)
                break
        else:
            passes.append((dict.fromkeys((*ANCHORS, *needed)), [name]))
    return tuple(CounterPass(tuple(counters), tuple(served)) for counters, served in passes)


def fits(counters: Sequence[str]) -> bool:
    """Tell whether one pass can hold all these counters; equal ones count once."""
    used: dict[str, int] = {}
    for name in dict.fromkeys(counters):
        block = name.split("_", 1)[0]
        block = _SHARED.get(block, block)
        # An accumulated level takes two slots: its own and the accumulator's.
        used[block] = used.get(block, 0) + (2 if name.endswith("_ACCUM") else 1)
    return all(count <= LIMITS.get(block, 1) for block, count in used.items())
