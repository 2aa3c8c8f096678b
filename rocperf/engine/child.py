"""The process that a foreign analysis runs in: one request in, one answer out."""

from __future__ import annotations

import json
import os
import sys
from itertools import islice
from typing import Any

from rocperf.engine.grade import MOST_FINDINGS
from rocperf.engine.wire import finding_to_dict
from rocperf.errors import PluginError
from rocperf.model import Finding
from rocperf.plugin import load_address
from rocperf.profile import open_profile


def main() -> None:
    """Answer on the descriptor named on the command line."""
    answer: dict[str, Any]
    try:
        answer = {"findings": _findings(json.load(sys.stdin))}
    except BaseException as error:  # noqa: BLE001  # whatever it is, it becomes the answer
        lines = str(error).splitlines()
        answer = {"error": f"{type(error).__name__}: {lines[0] if lines else 'no message'}"[:500]}
    with os.fdopen(int(sys.argv[1]), "w", encoding="utf-8") as out:
        json.dump(answer, out, allow_nan=False)
    os._exit(0)  # threads that the plugin left behind must not keep the process


def _findings(request: dict[str, Any]) -> list[dict[str, Any]]:
    kinds = load_address(tuple(request["address"]))
    kind = kinds[request["analysis"]]
    analysis = kind(kind.options_type(**request["options"]))
    with open_profile(request["profile"]) as profile:
        found = list(islice(analysis.run(profile), MOST_FINDINGS + 1))
    for each in found:
        if not isinstance(each, Finding):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise PluginError(f"it yielded a {type(each).__name__}, not a finding")
    if len(found) > MOST_FINDINGS:
        raise PluginError(f"it yields more than {MOST_FINDINGS:,} findings")
    return [finding_to_dict(each) for each in found]


if __name__ == "__main__":
    main()
