"""Sums of levels, such as the waves resident over time: counters that rocprofv3 is taught.

The hardware can add a level up cycle by cycle. rocprofv3 lists such sums only inside figures of
its own, and by their raw name one run holds one of them. Under a name and a definition of our own,
which ROCm 7.0 and later take from a file, each has its own value.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from rocperf.collect.limits import ACCUMULATED
from rocperf.collect.locate import Profiler

#: Name of the file in the raw folder. JSON is YAML, which rocprofv3 expects.
FILE = "accumulated.yaml"
OPTION = "--extra-counters"

#: Targets whose accumulators do not work under rocprofv3.
_BROKEN = frozenset({"gfx908"})


def level_of(counter: str) -> str | None:
    """Name the level that a counter is the sum of; None for any other counter."""
    return counter.removesuffix(ACCUMULATED) if counter.endswith(ACCUMULATED) else None


def available(profiler: Profiler, target: str) -> bool:
    """Tell whether a rocprofv3 can be taught such counters for a GPU.

    The format of definitions is known from 7.0 on.
    """
    taught = OPTION in profiler.options and profiler.version is not None
    return taught and (profiler.version or ()) >= (7,) and target not in _BROKEN


def definitions(counters: Iterable[str], target: str) -> str | None:
    """Return the definitions of those counters that need one; None where none does.

    Parameters
    ----------
    counters
        Of all passes.
    target
        gfx target.
    """
    levels = {name: level for name in counters if (level := level_of(name))}
    if not levels:
        return None
    rows = [
        {
            "name": name,
            "description": f"{level}, added up over every cycle",
            "properties": [],
            "definitions": [
                {"architectures": [target], "expression": f"accumulate({level},HIGH_RES)"}
            ],
        }
        for name, level in sorted(levels.items())
    ]
    content = {"rocprofiler-sdk": {"counters-schema-version": 1, "counters": rows}}
    return json.dumps(content, indent=1) + "\n"
