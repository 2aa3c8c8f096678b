"""The command line: one verb a file.

Standard output carries data only; progress, notes and errors go to standard error. This
module is the only place that turns an error into words and an exit code.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module

import rocperf
from rocperf.errors import RocperfError, UsageError

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


class _Formatter(argparse.HelpFormatter):
    """Help in which the longest verb and what it does share a line."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=16)
        # argparse counts a verb without its indentation of two more.
        self._action_max_length = 14


def parser() -> argparse.ArgumentParser:
    """Build the parser of every verb; imports nothing heavy."""
    top = argparse.ArgumentParser(
        prog="rocperf",
        description="Ask a HIP program where its time goes on an AMD GPU, and what to change.",
        epilog="Begin with rocperf demo, which needs no GPU; with one, rocperf doctor, then "
        "rocperf collect ./app.",
        formatter_class=_Formatter,
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
    _speak_unicode()
    try:
        arguments, unknown = parser().parse_known_args(argv)
        if unknown:
            raise UsageError(
                f"{arguments.verb} does not know {unknown[0]!r}",
                hint=f"rocperf {arguments.verb} --help lists what it knows",
            )
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


def _speak_unicode() -> None:
    """Let no locale stand in the way of a name: files get UTF-8, terminals what they can show."""
    for stream in (sys.stdout, sys.stderr):
        known = (stream.encoding or "").lower().replace("-", "") == "utf8"
        if known or not isinstance(stream, io.TextIOWrapper):
            continue
        if stream.isatty():
            stream.reconfigure(errors="backslashreplace")
        else:
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _say(error: RocperfError) -> None:
    from rocperf.report.visible import visible

    print(f"rocperf: {visible(error.message)}", file=sys.stderr)
    for line in error.details:
        print(f"  {visible(line)}", file=sys.stderr)
    if error.hint:
        print(f"  hint: {visible(error.hint)}", file=sys.stderr)
