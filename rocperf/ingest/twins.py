"""Files that are the same, byte for byte: they are read once."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocperf.ingest.discover import Workload
    from rocperf.ingest.sink import StoreSink
    from rocperf.ingest.source import SourceFile

#: Kinds without events of their own: those of two runs may well be equal.
HARMLESS = frozenset({"agent_info", "sysinfo", "stats", "empty", "node", "link"})

_CHUNK = 1 << 20


def twins_among(sources: Sequence[SourceFile], *, everything: bool) -> set[Path]:
    """Name the files that may be the same as another, by their sizes; or all of them."""
    by_size: dict[int, set[Path]] = {}
    for source in sources:
        by_size.setdefault(source.size, set()).add(source.path)
    groups = by_size.values()
    return {path for group in groups if everything or len(group) > 1 for path in group}


def sha256_of(path: Path) -> str:
    """Take a file's checksum, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as handle:
        while chunk := handle.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def without_twins(
    workload: Workload, checksums: dict[Path, str], known: set[str], sink: StoreSink
) -> list[SourceFile]:
    """Leave out files that were read before; agents and empty files may well be equal."""
    fresh: list[SourceFile] = []
    for source in workload.sources:
        checksum = checksums.get(source.path)
        if checksum in known and source.kind not in HARMLESS:
            sink.ignore(source, f"{source.path.name}: the same file was read already")
            continue
        if checksum is not None:
            known.add(checksum)
        fresh.append(source)
    return fresh
