"""CSV of rocprofv3, in every generation of its headers.

DuckDB parses the files with explicit types; only records that it rejects, such as names with
quotes inside, which rocprofv3 does not escape, are looked at again in Python.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rocperf.ingest.rocprofv3_csv.headers import TYPES, generation, header_of, kind_of, name_parts
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


def is_named_like_output(path: Path) -> bool:
    """Say whether a file is named as rocprofv3 names its CSV files."""
    return name_parts(path)[1] is not None


def claim(path: Path, head: bytes) -> SourceFile | None:
    """Claim a file that is named like one of rocprofv3's and that no reader knows.

    It is refused when it is read, so that nobody thinks it was.

    Parameters
    ----------
    path
        The file.
    head
        Its first bytes.
    """
    if not is_named_like_output(path) or not head.strip():
        return None
    return SourceFile(path, FORMAT, f"odd: {_oddity(head)}", None, path.stat().st_size)


def _oddity(head: bytes) -> str:
    """Say what is wrong with the beginning of a file."""
    if not head.strip(b"\0"):
        return f"begins with {len(head):,} NUL bytes"
    if head[:256].count(b"\0") > len(head[:256]) // 4:
        return "is not UTF-8 text; was it saved as UTF-16? Save it as UTF-8 CSV again"
    header = header_of(head)
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        return f"line 1: column {twice} occurs twice"
    usual = {name.lower(): name for name in TYPES}
    if any(name not in TYPES and name.lower() in usual for name in header):
        return "line 1: its columns are written in another case than rocprofv3 writes them"
    return f"line 1: its {len(header):,} columns are not those of such a file"


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
