"""Gzipped tables, unpacked into a temporary file of bounded size before they are read."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rocperf.errors import InputError

if TYPE_CHECKING:
    from rocperf.ingest.source import SourceFile

#: Formats whose readers want plain text; the others unpack as they read.
_TABLES = frozenset({"rocprofv3-csv", "compute-workload", "rocprof"})
_GZIP = b"\x1f\x8b"
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Unpacked:
    """What came of a packed file.

    Parameters
    ----------
    source
        The file, with the place of its text; as it was when it is not packed.
    broken
        What is wrong with a file of which only a part was kept; None when it is whole.
    """

    source: SourceFile
    broken: str | None = None


def unpack(source: SourceFile, folder: Path, limit: int, *, salvage: bool) -> Unpacked:
    """Unpack a table.

    Parameters
    ----------
    source
        The file; gzip of several members is one text.
    folder
        Where to; made when it is needed.
    limit
        Bytes that the text may have.
    salvage
        Whether to keep what can be unpacked of a file that breaks off.

    Raises
    ------
    InputError
        If the text is longer, or the file breaks off or is damaged.
    """
    if source.format not in _TABLES or not _is_packed(source.path):
        return Unpacked(source)
    folder.mkdir(exist_ok=True)
    place = folder / f"{len(list(folder.iterdir()))}.csv"
    done, broken = 0, None
    with place.open("wb") as text, gzip.open(source.path) as packed:
        try:
            while chunk := packed.read1(_CHUNK):
                done += len(chunk)
                if done > limit:
                    raise InputError(
                        f"{source.path.name}: unpacks to more than {size_text(limit)}",
                        hint="--max-unpacked SIZE allows more",
                    )
                text.write(chunk)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            broken = (
                f"{source.path.name}: the compressed file breaks off after {done:,} bytes of text:"
                f" {error}"
            )
    if broken is not None and not salvage:
        raise InputError(broken, hint="compress or copy it again, or keep its part with --salvage")
    return Unpacked(replace(source, unpacked=place), broken)


def _is_packed(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_GZIP)) == _GZIP


def size_text(limit: int) -> str:
    """Write a number of bytes for people."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if limit >= factor:
            return f"{limit / factor:,.4g} {unit}"
    return f"{limit} bytes"
