"""What a pass really brought: read by the readers, compared with what was asked."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rocperf.collect.limits import ANCHORS
from rocperf.collect.waiting import waiting
from rocperf.errors import InputError, NothingError, UsageError
from rocperf.ingest.load import ingest
from rocperf.metrics.trust import RAISED, UNGATED
from rocperf.profile import open_profile

if TYPE_CHECKING:
    from rocperf.profile import Profile

#: Files that rocperf itself puts into the folder of a pass.
OWN = ("rocprofv3.log",)

# A wave of CDNA has 64 lanes; RDNA compiles kernels for 32 or 64, and no trace says for which.
_WAVES = """
SELECT count(*) AS dispatches, count(*) FILTER (waves NOT IN (of_64, of_32)) AS wrong
FROM (SELECT v.value AS waves,
             ceil(d.workgroup_size / 64) * (d.grid_size // d.workgroup_size) AS of_64,
             CASE WHEN a.wave_size = 32
                  THEN ceil(d.workgroup_size / 32) * (d.grid_size // d.workgroup_size)
                  ELSE ceil(d.workgroup_size / 64) * (d.grid_size // d.workgroup_size) END AS of_32
      FROM counter_values v JOIN all_dispatches d USING (run_id, dispatch_id)
      LEFT JOIN agents a ON a.run_id = d.run_id AND a.agent_id = d.agent_id
      WHERE v.counter = 'SQ_WAVES' AND d.workgroup_size > 0 AND d.grid_size > 0
        AND d.grid_size % d.workgroup_size = 0)
"""
_DOMAINS = ("copies", "api_calls", "markers", "allocations")


@dataclass(frozen=True)
class Seen:
    """What is in the folder of a pass.

    Parameters
    ----------
    files
        Names of the files that the profiler wrote.
    dispatches
        Kernel dispatches.
    domains
        Rows of other tables, by table, without empty ones.
    counters
        Sum of each counter that has values, over all dispatches.
    waiting_kernels
        Kernels that may wait for others, with what shows it.
    problem
        Why the files could not be read, if so.
    odd_waves
        Dispatches whose wave count is not that of their size, and how many there are in all.
    """

    files: tuple[str, ...]
    dispatches: int = 0
    domains: Mapping[str, int] = field(default_factory=dict[str, int])
    counters: Mapping[str, float] = field(default_factory=dict[str, float])
    waiting_kernels: tuple[str, ...] = ()
    problem: str | None = None
    odd_waves: tuple[int, int] = (0, 0)

    def missing(self, asked: Sequence[str]) -> tuple[str, ...]:
        """Name the counters that were asked for and have no values."""
        return tuple(name for name in asked if name.partition(":")[0] not in self.counters)

    @property
    def gated(self) -> bool:
        """Whether waves ran and nothing else was counted: the counters' clock stood still."""
        others = {n: v for n, v in self.counters.items() if n not in ANCHORS}
        telling = len(others) > 1 and any(others.get(name) == 0 for name in RAISED)
        still = not any(value for name, value in others.items() if name not in UNGATED)
        return self.counters.get("SQ_WAVES", 0) > 0 and telling and still


def look(folder: Path) -> Seen:
    """Read what a pass wrote.

    Parameters
    ----------
    folder
        Its folder.

    Returns
    -------
    Seen
        Nothing is raised for what is damaged or missing: that is an answer, too.
    """
    files = written(folder)
    names = tuple(path.name for path in files)
    with _profile_of(folder) as (profile, problem):
        if profile is None:
            return Seen(names, problem=problem)
        return _count(profile, names)


def written(folder: Path) -> list[Path]:
    """List what the profiler wrote into a folder, without its temporary files."""
    found = (p for p in folder.rglob("*") if p.is_file() and p.name not in OWN)
    return sorted(p for p in found if "tmp" not in p.relative_to(folder).parts[:-1])


def kernels_in_region(folder: Path, region: str) -> tuple[str, ...]:
    """Name the kernels that were launched inside a roctx range.

    Parameters
    ----------
    folder
        Folder of a timing run.
    region
        Message of the range.

    Raises
    ------
    UsageError
        If there is no such range; the message lists those that are.
    """
    with _profile_of(folder, region) as (profile, problem):
        if profile is None:
            raise UsageError(f"region {region!r} cannot be looked for: {problem}")
        rows = profile.sql(
            "SELECT DISTINCT k.group_name FROM dispatches d JOIN kernels k USING (kernel_id)"
            " ORDER BY 1"
        )
        return tuple(str(row[0]) for row in rows.iter_rows())


@contextlib.contextmanager
def _profile_of(
    folder: Path, region: str | None = None
) -> Generator[tuple[Profile | None, str | None]]:
    """Read a folder into a profile for a moment; None and the reason where that cannot be done."""
    scratch = Path(tempfile.mkdtemp(prefix=".verify-", dir=folder.parent))
    try:
        try:
            path = ingest([folder], scratch / "pass.rocperf", mode="replace", merge=True)
        except NothingError as error:
            yield None, error.message
            return
        except InputError as error:
            yield None, error.message if written(folder) else None
            return
        with open_profile(path, region=region) as profile:
            yield profile, None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _count(profile: Profile, names: tuple[str, ...]) -> Seen:
    counted = profile.sql("SELECT counter, sum(value)::DOUBLE FROM counter_values GROUP BY counter")
    total, wrong = profile.sql(_WAVES).row(0)
    rows = {name: profile.scalar(f"SELECT count(*) FROM {name}") for name in _DOMAINS}
    return Seen(
        names,
        dispatches=int(str(profile.scalar("SELECT count(*) FROM all_dispatches"))),
        domains={name: int(str(count)) for name, count in rows.items() if count},
        counters={str(name): float(value or 0) for name, value in counted.iter_rows()},
        waiting_kernels=waiting(profile),
        odd_waves=(int(wrong), int(total)),
    )
