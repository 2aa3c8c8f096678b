"""``rocperf doctor``: what is found on this machine, what is not, and how to mend it."""

from __future__ import annotations

import argparse
import shutil
import sys
import textwrap
from typing import Any

#: Cells of a line where there is no terminal. A choice of ours.
WIDTH = 100

#: A word and a sign for each state, so that colour is never needed.
_SIGNS = {"ok": "✓ ok", "warn": "! note", "fail": "✗ missing"}


def add(verbs: Any, shared: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    verb = verbs.add_parser(
        "doctor",
        parents=[shared],
        help="check rocprofv3, GPUs, permissions and packages",
        description="Check what collecting needs, and say how to mend what is missing.",
    )
    verb.add_argument("--rocprofv3", metavar="PATH", help="the profiler to check")
    verb.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print one line a check; exit 3 when collecting could not work."""
    from rocperf.collect.doctor_checks import checks
    from rocperf.report.visible import visible

    failed = False
    for check in checks(arguments.rocprofv3):
        failed = failed or check.state == "fail"
        first = f"{_SIGNS[check.state]:<10} {check.name:<18} "
        lines = _wrap(first, visible(check.found))
        if check.fix and check.state != "ok":
            lines += _wrap(" " * len(first) + "→ ", visible(check.fix))
        sys.stdout.write("\n".join(lines) + "\n")
    return 3 if failed else 0


def _wrap(first: str, text: str) -> list[str]:
    """Break a text into lines that fit the terminal; words, such as paths, stay whole."""
    width = shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else WIDTH
    return textwrap.wrap(
        text,
        max(width, 60),
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )
