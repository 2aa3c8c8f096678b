"""JSON of rocprofv3: one document a process, plain or gzipped.

The document is walked once, one record in memory at a time; records go on by batches of columns.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rocperf.errors import InputError
from rocperf.ingest.source import SourceFile

if TYPE_CHECKING:
    from rocperf.ingest.source import Sink

FORMAT = "rocprofv3-json"

_MARK = b'"rocprofiler-sdk-tool"'
# The mark is the first key of the document.
_NEAR = 256
_GZIP = b"\x1f\x8b"


def recognise(path: Path, head: bytes) -> SourceFile | None:
    """Say whether a file is JSON of rocprofv3, by its first key.

    Parameters
    ----------
    path
        The file.
    head
        Its first bytes, unpacked.

    Returns
    -------
    SourceFile or None
        None when it is none. A file with the right name that is no JSON is claimed, so that it
        can be refused by name.
    """
    size = path.stat().st_size
    name = path.name.removesuffix(".gz")
    if _MARK in head[:_NEAR]:
        kind = "config" if name.endswith("_config.json") else None
        return SourceFile(path, FORMAT, kind, None, size)
    start = head.lstrip()[:1]
    if name.endswith("results.json") and start not in (b"{", b"[", b""):
        # A gzip file whose head could not be unpacked is cut; reading it says where.
        kind = None if head.startswith(_GZIP) else "damaged"
        return SourceFile(path, FORMAT, kind, None, size)
    return None


def read(sources: list[SourceFile], sink: Sink) -> None:
    """Read documents into a sink.

    Parameters
    ----------
    sources
        Files that `recognise` gave.
    sink
        Takes runs, files and rows. When it salvages, the complete records of a file that breaks
        off are kept, and its run is marked incomplete.

    Raises
    ------
    InputError
        If a document is damaged or breaks off; the byte is named.
    """
    from rocperf.ingest.rocprofv3_json.process import read_document

    for source in sources:
        if source.kind == "config":
            sink.ignore(source, f"{source.path.name}: the profiler's settings, not a recording")
        elif source.kind == "damaged":
            raise InputError(
                f"{source.path}: not a rocprofv3 results file (starts with {_start(source.path)})",
                hint="was the writer interrupted? record it again",
            )
        else:
            read_document(source, sink, salvage=sink.salvage)


def _start(path: Path) -> str:
    with path.open("rb") as file:
        return repr(file.read(64).lstrip()[:1].decode("utf-8", "replace"))
