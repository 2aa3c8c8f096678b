"""``rocperf ingest``: profiler output into one profile."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rocperf.cli.progress import Progress

#: What a summary counts, and where that is.
COUNTED = {
    "run": "runs",
    "dispatch": "all_dispatches",
    "counter value": "counter_values",
    "copy": "copies",
    "API call": "api_calls",
    "marker": "markers",
    "PC sample": "pc_samples",
    "KFD event": "kfd_events",
    "link": "links",
    "note": "notes WHERE severity <> 'info'",
}


def add(verbs: Any, shared: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    verb = verbs.add_parser(
        "ingest",
        parents=[shared],
        help="read profiler output into a profile",
        description="Read files or folders of rocprofv3, rocprofiler-compute, omniperf or "
        "rocprof output into one profile. Formats are recognised by content.",
    )
    verb.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a file or a folder")
    verb.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="profile to write (default: <name of the input>.rocperf)",
    )
    how = verb.add_mutually_exclusive_group()
    how.add_argument("--force", action="store_true", help="replace an existing profile")
    how.add_argument("--append", action="store_true", help="add runs to an existing profile")
    verb.add_argument("--merge", action="store_true", help="join several workloads into one")
    verb.add_argument("--strict", action="store_true", help="fail (5) when anything was odd")
    salvaging(verb)
    verb.add_argument(
        "--max-unpacked",
        type=size,
        metavar="SIZE",
        help="most that a packed table may unpack to, such as 4GB (default: half the free disk)",
    )
    verb.set_defaults(run=run)


def salvaging(verb: argparse.ArgumentParser) -> None:
    """Declare the option for files that break off."""
    verb.add_argument(
        "--salvage",
        action="store_true",
        help="keep the complete records of files that break off; their runs count as incomplete",
    )


def size(text: str) -> int:
    """Read ``500MB`` as bytes.

    Raises
    ------
    argparse.ArgumentTypeError
        If it is no such thing.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kKMGT]?)B?", text.strip())
    if found is None or not float(found[1]):
        raise argparse.ArgumentTypeError(f"{text!r} is no size, such as 500MB")
    return int(float(found[1]) * 1000 ** " kMGT".index(found[2].replace("K", "k") or " "))


def run(arguments: argparse.Namespace) -> int:
    """Ingest and say where the profile is."""
    from rocperf.cli.progress import Progress
    from rocperf.ingest.load import default_output, ingest

    progress = Progress(quiet=arguments.quiet)
    output = arguments.output or default_output(arguments.paths)
    mode = "replace" if arguments.force else "append" if arguments.append else "create"
    path = ingest(
        arguments.paths,
        output,
        mode=mode,
        merge=arguments.merge,
        strict=arguments.strict,
        salvage=arguments.salvage,
        max_unpacked=arguments.max_unpacked,
        on_event=lambda event: show_event(progress, event, verbose=arguments.verbose),
    )
    progress.clear()
    summarise(path, progress)
    print(path)
    return 0


def show_event(progress: Progress, event: object, *, verbose: bool = False) -> None:
    """Show one event of an ingest: a changing line for progress, a lasting one for a note."""
    from rocperf.ingest.load import Note
    from rocperf.ingest.load import Progress as Rows
    from rocperf.report.visible import visible

    if isinstance(event, Rows):
        done = f"{event.bytes / 1e6:,.0f} of {event.total_bytes / 1e6:,.0f} MB"
        progress.show(f"{event.file}: {event.rows:,} rows, {done}, {event.rate:,.0f} rows/s")
    elif isinstance(event, Note) and (verbose or event.severity != "info"):
        progress.say(f"{event.severity}: {visible(event.message)}")


def summarise(path: Path, progress: Progress) -> None:
    """Say on standard error what the profile holds."""
    from rocperf.profile import open_profile
    from rocperf.report.amounts import count

    tables = ", ".join(f"(SELECT count(*) FROM {table})" for table in COUNTED.values())
    with open_profile(path) as profile:
        counts = profile.sql(f"SELECT {tables}").row(0)
    parts = [count(n, noun) for noun, n in zip(COUNTED, counts, strict=True) if n]
    progress.say(", ".join(parts) or "nothing")
