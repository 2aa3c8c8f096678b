"""Collect, ingest, analyse: what the command line, the screen and a notebook all call."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rocperf import engine
from rocperf.engine import Stop, accepted
from rocperf.engine.accepted import Acceptance
from rocperf.errors import UsageError
from rocperf.hardware import Gpu
from rocperf.metrics.catalogue import metrics as known_metrics
from rocperf.model import Completed, Outcome, RankedFinding
from rocperf.plugin import AnalysisType, Plugins, configure
from rocperf.profile import Profile, is_profile, open_profile
from rocperf.profile.wall_time import WallTime, spent

if TYPE_CHECKING:
    from rocperf.collect import Collected, Plan


@dataclass(frozen=True)
class Selection:
    """Which analyses to run, how configured, and on what part of the profile.

    Parameters
    ----------
    only
        Ids to run; empty for all.
    files
        Plugin files to load as well.
    options
        Settings, each ``id.option=value``.
    region
        Name of the roctx range to look inside of; None for everything.
    """

    only: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    options: tuple[str, ...] = ()
    region: str | None = None


@dataclass(frozen=True)
class Summary:
    """What a report says of the profile itself.

    Parameters
    ----------
    wall_ns
        Wall time of the longest process, nanoseconds; None when only counter runs exist.
    kernel_ns
        Sum of kernel durations, nanoseconds; None when no duration is known.
    serialised
        True when times come from counter runs, which run one kernel at a time.
    notes
        What was odd in the data: severity, message and number of records; what is only told
        (``info``) last.
    source
        What the user named, where that is not the profile but what it was read from.
    spent
        Where the wall time went; None where that cannot be told.
    """

    path: str
    id: str
    gpus: tuple[str, ...]
    command: str | None
    runs: int
    counter_runs: int
    wall_ns: int | None
    kernel_ns: int | None
    serialised: bool
    dispatches: int
    kernels: int
    copies: int
    notes: tuple[tuple[str, str, int], ...]
    region: str | None = None
    source: str | None = None
    spent: WallTime | None = None


@dataclass(frozen=True)
class Result:
    """Outcomes of every analysis, with the profile that they are about, and what is accepted."""

    summary: Summary
    outcomes: tuple[Outcome, ...]
    titles: dict[str, str]
    short_names: dict[str, str]
    acceptances: tuple[Acceptance, ...] = ()

    @property
    def findings(self) -> tuple[RankedFinding, ...]:
        """Every finding that is not accepted, the one that could save most first."""
        return tuple(each for each, why in self._judged if why is None)

    @property
    def accepted(self) -> tuple[tuple[RankedFinding, Acceptance], ...]:
        """Every finding that somebody accepted, in the same order, and why."""
        return tuple((each, why) for each, why in self._judged if why is not None)

    @property
    def _judged(self) -> list[tuple[RankedFinding, Acceptance | None]]:
        done = (each for each in self.outcomes if isinstance(each, Completed))
        ranked = sorted((f for each in done for f in each.findings), key=_rank)
        return [(each, accepted.covering(self.acceptances, each.finding)) for each in ranked]

    @property
    def covered_ns(self) -> int | None:
        """How much of the wall time findings could save together at most, nanoseconds.

        Findings about one kernel or the same copies are about the same time: the largest counts.
        Those about a GPU are about idle time of different causes, or add what they name. Never
        more than the wall time; None without one.
        """
        if self.summary.wall_ns is None or self.summary.serialised:
            return None
        largest: dict[tuple[str, str], int] = {}
        for finding in (ranked.finding for ranked in self.findings):
            kind = finding.rule if finding.subject.kind == "gpu" else finding.subject.kind
            key = (kind, finding.subject.name)
            largest[key] = max(largest.get(key, 0), finding.saves_ns or 0)
        return min(sum(largest.values()), self.summary.wall_ns)


def _rank(ranked: RankedFinding) -> tuple[int, int, str, str]:
    finding = ranked.finding
    return (-ranked.severity, -(finding.saves_ns or 0), finding.rule, finding.subject.name)


def profile_path(
    paths: Sequence[Path],
    *,
    salvage: bool = False,
    on_event: Callable[[object], None] | None = None,
) -> Path:
    """Find the profile that is meant: the file itself, or raw output read into the cache.

    Parameters
    ----------
    paths
        One profile, or profiler output.
    salvage
        Whether to keep what is complete of raw files that break off.
    on_event
        Told of progress and notes while raw output is read.

    Raises
    ------
    InputError
        If nothing readable is there.
    """
    if len(paths) == 1 and is_profile(paths[0]):
        return paths[0]
    if any(is_profile(path) for path in paths):
        raise UsageError(
            "one profile at a time, or raw output", hint="rocperf ingest --append adds runs"
        )
    from rocperf.ingest.load import cached_profile

    return cached_profile(paths, salvage=salvage, on_event=on_event)


def installed(files: Sequence[Path] = ()) -> Plugins:
    """Load the installed plugins and the given files."""
    plugins = Plugins.installed()
    for file in files:
        plugins.add_file(file)
    return plugins


def select(plugins: Plugins, only: Sequence[str]) -> dict[str, AnalysisType]:
    """Pick analyses by id; all when `only` is empty.

    Raises
    ------
    UsageError
        If an id is unknown.
    """
    known = plugins.analyses()
    for name in only:
        if name not in known:
            raise UsageError(
                f"there is no analysis {name!r}", hint=f"one of: {', '.join(sorted(known))}"
            )
    return {name: known[name] for name in known if not only or name in only}


def analyze(
    path: Path,
    selection: Selection | None = None,
    *,
    on_outcome: Callable[[str], None] | None = None,
    stop: Stop | None = None,
) -> Result:
    """Run analyses over a profile.

    Parameters
    ----------
    path
        A profile.
    selection
        Which analyses; all by default.
    on_outcome
        Told the id of each analysis as it ends.
    stop
        Asked from another thread to end the work.

    Returns
    -------
    Result
        One outcome per analysis.
    """
    selection = selection or Selection()
    plugins = installed(selection.files)
    chosen = select(plugins, selection.only)
    analyses = configure(chosen, selection.options)

    def tell(outcome: Outcome) -> None:
        if on_outcome is not None:
            on_outcome(outcome.analysis)

    with open_profile(path, region=selection.region) as profile:
        outcomes = engine.analyze(
            profile, analyses, external=plugins.external(), on_outcome=tell, stop=stop
        )
        return Result(
            summary=summarise(profile, path, selection.region),
            outcomes=(*outcomes, *plugins.failures()),
            titles={name: kind.title for name, kind in chosen.items()},
            short_names=_short_names(profile),
            acceptances=accepted.read(accepted.place()),
        )


def metrics_needed(selection: Selection, *, deep: bool | None = None) -> tuple[str, ...]:
    """Name the metrics that the selected analyses declare, most needed first.

    Parameters
    ----------
    deep
        Whether those count that a first look leaves out; by default where analyses are named.
    """
    kinds = select(installed(selection.files), selection.only)
    every = bool(selection.only) if deep is None else deep
    needs = (kind.requires for kind in kinds.values())
    each = (m for need in needs for m in (need.every_metric() if every else need.first_look()))
    return tuple(dict.fromkeys(each))


def deeper(path: Path, selection: Selection) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Say what to look deeper at: the kernels that findings name, and every metric there is.

    Parameters
    ----------
    path
        A profile.
    selection
        The analyses whose findings count.

    Returns
    -------
    tuple
        Names of kernels, the costliest finding first; ids of metrics, those of the selected
        analyses first.
    """
    found = [each.finding.subject for each in analyze(path, selection).findings]
    wanted = [each for each in found if each.kind == "kernel"]
    with open_profile(path) as profile:
        rows = profile.sql("SELECT kernel_id, name, group_name FROM kernels").rows()
    by_id = {number: group for number, _, group in rows}
    by_name = {name: group for _, name, group in rows}
    groups = (by_id.get(w.details.get("kernel_id")) or by_name.get(w.name) for w in wanted)
    names = tuple(dict.fromkeys(group for group in groups if group))
    return names, tuple(dict.fromkeys((*metrics_needed(selection, deep=True), *known_metrics())))


