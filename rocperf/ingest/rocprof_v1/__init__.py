"""Output of the first two generations of rocprof: CSV of kernels, SQLite, Chrome traces.

Derived columns such as ``VALUInsts`` are values of a wave; they keep their own names, so that
nobody takes them for totals such as ``SQ_INSTS_VALU``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rocperf.ingest.compute_workload import header_of
from rocperf.ingest.compute_workload.columns import understand
from rocperf.ingest.source import SourceFile

if TYPE_CHECKING:
    from rocperf.ingest.source import Sink

FORMAT = "rocprof"

# rocprofv3 has further columns.
_STATS = ("Name", "Calls", "TotalDurationNs", "AverageNs", "Percentage")
_SYSINFO = "sysinfo.csv"
# Other programs write Chrome traces, too; these arguments are rocprof's.
_TRACE_MARKS = (b'"traceEvents"', b'"BeginNs"', b'"EndNs"')


def recognise(path: Path, head: bytes) -> SourceFile | None:
    """Say which file of rocprof this is.

    Parameters
    ----------
    path
        The file.
    head
        Its first bytes.

    Returns
    -------
    SourceFile or None
        None when it is none.
    """
    kind, version = _kind(path, head)
    return SourceFile(path, FORMAT, kind, version, path.stat().st_size) if kind else None


def _kind(path: Path, head: bytes) -> tuple[str | None, str | None]:
    if head.startswith(b"SQLite format 3\0"):
        known = b"CREATE TABLE OPS" in head and b'"BeginNs"' in head
        return ("database" if known else None), "1"
    if all(mark in head for mark in _TRACE_MARKS):
        return "chrome_trace", "1"
    header = header_of(head)
    if header == _STATS:
        return "stats", "1"
    names = set(header)
    first = {"KernelName", "gpu-id", "grd"} <= names
    second = {"Kernel_Name", "GPU_ID", "GRD"} <= names
    if (not first and not second) or (first and (path.parent / _SYSINFO).is_file()):
        return None, None
    return ("counters" if understand(header).counters else "timestamps"), "1" if first else "2"


def read(sources: list[SourceFile], sink: Sink) -> None:
    """Read files of rocprof into a sink.

    Chrome traces and stats files repeat what the database holds; beside one they are left
    aside, and a trace without one is read itself.

    Parameters
    ----------
    sources
        Files that `recognise` gave.
    sink
        Takes runs, files and rows.

    Raises
    ------
    InputError
        A file is damaged.
    """
    from rocperf.ingest.compute_workload.sysinfo import SystemInfo
    from rocperf.ingest.compute_workload.workload import Workload
    from rocperf.ingest.rocprof_v1.chrome_trace import read_chrome_trace
    from rocperf.ingest.rocprof_v1.database import read_database

    databases = {_stem(source) for source in sources if source.kind == "database"}
    for source in sources:
        if source.kind == "database":
            read_database(source, _stem(source), sink)
        elif source.kind == "stats":
            sink.ignore(source, f"{source.path.name}: sums are computed anew")
        elif source.kind == "chrome_trace":
            if _stem(source) in databases:
                sink.ignore(source, f"{source.path.name}: the database holds the same")
            else:
                read_chrome_trace(source, _stem(source), sink)
        elif source.kind == "timestamps" and _stem(source) in databases:
            sink.ignore(source, f"{source.path.name}: the database holds the same")
        else:
            # Named after the file: several of a folder are several runs of the program.
            info = SystemInfo(tool="rocprof", tool_version=source.version)
            Workload(_stem(source), [source], sink, info).read()
            _say_generation(source, sink)


def _stem(source: SourceFile) -> Path:
    return source.path.with_suffix("")


def _say_generation(source: SourceFile, sink: Sink) -> None:
    text = f"{source.path.name}: written by rocprof v{source.version}"
    if source.kind == "counters":
        text += "; derived columns such as VALUInsts are per wave and keep their own names"
    sink.note("info", "rocprof-v1", text)
