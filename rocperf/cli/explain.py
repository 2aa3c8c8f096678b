"""``rocperf explain``: what a metric, counter, analysis or hardware term means."""

from __future__ import annotations

import argparse
import sys
from typing import Any


def add(verbs: Any, shared: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    verb = verbs.add_parser(
        "explain",
        parents=[shared],
        help="say what a metric, counter, analysis or hardware term means",
        description=(
            "Say what a name means: formula on each GPU, unit, range, what to beware of, and "
            "where it comes from. Offline. Without a name, list what can be explained."
        ),
    )
    verb.add_argument(
        "name", nargs="*", metavar="NAME", help="such as occupancy, lds-conflict-share or gfx942"
    )
    verb.add_argument("--gpu", metavar="GFX", help="only what holds for this target or product")
    verb.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Explain, and print it."""
    from rocperf.report.explain import explain, list_names

    name = " ".join(arguments.name)
    sys.stdout.write(explain(name, arguments.gpu) if name.strip() else list_names())
    return 0
