"""What runs in the worker process: one request a line in, one answer a line out."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
import threading
import time
from itertools import islice
from typing import Any

from rocperf.errors import PluginError, UnjudgedError
from rocperf.model import Finding
from rocperf.plugin.analysis import AnalysisType
from rocperf.plugin.foreign import describe
from rocperf.plugin.loading import Address, load
from rocperf.plugin.wire import MOST_FINDINGS, finding_to_dict

#: Bytes of memory that plugins may write to. A choice of ours: questions take up to 1 GB.
MEMORY_LIMIT = 4 << 30

_loaded: dict[Address, dict[str, AnalysisType]] = {}


def main() -> None:
    """Answer on the descriptor named first on the command line, until there is no request."""
    answers, parent = int(sys.argv[1]), int(sys.argv[2])
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    _limit_memory()
    logging.getLogger().addHandler(logging.NullHandler())  # a logged warning is not printing
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # a plugin that reads the keyboard finds it empty
    for line in requests:
        text = _answer(line).encode() + b"\n"
        while text:
            text = text[os.write(answers, text) :]
    os._exit(0)  # threads that a plugin left behind must not keep the process


def _answer(line: str) -> str:
    try:
        text = json.dumps({"value": _value(json.loads(line))}, allow_nan=False)
    except UnjudgedError as error:
        text = json.dumps({"unjudged": error.message, "hint": error.hint})
    except BaseException as error:  # noqa: BLE001  # whatever it is, it becomes the answer
        text = json.dumps({"error": _reason(error)})
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # a plugin may have closed or replaced it
            stream.flush()
    return text


def _reason(error: BaseException) -> str:
    lines = str(error).splitlines() or ["no message"]
    text = lines[0] if isinstance(error, PluginError) else f"{type(error).__name__}: {lines[0]}"
    return text[:500]


def _value(request: dict[str, Any]) -> list[dict[str, Any]]:
    address: Address = (request["address"][0], request["address"][1])
    if address not in _loaded:
        _loaded[address] = {kind.id: kind for kind in load(address)}
    if request["ask"] == "describe":
        return [describe(kind) for kind in _loaded[address].values()]
    return _run(_loaded[address][request["analysis"]], request)


def _run(kind: AnalysisType, request: dict[str, Any]) -> list[dict[str, Any]]:
    from rocperf.profile import open_profile

    analysis = kind(kind.options_type(**request["options"]))
    with open_profile(request["profile"], region=request["region"]) as profile:
        found: list[object] = list(islice(analysis.run(profile), MOST_FINDINGS + 1))
    if len(found) > MOST_FINDINGS:
        raise PluginError(f"it yields more than {MOST_FINDINGS:,} findings")
    rows: list[dict[str, Any]] = []
    for each in found:
        if not isinstance(each, Finding):
            raise PluginError(f"it yielded a {type(each).__name__}, not a finding")
        rows.append(finding_to_dict(each))
    return rows


def _end_with(parent: int) -> None:
    """End this process when rocperf has ended without a word, as after a kill."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:
        return
    # Not RLIMIT_AS: allocators reserve far more addresses than they use.
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_LIMIT, MEMORY_LIMIT))
