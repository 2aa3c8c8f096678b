"""``rocperf collect``: run a program under rocprofv3 and print what it found."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rocperf.cli.progress import Progress
    from rocperf.collect import Collected, Request


def add(verbs: Any, shared: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    verb = verbs.add_parser(
        "collect",
        parents=[shared],
        help="run a program under rocprofv3, then print findings",
        usage="rocperf collect [options] [--] ./app [args…]",
        description="Run a program once for its times and a few times more for hardware "
        "counters, read what rocprofv3 wrote, and print the findings.",
        allow_abbrev=False,
    )
    what = verb.add_argument_group("what to collect")
    what.add_argument(
        "--for",
        dest="only",
        action="append",
        default=[],
        metavar="ID[,ID…]",
        help="collect what these analyses need (default: all installed)",
    )
    what.add_argument(
        "--plugin",
        action="append",
        default=[],
        type=Path,
        metavar="FILE.py",
        help="use the analyses of this file, too, and collect what they need",
    )
    what.add_argument(
        "-O",
        dest="options",
        action="append",
        default=[],
        metavar="ID.OPTION=VALUE",
        help="set an option of an analysis for the findings that are printed",
    )
    what.add_argument("--kernels", metavar="REGEX", help="take counters of these kernels only")
    what.add_argument(
        "--launches", metavar="1-3", help="take counters of these launches of each kernel only"
    )
    what.add_argument("--region", metavar="NAME", help="look only inside this roctx range")
    how = verb.add_argument_group("how to run")
    how.add_argument("--dry-run", action="store_true", help="print the plan and run nothing")
    how.add_argument("--rocprofv3", metavar="PATH", help="the profiler to use")
    how.add_argument(
        "--timeout",
        type=float,
        metavar="S",
        help="end a pass after this long (default: 20 times the timing run, at least 60 s)",
    )
    how.add_argument(
        "--stdin", type=Path, metavar="FILE", help="give this file to every run as its input"
    )
    how.add_argument(
        "--allow-serialised",
        action="store_true",
        help="take counters although kernels that wait for each other were seen",
    )
    how.add_argument(
        "--resume", type=Path, metavar="FILE", help="run only the passes that this profile lacks"
    )
    how.add_argument(
        "--deepen",
        type=Path,
        metavar="FILE",
        help="collect every other metric of the kernels that findings of this profile name",
    )
    result = verb.add_argument_group("the result")
    result.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="profile (default: <program>.rocperf)",
    )
    result.add_argument("--force", action="store_true", help="replace an existing profile")
    result.add_argument("--strict", action="store_true", help="exit 5 when a pass failed")
    result.add_argument("--app-exit", action="store_true", help="exit with the program's code")
    result.add_argument("--view", action="store_true", help="open the screen afterwards")
    verb.add_argument(
        "command",
        nargs=argparse.REMAINDER,
        metavar="./app [args…]",
        help="the program and its arguments, passed on as they are",
    )
    verb.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Collect, ingest, analyse, print."""
    from rocperf import pipeline
    from rocperf.cli.progress import Progress
    from rocperf.cli.view import need_terminal
    from rocperf.collect import describe, prepare
    from rocperf.report.visible import visible

    if arguments.view and not arguments.dry_run:
        need_terminal()
    selection = _selection(arguments)
    if arguments.deepen is not None:
        plan = prepare(deeper_request(arguments, *pipeline.deeper(arguments.deepen, selection)))
    else:
        plan = prepare(request(arguments, pipeline.metrics_needed(selection)))
    if arguments.dry_run:
        # Names of kernels come from anywhere.
        sys.stdout.write("\n".join(map(visible, describe(plan).split("\n"))))
        return 0
    progress = Progress(quiet=arguments.quiet)
    if not plan.passes:
        progress.say("note: nothing is missing: every pass came to its end")
    collected = pipeline.collect(
        plan, on_event=lambda event: show_event(progress, event, verbose=arguments.verbose)
    )
    progress.clear()
    return finish(collected, selection, arguments)


def request(arguments: argparse.Namespace, metrics: tuple[str, ...]) -> Request:
    """Turn the options into a request."""
    from rocperf.collect import Request
    from rocperf.errors import UsageError

    command = list(arguments.command)
    if command[:1] == ["--"]:
        command = command[1:]
    if not command and arguments.resume is None:
        raise UsageError("there is no program to run", hint="rocperf collect ./app args")
    return Request(
        argv=tuple(command),
        metrics=metrics,
        output=arguments.output,
        force=arguments.force,
        rocprofv3=arguments.rocprofv3,
        kernels=arguments.kernels,
        launches=arguments.launches,
        region=arguments.region,
        timeout_s=arguments.timeout,
        stdin=arguments.stdin,
        allow_serialised=arguments.allow_serialised,
        resume=arguments.resume,
    )


def deeper_request(
    arguments: argparse.Namespace, kernels: tuple[str, ...], metrics: tuple[str, ...]
) -> Request:
    """Turn the options into a request for more of what a profile names."""
    from dataclasses import replace

    from rocperf.errors import UsageError

    given = {
        "a program": arguments.command,
        "--resume": arguments.resume,
        "-o": arguments.output,
        "--kernels": arguments.kernels,
        "--launches": arguments.launches,
        "--region": arguments.region,
    }
    for name, value in given.items():
        if value:
            raise UsageError(
                f"--deepen goes on with the collection of {arguments.deepen}",
                hint=f"leave {name} out",
            )
    arguments.resume = arguments.deepen
    return replace(request(arguments, metrics), deepen=kernels)


def finish(collected: Collected, selection: Any, arguments: argparse.Namespace) -> int:
    """Print the findings and choose the exit code."""
    from rocperf import pipeline
    from rocperf.cli.view import show
    from rocperf.report.terminal import Look, render_text

    result = pipeline.analyze(collected.profile, selection)
    sys.stdout.write(render_text(result, Look.of(sys.stdout, verbose=arguments.verbose)))
    sys.stdout.write(f"\nOpen the screen: rocperf view {shlex.quote(str(collected.profile))}\n")
    sys.stdout.flush()
    if arguments.view:
        show(collected.profile, selection)
    if arguments.app_exit:
        return collected.app_exit
    return collected.exit_code(strict=arguments.strict)


def show_event(progress: Progress, event: object, *, verbose: bool = False) -> None:
    """Show one event of a collection on standard error."""
    from rocperf.cli.ingest import show_event as show_ingest_event
    from rocperf.collect import events

    if isinstance(event, events.Heartbeat):
        progress.show(str(event))
    elif isinstance(event, events.Event):
        progress.say(str(event))
    else:
        show_ingest_event(progress, event, verbose=verbose)


def _selection(arguments: argparse.Namespace) -> Any:
    from rocperf.pipeline import Selection

    only = tuple(name for part in arguments.only for name in part.split(",") if name)
    return Selection(
        only=only,
        files=tuple(arguments.plugin),
        options=tuple(arguments.options),
        region=arguments.region,
    )
