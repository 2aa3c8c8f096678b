"""A profile: one recorded workload, opened for questions."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import duckdb
import polars as pl

from rocperf.errors import InputError, NothingError
from rocperf.hardware import Gpu
from rocperf.model import Requires
from rocperf.profile import by_hand, lacking
from rocperf.profile.answers import Answers
from rocperf.profile.connecting import connect, is_profile
from rocperf.profile.interruptible import rows_of
from rocperf.profile.region import restrict
from rocperf.schema import SCHEMA_VERSION

#: First to last recorded event of each process, API calls included; of several the longest.
#: Clocks of different processes are never mixed.
_WALL = """
SELECT max(end_ns - start_ns) FROM runs
WHERE role = 'timing' AND start_ns IS NOT NULL AND end_ns IS NOT NULL
"""


def open_profile(path: str | Path, *, region: str | None = None) -> Profile:
    """Open a profile for reading.

    Parameters
    ----------
    path
        A ``.rocperf`` file.
    region
        Message of a roctx range: only what was launched inside such ranges is seen.

    Raises
    ------
    InputError
        If it is missing, not a profile, or written by a newer rocperf.
    BusyError
        If another program holds it for writing.
    UsageError
        If there is no range of that message.

    Examples
    --------
    >>> with rocperf.open("app.rocperf") as profile:  # doctest: +SKIP
    ...     profile.sql("SELECT short_name FROM kernels")
    """
    path = Path(path)
    if not path.exists():
        raise InputError(f"there is no file {path}", hint="rocperf collect or ingest makes one")
    try:
        known = is_profile(path)
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror}", hint="check its permissions"
        ) from error
    if not known:
        raise InputError(
            f"{path}: not a DuckDB file, so not a profile", hint="rocperf ingest reads raw output"
        )
    connection = connect(path)
    profile = Profile(connection, path)
    try:
        profile.check_version()
        if region is not None:
            restrict(connection, region)
            profile.region = region
    except BaseException:
        profile.close()
        raise
    return profile


class Profile:
    """A read-only view of one profile; a context manager.

    Parameters
    ----------
    connection
        Connection to a database with the tables of `rocperf.schema`.
    path
        Its file; None when it is in memory.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, path: Path | None = None) -> None:
        self._connection = connection
        self._answers = Answers(connection, self.gpu_of)
        self.path = path
        self.region: str | None = None

    def sql(self, query: str, params: Mapping[str, object] | None = None) -> pl.DataFrame:
        """Run one query and return its rows.

        Parameters
        ----------
        query
            SQL; parameters are written ``$name``.
        params
            Their values.

        Returns
        -------
        polars.DataFrame
            Shape (rows, columns of the query).

        Raises
        ------
        InputError
            If DuckDB refuses the query.
        """
        try:
            relation = self._connection.sql(query, params=dict(params) if params else None)
            if relation is None:  # pyright: ignore[reportUnnecessaryComparison]
                return pl.DataFrame()
            return rows_of(self._connection, relation)
        except duckdb.Error as error:
            first, *rest = str(error).splitlines() or ["no message"]
            raise InputError(
                f"the query failed: {first}",
                hint="rocperf query FILE --schema lists tables and columns",
                details=tuple(line for line in rest if line.strip()),
            ) from error

    def scalar(self, query: str, params: Mapping[str, object] | None = None) -> Any:
        """Run a query of one value; None when it has no row."""
        rows = self.sql(query, params)
        return rows.item(0, 0) if rows.height else None

    def metrics(
        self,
        ids: Sequence[str],
        *,
        per: Literal["kernel", "dispatch"] = "kernel",
        kernels: Sequence[int] | None = None,
        spread: bool = False,
    ) -> pl.DataFrame:
        """Evaluate metrics for every kernel or dispatch that has counters.

        Parameters
        ----------
        ids
            Metric ids of the catalogue.
        per
            ``kernel`` for ratios of sums, ``dispatch`` for single launches.
        kernels
            Ids of kernels to look at; None for all.
        spread
            Also say how far single dispatches of a kernel lie apart: columns ``min``, ``mean``,
            ``max`` and ``stdev`` of those that have a value, and ``dispatches``, their number.

        Returns
        -------
        polars.DataFrame
            One row per kernel (or launch) and metric, columns as in
            `rocperf.metrics.evaluate.SCHEMA`: among them ``kernel_id``, ``target``, ``metric``,
            ``value`` (null unless ``state`` is ``value``), ``state``, ``reason``,
            ``confidence`` and ``n``, the dispatches that it covers.

        Raises
        ------
        MetricError
            If an id is unknown.
        """
        return self._answers.ask(ids, per=per, kernels=kernels, spread_too=spread)

    def ask_together(self, ids: Iterable[str]) -> None:
        """Evaluate these metrics at once when the first of them is asked for.

        Parameters
        ----------
        ids
            Metric ids; what the catalogue does not know is left for who asks for it.
        """
        self._answers.together(ids)

    @cached_property
    def id(self) -> str:
        """Identity of this generation of the profile."""
        return str(self.scalar("SELECT value FROM meta WHERE key = 'profile_id'") or "")

    @property
    def runs(self) -> pl.DataFrame:
        """Runs, one row each."""
        return self.sql("SELECT * FROM runs ORDER BY run_id")

    @property
    def notes(self) -> pl.DataFrame:
        """What was odd, one row each."""
        return self.sql("SELECT * FROM notes")

    @cached_property
    def serialised(self) -> bool:
        """Whether some times come from counter runs, which run one kernel at a time."""
        return bool(self.scalar("SELECT coalesce(bool_or(serialised), false) FROM dispatches"))

    @cached_property
    def wall_ns(self) -> int | None:
        """Wall time of the longest process, nanoseconds; None without a timing run."""
        value = self.scalar(_WALL)
        return int(value) if value is not None and value > 0 else None

    @cached_property
    def kernel_ns(self) -> int | None:
        """Sum of kernel durations in `dispatches`, nanoseconds; None when none is known."""
        value = self.scalar(
            "SELECT sum(end_ns - start_ns)::BIGINT FROM dispatches WHERE end_ns >= start_ns"
        )
        return int(value) if value is not None else None

    @cached_property
    def _agents(self) -> dict[tuple[int, int], Gpu]:
        rows = self.sql("SELECT * FROM agents WHERE kind = 'GPU'").to_dicts()
        return {(row["run_id"], row["agent_id"]): Gpu.from_agent(row) for row in rows}

    @property
    def agents(self) -> tuple[Gpu, ...]:
        """Every GPU that a run describes, whether it did work or not."""
        return tuple(self._agents.values())

    @cached_property
    def gpus(self) -> tuple[Gpu, ...]:
        """GPUs that did work, each once, the busiest first."""
        used = self.sql(
            "SELECT run_id, agent_id, count(*) AS n FROM dispatches GROUP BY ALL ORDER BY n DESC,"
            " run_id, agent_id"
        )
        found = [self._agents.get((run, agent)) for run, agent, _ in used.iter_rows()]
        return tuple(dict.fromkeys(gpu for gpu in found if gpu is not None))

    def gpu_of(self, run_id: int, agent_id: int | None) -> Gpu | None:
        """Return the GPU of a run's agent; None when the run does not describe it."""
        return None if agent_id is None else self._agents.get((run_id, agent_id))

    def missing(self, requires: Requires) -> tuple[str, ...]:
        """Name what the profile lacks, one phrase each; empty when it has everything."""
        return lacking.missing(self, requires)

    def command_for(self, analysis: str, requires: Requires | None = None) -> str | None:
        """Return the command that would collect what an analysis needs; None when none would.

        Parameters
        ----------
        analysis
            Its id.
        requires
            What it needs. Where a pass that did not come to its end was to bring that, and what
            the passes wrote is there still, they are gone on with. What collect never records
            is recorded by a command of the profiler.
        """
        if requires and (theirs := by_hand.command(self, requires)):
            return theirs
        raw = self.path.with_name(self.path.name + ".raw") if self.path is not None else None
        if requires and lacking.out_of_reach(self, requires):
            return None
        if requires and raw and raw.is_dir() and lacking.asked_in_vain(self, requires):
            allow = " --allow-serialised" if lacking.held_back(self) else ""
            return f"rocperf collect --resume {shlex.quote(str(self.path))}{allow}"
        command = self.scalar("SELECT any_value(command ORDER BY run_id) FROM runs")
        return f"rocperf collect --for {shlex.quote(analysis)} -- {command or './app'}"

    def check_version(self) -> None:
        """Raise `InputError` when the tables are missing or newer than this rocperf reads."""
        try:
            found = self._connection.execute(
                "SELECT key, value FROM meta WHERE key IN ('schema_version', 'rocperf_version')"
            ).fetchall()
            facts = dict(found)
            version = int(facts["schema_version"])
        except (duckdb.Error, KeyError, ValueError) as error:
            raise InputError(
                f"{self.path} is a DuckDB file but not a profile", hint="rocperf ingest makes one"
            ) from error
        if version > SCHEMA_VERSION:
            raise InputError(
                f"{self.path}: schema {version} (rocperf {facts.get('rocperf_version')}) is newer"
                f" than {SCHEMA_VERSION}: upgrade rocperf",
                hint=f"rocperf {facts.get('rocperf_version')} reads it",
            )

    def require_rows(self) -> None:
        """Raise `NothingError` when the profile holds no event at all."""
        tables = ("all_dispatches", "copies", "api_calls", "markers", "pc_samples", "allocations")
        union = " UNION ALL ".join(f"(SELECT 1 FROM {name} LIMIT 1)" for name in tables)
        if not self.scalar(f"SELECT count(*) FROM ({union})"):
            raise NothingError(
                f"{self.path}: nothing to analyse: no dispatch, copy or call was recorded",
                hint="its notes say what was read: rocperf query FILE 'SELECT * FROM notes'",
            )

    def interrupt(self) -> None:
        """Break off the question that another thread asks now, if there is one."""
        self._connection.interrupt()

    def close(self) -> None:
        """Close the connection; the profile answers no more."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
