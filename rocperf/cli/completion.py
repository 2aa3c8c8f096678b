"""``rocperf completion``: completion scripts for shells."""

from __future__ import annotations

import argparse
import sys
from typing import Any


def add(verbs: Any, shared: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    verb = verbs.add_parser(
        "completion",
        parents=[shared],
        help="print a completion script for a shell",
        description="Print a completion script, to be sourced from the shell's start-up file.",
    )
    verb.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="which shell reads it")
    verb.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the script."""
    import shtab

    from rocperf.cli import parser

    sys.stdout.write(shtab.complete(parser(), shell=arguments.shell))
    return 0