def collect(plan: Plan, *, on_event: Callable[[object], None]) -> Collected:
    """Run a plan and read what came back into its profile.

    Parameters
    ----------
    plan
        From `rocperf.collect.prepare`.
    on_event
        Told of every pass, and of progress while files are read.

    Raises
    ------
    NothingError
        If nothing was collected.
    """
    from rocperf.collect import collect as run_plan

    return run_plan(plan, on_event)


def summarise(profile: Profile, path: Path, region: str | None = None) -> Summary:
    """Count what a report's first lines say."""
    row = profile.sql(
        "SELECT (SELECT count(*) FROM runs) AS runs,"
        " (SELECT count(*) FROM runs WHERE role = 'counters') AS counter_runs,"
        " (SELECT count(*) FROM dispatches) AS dispatches,"
        " (SELECT count(DISTINCT kernel_id) FROM dispatches) AS kernels,"
        " (SELECT count(*) FROM copies) AS copies,"
        " (SELECT any_value(command ORDER BY run_id) FROM runs) AS command"
    ).row(0, named=True)
    notes = profile.sql(
        "SELECT severity, message, coalesce(rows, 1)::BIGINT AS rows FROM notes"
        " ORDER BY severity = 'info', severity, code, message"
    )
    # What the trace says of a GPU and cannot be, or is unlike other GPUs of its kind.
    told = dict.fromkeys(("warning", note, 1) for gpu in profile.gpus for note in gpu.notes)
    return Summary(
        path=str(path),
        id=profile.id,
        gpus=tuple(dict.fromkeys(filter(None, map(_gpu_name, profile.gpus)))),
        wall_ns=profile.wall_ns,
        kernel_ns=profile.kernel_ns,
        serialised=profile.serialised,
        notes=tuple(sorted((*notes.iter_rows(), *told), key=lambda note: note[0] == "info")),
        region=region,
        spent=None if profile.serialised else spent(profile),
        **row,
    )


def _gpu_name(gpu: Gpu) -> str:
    """Name a GPU as far as the trace does; empty where it does not."""
    if gpu.product and gpu.target:
        return f"{gpu.product} ({gpu.target})"
    return gpu.product or gpu.target or ""


def _short_names(profile: Profile) -> dict[str, str]:
    rows = profile.sql("SELECT name, short_name FROM kernels")
    return dict(rows.iter_rows())


def demo_folder() -> tempfile.TemporaryDirectory[str]:
    """Make the folder that a demo's stand-in and machine live in."""
    return tempfile.TemporaryDirectory(prefix="rocperf-demo-")
