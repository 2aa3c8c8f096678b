"""Asks ROCm's own module ``avail`` about counters, in a process of its own, since it may abort.

Run as a script, with nothing of rocperf imported::

    python -I bindings_child.py MODULE_FOLDER PACKAGE LIBRARY ROOT TARGET SETS

`SETS` is a JSON list of lists of counter names. One JSON object is printed: ``counters``, the names
that the GPU has, and ``fits``, for each set true, false or null (a name that the GPU has not).
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

#: What an agent's description has as its type when it is a GPU.
_GPU = 2


def main(arguments: Sequence[str]) -> int:
    """Ask and print the answer; 1 when no GPU of the target is there."""
    folder, package, library, root, target, sets = arguments
    # What the module and its library print goes to standard error: the answer stands alone.
    answer = os.dup(1)
    os.dup2(2, 1)
    os.environ.setdefault("ROCPROFILER_METRICS_PATH", str(Path(root) / "share/rocprofiler-sdk"))
    sys.path.insert(0, folder)
    avail: Any = importlib.import_module(package)
    avail.loadLibrary.libname = library
    agents: Mapping[Any, Any] = avail.get_agent_info_map()
    agent = next((key for key, value in agents.items() if _is(value, target)), None)
    if agent is None:
        return 1
    listed = avail.get_counters()
    handles = {str(each.name): each.counter_handle for each in listed[agent]}
    fits = [_fits(avail, agent, handles, names) for names in json.loads(sets)]
    with os.fdopen(answer, "w", encoding="utf-8") as out:
        json.dump({"counters": sorted(handles), "fits": fits}, out)
    return 0


def _is(agent: Any, target: str) -> bool:
    known = json.loads(agent) if isinstance(agent, str | bytes) else agent
    return int(known["type"]) == _GPU and str(known["name"]) == target


def _fits(avail: Any, agent: Any, handles: Mapping[str, Any], names: Sequence[str]) -> bool | None:
    if any(name not in handles for name in names):
        return None
    try:
        avail.check_pmc({agent: [handles[name] for name in names]})
    except SystemExit as end:  # this is how it says no
        return not end.code
    return True


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
