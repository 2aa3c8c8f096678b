"""The command line: one verb a file.

Standard output carries data only; progress, notes and errors go to standard error. This
module is the only place that turns an error into words and an exit code.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

import rocperf
from rocperf.errors import RocperfError

#: Verbs in the order in which ``--help`` lists them.
VERBS = (
    "collect",
    "ingest",
    "analyze",
    "view",
    "query",
    "metrics",
    "occupancy",
    "explain",
    "plugins",
    "doctor",
    "demo",
    "completion",
)


def parser() -> argparse.ArgumentParser:
    """Build the parser of every verb; imports nothing heavy."""
    top = argparse.ArgumentParser(
        prog="rocperf",
        description="Ask a HIP program where its time goes on an AMD GPU, and what to change.",
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"rocperf {rocperf.__version__}")
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("-v", "--verbose", action="store_true", help="say more")
    shared.add_argument("--quiet", action="store_true", help="no progress, no notes")
    verbs = top.add_subparsers(dest="verb", metavar="VERB", required=True)
    for verb in VERBS:
        import_module(f"rocperf.cli.{verb}").add(verbs, shared)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns
    -------
    int
        The exit code; `rocperf.errors` lists them.
    """
    try:
        arguments = parser().parse_args(argv)
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except RocperfError as error:
        _say(error)
        return error.exit_code
    except KeyboardInterrupt:
        print("rocperf: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of our output went away, as `head` does: nothing is wrong.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def _say(error: RocperfError) -> None:
    from rocperf.report.visible import visible

    print(f"rocperf: {visible(error.message)}", file=sys.stderr)
    for line in error.details:
        print(f"  {visible(line)}", file=sys.stderr)
    if error.hint:
        print(f"  hint: {visible(error.hint)}", file=sys.stderr)
