"""``rocperf plugins``: what is installed, and what is broken."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any


def add(verbs: Any, shared: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    verb = verbs.add_parser(
        "plugins",
        help="list installed plugins",
        description="Say which plugins are installed, what they ask, and which are broken.",
    )
    actions = verb.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser(
        "list",
        parents=[shared],
        help="name, version, origin, analyses; broken ones with reason",
        description="List plugins, one a line; with -v the options of every analysis, too.",
    )
    listing.add_argument(
        "--plugin", action="append", default=[], type=Path, metavar="FILE.py", help="a file, too"
    )
    listing.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print one row a plugin, and the options of each analysis with ``-v``."""
    import polars as pl

    from rocperf import pipeline
    from rocperf.report.tables import table_text

    plugins = pipeline.installed(arguments.plugin)
    rows = [
        {
            "name": row.name,
            "version": row.version or "–",
            "from": row.origin,
            "analyses": ", ".join(row.analyses),
            "state": f"broken: {row.error}" if row.error else "ok",
        }
        for row in plugins.rows()
    ]
    columns = ("name", "version", "from", "analyses", "state")
    frame = pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String))
    sys.stdout.write(table_text(frame, len(rows) + 1))
    if arguments.verbose:
        from rocperf.plugin import describe_options

        for name, kind in plugins.analyses().items():
            sys.stdout.write(f"\n{name}: {kind.title}\n{describe_options(name, kind)}")
    return 0
