"""``rocperf doctor``: what is found on this machine, what is not, and how to mend it."""

from __future__ import annotations

import argparse
import sys
from typing import Any

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
        found = visible(check.found)
        sys.stdout.write(f"{_SIGNS[check.state]:<10} {check.name:<18} {found}\n")
        if check.fix and check.state != "ok":
            sys.stdout.write(f"{'':<29} → {visible(check.fix)}\n")
    return 3 if failed else 0
