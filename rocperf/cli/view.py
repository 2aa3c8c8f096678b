"""``rocperf view``: the screen."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any


def add(verbs: Any, shared: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    from rocperf.cli.analyze import selection
    from rocperf.cli.ingest import salvaging

    verb = verbs.add_parser(
        "view",
        parents=[shared],
        help="open the screen on a profile",
        description="Open the screen on a profile, or directly on profiler output.",
    )
    verb.add_argument("paths", nargs="+", type=Path, metavar="FILE", help="profile or raw output")
    selection(verb)
    salvaging(verb)
    verb.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Open the screen; without a terminal, say what to do instead."""
    from rocperf import pipeline
    from rocperf.cli.analyze import chosen, named
    from rocperf.cli.ingest import show_event
    from rocperf.cli.progress import Progress

    need_terminal()
    progress = Progress(quiet=arguments.quiet)
    path = pipeline.profile_path(
        arguments.paths,
        salvage=arguments.salvage,
        on_event=lambda event: show_event(progress, event),
    )
    progress.clear()
    source = None if path in arguments.paths else named(arguments.paths)
    show(path, chosen(arguments), source)
    return 0


def need_terminal() -> None:
    """Refuse to open a screen where there is no terminal to draw it on."""
    from rocperf.errors import UsageError

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "the screen needs a terminal", hint="rocperf analyze FILE prints the findings"
        )


def show(path: Path, selection: Any, source: str | None = None) -> None:
    """Open the screen on a profile; analyses run behind it."""
    from rocperf import pipeline
    from rocperf.tui import run_view

    run_view(
        path,
        None,
        lambda stop: pipeline.analyze(path, selection, stop=stop).outcomes,
        region=selection.region,
        source=source,
    )
