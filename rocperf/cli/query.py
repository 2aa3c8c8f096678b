"""``rocperf query``: ask a profile in SQL."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

#: Rows that a table on the screen shows; other formats print them all. A choice of ours.
TABLE_ROWS = 100


def add(verbs: Any, shared: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    verb = verbs.add_parser(
        "query",
        parents=[shared],
        help="ask a profile in SQL",
        description="Run one SQL query over a profile, or directly over profiler output.",
    )
    verb.add_argument("path", type=Path, metavar="FILE", help="profile or raw output")
    verb.add_argument("sql", nargs="?", metavar="SQL", help="the query")
    verb.add_argument("--schema", action="store_true", help="list tables, columns and units")
    verb.add_argument(
        "--format",
        choices=("table", "csv", "json", "parquet"),
        default="table",
        help="parquet needs -o or a pipe",
    )
    verb.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="write there instead of standard output"
    )
    verb.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Ask, and print the rows."""
    from rocperf import pipeline
    from rocperf.errors import UsageError
    from rocperf.profile import check_one, open_profile

    if arguments.schema:
        from rocperf.report.tables import schema_text

        sys.stdout.write(schema_text())
        return 0
    if not arguments.sql:
        raise UsageError("there is no query", hint='rocperf query FILE "SELECT …", or --schema')
    if arguments.format == "parquet" and arguments.output is None and sys.stdout.isatty():
        raise UsageError("parquet is not text", hint="name a file with -o")
    check_one(arguments.sql)
    with open_profile(pipeline.profile_path([arguments.path])) as profile:
        frame = profile.sql(arguments.sql)
    _write(frame, arguments.format, arguments.output)
    return 0


def _write(frame: pl.DataFrame, how: str, output: Path | None) -> None:
    from rocperf.report.tables import csv_text, json_text, table_text

    if how == "parquet":
        frame.write_parquet(output if output is not None else sys.stdout.buffer)
        return
    if how == "table":
        live = output is None and sys.stdout.isatty()
        width = shutil.get_terminal_size((80, 24)).columns if live else None
        text = table_text(frame, TABLE_ROWS, width)
    else:
        text = csv_text(frame) if how == "csv" else json_text(frame)
    if output is not None:
        output.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
