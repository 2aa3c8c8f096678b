"""What rocprofv3's databases and JSON files have in common: one file holds one process."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocperf.ingest.source import Sink, SourceFile

# Of the variables that launchers set, those that number the processes of one job.
_RANKS = (
    "OMPI_COMM_WORLD_RANK",
    "PMIX_RANK",
    "PMI_RANK",
    "MV2_COMM_WORLD_RANK",
    "FLUX_TASK_RANK",
    "MPI_RANK",
    "SLURM_PROCID",
    "RANK",
)
_RANK = re.compile(r"(?:^|[_.-])rank[_.-]?(\d+)", re.IGNORECASE)
_RANK_FOLDER = re.compile(r"r(\d+)")
_PID = re.compile(r"(?:^|[_.-])(\d+)(?=$|[_.-])")
_ENDING = re.compile(r"(?:(?:^|_)results)?\.(?:db|sqlite3?|json)$", re.IGNORECASE)

# Tables that a CSV of the same run may have filled already.
_TWICE = (
    "agents",
    "links",
    "code_objects",
    "kfd_events",
    "copies",
    "allocations",
    "scratch_events",
    "api_calls",
    "markers",
    "pc_samples",
    "counter_values",
    "counter_instances",
)


def run_key(path: Path, pid: int | None, part: str = "") -> tuple[str, ...]:
    """Name the run that a file belongs to, as the CSV files beside it name theirs.

    Parameters
    ----------
    path
        The file, such as ``out/4242_results.db``.
    pid
        Process that it is of.
    part
        Tells several processes of one file apart.

    Returns
    -------
    tuple of str
        Folder, process within it, and what the name says of the execution.
    """
    stem = _stem(path)
    tag = _PID.sub("", _RANK.sub("", stem))
    return (str(path.parent), f"{stem}:{'' if pid is None else pid}{part}", tag)


def _stem(path: Path) -> str:
    return _ENDING.sub("", path.name.removesuffix(".gz"))


def rank_of(path: Path, environment: Mapping[str, str]) -> int | None:
    """Find the rank of a process: its launcher's variable, else the name of file or folder.

    Parameters
    ----------
    path
        The file.
    environment
        Variables of the process; empty where the file holds none.
    """
    for name in _RANKS:
        text = environment.get(name, "")
        if text.isascii() and text.isdecimal():
            return int(text)
    return rank_in(_stem(path), path.parent)


def rank_in(stem: str, folder: Path) -> int | None:
    """Find a rank in the name of a file, else in that of its folder.

    Parameters
    ----------
    stem
        What the file is named, without what it holds.
    folder
        Its folder, such as ``rank3`` or ``r3``.
    """
    found = _RANK.search(stem) or _RANK.search(folder.name) or _RANK_FOLDER.fullmatch(folder.name)
    return int(found.group(1)) if found else None


def replace_twice_recorded(sink: Sink, source: SourceFile, run_id: int, file_id: int) -> None:
    """Of a run that CSV files hold, too, keep each table from this file, which knows more.

    Parameters
    ----------
    sink
        Holds the rows of both.
    source
        The file that was just read.
    run_id, file_id
        Its numbers.
    """
    from rocperf.ingest.sink import INCOMING

    replaced: list[str] = []
    for table in (INCOMING, *_TWICE):
        within = f"run_id = {run_id} AND file_id"
        ((mine, others),) = sink.connection.execute(
            f"SELECT count(*) FILTER (file_id = {file_id}), count(*) FILTER (file_id <> {file_id})"
            f" FROM {table} WHERE {within} IS NOT NULL"
        ).fetchall()
        if mine and others:
            sink.connection.execute(f"DELETE FROM {table} WHERE {within} <> {file_id}")
            replaced.append("dispatches" if table == INCOMING else table)
    if replaced:
        sink.note(
            "info",
            "recorded-twice",
            f"{source.path.name}: other files of the same run hold its {', '.join(replaced)}, too;"
            " they are taken from this one",
            file_id=file_id,
        )
