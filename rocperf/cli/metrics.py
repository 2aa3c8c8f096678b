"""``rocperf metrics``: what hardware counters say of each kernel or launch."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from rocperf.profile import Profile


def add(verbs: Any, shared: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    verb = verbs.add_parser(
        "metrics",
        parents=[shared],
        help="print metrics of kernels or launches, with what speaks against them",
        description=(
            "Evaluate the metrics of the catalogue over a profile, or directly over profiler "
            "output. What was not collected or cannot be trusted is said, never printed as 0."
        ),
    )
    verb.add_argument("paths", nargs="+", type=Path, metavar="FILE", help="profile or raw output")
    verb.add_argument("--kernel", metavar="REGEX", help="only kernels whose name matches")
    verb.add_argument(
        "--metric",
        action="extend",
        nargs="+",
        default=[],
        metavar="ID",
        help="only these metrics; `rocperf explain` lists them",
    )
    verb.add_argument(
        "--per", choices=("kernel", "dispatch"), default="kernel", help="what a value is of"
    )
    verb.add_argument(
        "--spread", action="store_true", help="say how far dispatches of a kernel lie apart"
    )
    verb.add_argument("--region", metavar="NAME", help="look only inside this roctx range")
    verb.add_argument(
        "--format", choices=("text", "json", "csv"), default="text", help="how to print"
    )
    verb.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Evaluate and print."""
    from rocperf import pipeline
    from rocperf.cli.ingest import show_event
    from rocperf.cli.progress import Progress
    from rocperf.metrics.catalogue import metric
    from rocperf.profile import open_profile
    from rocperf.report.metrics import Answer, csv, text, text_of_json

    wanted = [metric(name).id for name in arguments.metric]  # refuse before reading anything
    progress = Progress(quiet=arguments.quiet)
    path = pipeline.profile_path(
        arguments.paths, on_event=lambda event: show_event(progress, event, verbose=True)
    )
    progress.clear()
    with open_profile(path, region=arguments.region) as profile:
        frame = _evaluated(profile, wanted, arguments)
        answer = Answer(frame, str(path), profile.id, named=bool(wanted))
    writers = {"text": text, "json": text_of_json, "csv": csv}
    sys.stdout.writelines(writers[arguments.format](answer))
    return 0


def _evaluated(profile: Profile, wanted: list[str], arguments: argparse.Namespace) -> pl.DataFrame:
    """Return the rows with names of kernels, those of the longest-running kernel first."""
    from rocperf.errors import NothingError
    from rocperf.metrics.catalogue import metrics

    kernels = _kernels(profile, arguments.kernel)
    ids = wanted or list(metrics())
    if arguments.per == "dispatch" and not wanted:
        ids = _collected(profile)
    chosen = None if arguments.kernel is None else kernels["kernel_id"].to_list()
    frame = profile.metrics(
        ids,
        per=arguments.per,
        kernels=chosen,
        spread=arguments.spread and arguments.per == "kernel",
    )
    if not frame.height:
        raise NothingError(
            _why_none(profile, wanted, some=bool(chosen)),
            hint=profile.command_for("occupancy") or "rocperf collect takes counters",
        )
    order = ["place", "kernel_id", "launch_id", "run_id", "dispatch_id", "target"]
    return frame.join(kernels, on="kernel_id", how="left").sort(order, maintain_order=True)


def _why_none(profile: Profile, wanted: list[str], *, some: bool) -> str:
    """Say why no metric has a row; `some`: of the kernels that were asked for."""
    from rocperf.metrics.catalogue import metrics

    targets = sorted({gpu.target for gpu in profile.agents if gpu.target})
    available = any(metrics()[w].on(t) for w in wanted for t in targets)
    if wanted and targets and not available:
        return f"{', '.join(wanted)}: not available on {', '.join(targets)}"
    if some:
        return "no counters were collected for these kernels"
    if profile.sql("SELECT 1 FROM counter_values WHERE value IS NOT NULL LIMIT 1").height:
        return "none of the collected counters belongs to a metric"
    return "there are no counters"


def _kernels(profile: Profile, pattern: str | None) -> pl.DataFrame:
    """Return ids and names of the kernels that match, and their place by time."""
    from rocperf.errors import InputError, NothingError, UsageError

    query = """
        SELECT kernel_id, name AS kernel, short_name,
               row_number() OVER (ORDER BY coalesce(t.ns, 0) DESC, kernel_id) AS place
        FROM kernels LEFT JOIN (
            SELECT kernel_id, sum(end_ns - start_ns) AS ns FROM dispatches GROUP BY kernel_id
        ) t USING (kernel_id)
    """
    if pattern is None:
        return profile.sql(query)
    try:
        found = profile.sql(
            f"SELECT * FROM ({query}) WHERE regexp_matches(kernel, $pattern) "
            "OR regexp_matches(short_name, $pattern)",
            {"pattern": pattern},
        )
    except InputError as error:
        raise UsageError(
            f"--kernel {pattern!r} is not a regular expression",
            hint="brackets and * have a meaning there: put a backslash before them",
        ) from error
    if not found.height:
        raise NothingError(
            f"no kernel matches {pattern!r}",
            hint="rocperf query FILE 'SELECT name FROM kernels' lists them",
        )
    return found


def _collected(profile: Profile) -> list[str]:
    """Return the metrics that some formula has all counters of."""
    from rocperf.metrics.catalogue import metrics

    counters = profile.sql("SELECT DISTINCT counter FROM counter_values WHERE value IS NOT NULL")
    have = set(counters["counter"].to_list())
    targets = {gpu.target or "unknown" for gpu in profile.agents} or {"unknown"}
    return [
        name
        for name, each in metrics().items()
        if any(have.issuperset(f.expression.counters) for t in targets for f in each.on(t))
    ]
