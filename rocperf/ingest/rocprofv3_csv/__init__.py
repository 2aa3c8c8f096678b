"""CSV of rocprofv3, in every generation of its headers.

DuckDB parses the files with explicit types; only records that it rejects, such as names with
quotes inside, which rocprofv3 does not escape, are looked at again in Python.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rocperf.ingest.rocprofv3_csv.headers import generation, header_of, kind_of, name_parts
from rocperf.ingest.source import SourceFile

if TYPE_CHECKING:
    from rocperf.ingest.source import Sink

FORMAT = "rocprofv3-csv"

_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def recognise(path: Path, head: bytes) -> SourceFile | None:
    """Say which file of rocprofv3 this is, by its header.

    Parameters
    ----------
    path
        The file.
    head
        Its first bytes.

    Returns
    -------
    SourceFile or None
        None when it is none. An empty file, or one in UTF-16, is known by its name only.
    """
    named = name_parts(path)[1]
    if named is not None and (not head.strip() or head.startswith(_UTF16)):
        kind: str | None = "utf16" if head.strip() else "empty"
        version = None
    else:
        header = header_of(head)
        kind, version = kind_of(header, head), generation(header)
    return SourceFile(path, FORMAT, kind, version, path.stat().st_size) if kind else None


def read(sources: list[SourceFile], sink: Sink) -> None:
    """Read files into a sink; one that is damaged is refused by name, and the others go in.

    Parameters
    ----------
    sources
        Files that `recognise` gave.
    sink
        Takes runs, files and rows.
    """
    from rocperf.ingest.rocprofv3_csv.folders import read_folders

    read_folders(sources, sink)
