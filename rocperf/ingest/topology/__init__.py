"""Agents and links of a machine: the driver's topology in sysfs, or what rocm-smi prints of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rocperf.ingest.source import RunInfo, SourceFile
from rocperf.ingest.topology.showtopo import LINK_TYPES, read_showtopo
from rocperf.ingest.topology.sysfs import read_sysfs

if TYPE_CHECKING:
    import polars as pl

    from rocperf.ingest.source import Sink

__all__ = ["FORMAT", "read", "read_showtopo", "read_sysfs", "recognise"]

FORMAT = "topology"


def recognise(path: Path, head: bytes) -> SourceFile | None:
    """Say which part of a topology this is.

    Parameters
    ----------
    path
        The file.
    head
        Its first bytes.

    Returns
    -------
    SourceFile or None
        A node's properties, a link's, or the text of ``rocm-smi --showtopo``; None otherwise.
    """
    text = head.decode("utf-8", "replace")
    kind = None
    if LINK_TYPES in text:
        kind = "showtopo"
    elif path.name == "properties":
        lines = {line.partition(" ")[0] for line in text.splitlines()}
        if {"simd_count", "cpu_cores_count"} <= lines:
            kind = "node"
        elif {"node_from", "node_to"} <= lines:
            kind = "link"
    return SourceFile(path, FORMAT, kind, None, path.stat().st_size) if kind else None


def read(sources: list[SourceFile], sink: Sink) -> None:
    """Read topologies into a sink, each as a run without events.

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
    roots: dict[Path, list[SourceFile]] = {}
    for source in sources:
        if source.kind == "showtopo":
            _store(source.path.parent, [source], read_showtopo(source.path), sink)
        else:
            roots.setdefault(_root_of(source.path), []).append(source)
    for root, files in roots.items():
        _store(root, files, read_sysfs(root), sink)


def _store(
    root: Path,
    sources: Sequence[SourceFile],
    frames: tuple[pl.DataFrame, pl.DataFrame],
    sink: Sink,
) -> None:
    run_id = sink.run(RunInfo(key=(str(root), "topology", ""), tool="topology"))
    file_ids = [sink.file(source, run_id) for source in sources]
    for table, frame in zip(("agents", "links"), frames, strict=True):
        if not frame.is_empty():
            # One file says it all only for the text; the tree is many.
            file_id = file_ids[0] if len(file_ids) == 1 else None
            sink.append(table, frame, run_id=run_id, file_id=file_id)


def _root_of(path: Path) -> Path:
    parents = [parent for parent in path.parents if parent.name == "nodes"]
    return parents[0].parent if parents else path.parent
