"""Plays ``avail``, the Python module in which ROCm 7 tells of counters.

The real one is a layer over a C library that it loads on first use; so this one wants to be told
where that is before it answers.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rocperf.testing.simulator import GPUS, counters_of
from rocperf.testing.simulator import fits as hold_together

#: Handle of the one GPU, and of its first counter.
_AGENT, _FIRST = 0x5A5A, 0x100
_GPU = 2


class loadLibrary:  # noqa: N801  # the name that the module has
    """Where the C library is."""

    libname: str | None = None


@dataclass(frozen=True)
class Listed:
    """A counter as the module lists it."""

    counter_handle: int
    name: str
    description: str


def _gpu() -> str:
    if loadLibrary.libname is None or not Path(loadLibrary.libname).is_file():
        message = f"cannot load {loadLibrary.libname}"
        raise OSError(message)
    return os.environ.get("ROCPERF_STANDIN_GPU", "gfx942")


def get_agent_info_map() -> dict[int, dict[str, object]]:
    """Return the agents by handle."""
    name = _gpu()
    return {1: {"type": 1, "name": "cpu"}, _AGENT: {"type": _GPU, "name": GPUS[name].gfx}}


def get_counters() -> dict[int, list[Listed]]:
    """Return the counters of each GPU by its handle."""
    known = counters_of(_gpu()).values()
    return {
        _AGENT: [Listed(_FIRST + n, each.name, each.description) for n, each in enumerate(known)]
    }


def check_pmc(wanted: Mapping[int, Sequence[int]]) -> None:
    """Print that counters can be collected together, or exit with 1."""
    names = {each.counter_handle: each.name for each in get_counters()[_AGENT]}
    for handles in wanted.values():
        chosen = [names[handle] for handle in handles]
        if not hold_together(_gpu(), chosen):
            print(f"Fatal error: {' '.join(chosen)} not collected on agent", file=sys.stderr)  # noqa: T201
            sys.exit(1)
        print("Following input counters can be collected together on GPU:0")  # noqa: T201
