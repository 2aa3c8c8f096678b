"""Folders of rocprofiler-compute and omniperf, in all their generations.

A workload is a folder with ``pmc_perf.csv``: counters of several passes, joined side by side
(one row a dispatch) or stacked (one row a dispatch and counter). Each pass becomes a run of its
own, so that nothing is taken for measured together that was not.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rocperf.ingest.compute_workload.columns import understand
from rocperf.ingest.source import SourceFile

if TYPE_CHECKING:
    from rocperf.ingest.source import Sink

FORMAT = "compute-workload"

# Headers of files that only repeat, shortened, what the counter tables hold.
_DERIVED = {
    "kernel_top": ("Kernel_Name", "Count"),
    "dispatch_info": ("Dispatch_ID", "Kernel_Name", "GPU_ID"),
    "roofline": ("device", "HBMBw"),
}
_SYSINFO = "sysinfo.csv"


def recognise(path: Path, head: bytes) -> SourceFile | None:
    """Say which file of a workload this is, by its header.

    Parameters
    ----------
    path
        The file.
    head
        Its first bytes.

    Returns
    -------
    SourceFile or None
        None when it is none. ``rocprof`` tables have the columns of omniperf 1: they are
        taken for a workload's only when a ``sysinfo.csv`` lies beside.
    """
    kind, version = _kind(path, header_of(head))
    if kind is None:
        return None
    return SourceFile(path, FORMAT, kind, version, path.stat().st_size)


def header_of(head: bytes) -> tuple[str, ...]:
    """Split the first line of a file into names.

    Parameters
    ----------
    head
        Its first bytes.
    """
    line = head.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0]
    names = line.decode("utf-8", "replace").strip().split(",")
    return tuple(name.strip().strip('"') for name in names)


def _kind(path: Path, header: Sequence[str]) -> tuple[str | None, str | None]:
    names = set(header)
    if "workload_name" in names and names & {"gpu_arch", "gpu_soc"}:
        return "sysinfo", "1" if "gpu_soc" in names else None
    if {"Counter_Name", "Counter_Value", "GPU_ID", "Dispatch_ID"} <= names:
        return "counters_long", "3"
    for kind, start in _DERIVED.items():
        if tuple(header[: len(start)]) == start and (len(header) == 3 or kind != "dispatch_info"):
            return kind, None
    if {"Dispatch_ID", "Kernel_Name", "GPU_ID", "Grid_Size"} <= names:
        return _table_kind(header), "2"
    if {"KernelName", "gpu-id", "grd"} <= names and (path.parent / _SYSINFO).is_file():
        return _table_kind(header), "1"
    return None, None


def _table_kind(header: Sequence[str]) -> str:
    """Tell the joined table, a further counter run and the run for times apart."""
    if not understand(header).counters:
        return "timestamps"
    return "level" if "SQ_ACCUM_PREV_HIRES" in header and _has_own_ids(header) else "counters"


def _has_own_ids(header: Sequence[str]) -> bool:
    # The join drops process and queue; a single run keeps them.
    return bool({"PID", "pid"} & set(header))


def read(sources: list[SourceFile], sink: Sink) -> None:
    """Read the files of one or more workloads into a sink.

    Parameters
    ----------
    sources
        Files that `recognise` gave.
    sink
        Takes runs, files and rows.

    Raises
    ------
    InputError
        A table lacks a column without which it means nothing.
    """
    from rocperf.ingest.compute_workload.workload import Workload

    folders: dict[Path, list[SourceFile]] = {}
    for source in sources:
        folders.setdefault(source.path.parent, []).append(source)
    with sink.gathering():
        for folder, files in folders.items():
            Workload(folder, files, sink).read()
