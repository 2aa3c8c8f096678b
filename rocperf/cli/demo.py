"""``rocperf demo``: the whole of collect with no GPU."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

#: The profile that the demo writes in the current folder.
OUTPUT = "demo.rocperf"


def add(verbs: Any, shared: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    verb = verbs.add_parser(
        "demo",
        parents=[shared],
        help="try rocperf with no GPU, on a simulated one",
        description=f"Run the real collect over a stand-in for rocprofv3 that simulates a GPU, "
        f"write {OUTPUT} in the current folder and print the findings. The numbers are "
        "synthetic.",
    )
    verb.add_argument("--view", action="store_true", help="open the screen afterwards")
    verb.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Collect from the stand-in on a played machine, and print the findings."""
    import os

    from rocperf import pipeline
    from rocperf.cli.collect import finish, show_event
    from rocperf.cli.progress import Progress
    from rocperf.cli.view import need_terminal
    from rocperf.collect import Request, prepare
    from rocperf.errors import InputError
    from rocperf.profile import is_profile
    from rocperf.testing.standin import demo_app, install, played_machine

    if arguments.view:
        need_terminal()
    output = Path(OUTPUT)
    if output.exists() and not (is_profile(output) and _of_a_demo(output, demo_app.name)):
        raise InputError(f"{OUTPUT} exists and is not of a demo", hint="move it away")
    progress = Progress(quiet=arguments.quiet)
    progress.say("A simulated GPU stands in for a real one: every number below is synthetic.")
    selection = pipeline.Selection()
    with pipeline.demo_folder() as folder:
        played = {
            **played_machine(Path(folder) / "machine"),
            "ROCPERF_STANDIN_VERSION": "7.0",
            "ROCPERF_STANDIN_SCENARIO": "demo",
            "ROCPERF_STANDIN_GPU": "gfx942",
            "ROCPERF_STANDIN_FAIL": "",
        }
        before = {name: os.environ.get(name) for name in played}
        os.environ.update(played)
        try:
            plan = prepare(
                Request(
                    argv=(sys.executable, str(demo_app)),
                    metrics=pipeline.metrics_needed(selection),
                    output=output,
                    force=True,
                    rocprofv3=str(install(Path(folder) / "bin")),
                    # The program reads nothing, and the demo must work in a pipe, too.
                    stdin=Path(os.devnull),
                )
            )
            collected = pipeline.collect(plan, on_event=lambda e: show_event(progress, e))
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
    progress.clear()
    arguments.app_exit = arguments.strict = False
    return finish(collected, selection, arguments)


def _of_a_demo(output: Path, program: str) -> bool:
    """Tell whether a profile is one that the demo wrote, and so may replace."""
    from rocperf.profile import open_profile

    with open_profile(output) as profile:
        commands = profile.runs["command"].to_list()
    return all(program in (command or "") for command in commands)
