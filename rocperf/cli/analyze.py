"""``rocperf analyze``: what costs the time, why, and what to change."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

GATES = ("minor", "major", "critical")


def add(verbs: Any, shared: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    from rocperf.cli.ingest import salvaging

    verb = verbs.add_parser(
        "analyze",
        parents=[shared],
        help="print findings, ranked by what fixing them could save",
        description="Run the analyses over a profile, or directly over profiler output.",
    )
    verb.add_argument("paths", nargs="+", type=Path, metavar="FILE", help="profile or raw output")
    selection(verb)
    verb.add_argument("--format", choices=("text", "json"), default="text", help="how to print")
    verb.add_argument("--all", action="store_true", help="print every finding, not one screen")
    verb.add_argument(
        "--fail-on", choices=GATES, metavar="SEVERITY", help="exit 1 at minor, major or critical"
    )
    salvaging(verb)
    verb.set_defaults(run=run)


def selection(verb: argparse.ArgumentParser) -> None:
    """Declare the options that choose and configure analyses."""
    verb.add_argument(
        "--only", action="append", default=[], metavar="ID", help="run this analysis only"
    )
    verb.add_argument(
        "--plugin",
        action="append",
        default=[],
        type=Path,
        metavar="FILE.py",
        help="also run the analyses of this file",
    )
    verb.add_argument(
        "-O",
        dest="options",
        action="append",
        default=[],
        metavar="ID.OPTION=VALUE",
        help="set an option of an analysis",
    )
    verb.add_argument("--region", metavar="NAME", help="look only inside this roctx range")


def run(arguments: argparse.Namespace) -> int:
    """Analyse and print."""
    from rocperf import pipeline
    from rocperf.cli.ingest import show_event
    from rocperf.cli.progress import Progress

    progress = Progress(quiet=arguments.quiet)
    path = pipeline.profile_path(
        arguments.paths,
        salvage=arguments.salvage,
        on_event=lambda event: show_event(progress, event, verbose=arguments.verbose),
    )
    progress.clear()
    result = pipeline.analyze(
        path,
        chosen(arguments),
        on_outcome=lambda name: progress.show(f"analysing: {name}"),
    )
    progress.clear()
    if path not in arguments.paths:
        result = replace(result, summary=replace(result.summary, source=named(arguments.paths)))
    print_result(result, arguments)
    return gate(result, arguments.fail_on)


def named(paths: Sequence[Path]) -> str:
    """Name raw output as the user did: its profile in the cache means nothing to a person."""
    return ", ".join(map(str, paths))


def chosen(arguments: argparse.Namespace) -> Any:
    """Turn the options of `selection` into a `rocperf.pipeline.Selection`."""
    from rocperf.pipeline import Selection

    return Selection(
        only=tuple(arguments.only),
        files=tuple(arguments.plugin),
        options=tuple(arguments.options),
        region=arguments.region,
    )


def print_result(result: Any, arguments: argparse.Namespace) -> None:
    """Print findings in the format asked for."""
    if arguments.format == "json":
        from rocperf.report.json_file import render

        sys.stdout.write(render(result))
    else:
        from rocperf.report.terminal import Look, render_text

        look = Look.of(sys.stdout, everything=arguments.all, verbose=arguments.verbose)
        sys.stdout.write(render_text(result, look))


def gate(result: Any, fail_on: str | None) -> int:
    """Return 1 when a finding is at least as severe as the gate, else 0."""
    from rocperf.model import Severity

    if fail_on is None:
        return 0
    bound = Severity[fail_on.upper()]
    return int(any(ranked.severity >= bound for ranked in result.findings))
