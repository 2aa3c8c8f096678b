"""A path to the files that can be read, grouped into workloads.

Every file is offered to the readers, which decide by content. A workload is one program, run
once or more: the files of one folder and of the folders of its passes.
"""

from __future__ import annotations

import gzip
import importlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

from rocperf.errors import InputError
from rocperf.ingest.source import Reader, SourceFile

#: Modules that read one format each, in the order in which they are asked.
READERS = (
    "rocprofv3_csv",
    "rocpd",
    "rocprofv3_json",
    "compute_workload",
    "rocprof_v1",
    "topology",
)

#: What a reader sees of a file when it decides. A choice of ours.
HEAD_BYTES = 64 * 1024

#: Files looked at below one folder. A choice of ours, against a mistyped ``/``.
MOST_FILES = 100_000

# Folders with such names are passes of the program that their parent is named after.
_PASS_FOLDER = re.compile(
    r"(?:(?:timing|trace|counters?|pmc|pass|run|rank|node|host)[-_.]?)*\d*|r\d+", re.IGNORECASE
)
_MANIFESTS = ("manifest.toml", "manifest.json")
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Workload:
    """Files of one program.

    Parameters
    ----------
    name
        For people: the name of its folder or file.
    root
        The folder or file.
    sources
        Its files, in order of path.
    """

    name: str
    root: Path
    sources: tuple[SourceFile, ...]


@cache
def readers() -> dict[str, Reader]:
    """Import the readers, by format."""
    found: dict[str, Reader] = {}
    for name in READERS:
        module = f"rocperf.ingest.{name}"
        try:
            reader = cast("Reader", importlib.import_module(module))
        except ModuleNotFoundError as error:
            # Only the reader itself may be absent; what it imports may not.
            if error.name != module:
                raise
            continue
        found[reader.FORMAT] = reader
    return found


def discover(paths: Sequence[Path]) -> list[Workload]:
    """Find what can be read.

    Parameters
    ----------
    paths
        Files and folders; folders are searched.

    Returns
    -------
    list of Workload
        One for all given files together, one or more for each given folder.

    Raises
    ------
    InputError
        If a path is missing, or a file or a whole folder holds nothing that is known.
    """
    workloads: list[Workload] = []
    files: list[SourceFile] = []
    for path in paths:
        if path.is_dir():
            found = _workloads(path)
            if not found:
                raise InputError(
                    f"{path}: nothing in this folder is profiler output that rocperf reads",
                    hint=_HINT,
                )
            workloads += found
        else:
            files.append(_given(path))
    if files:
        first = files[0].path
        workloads.insert(0, Workload(first.name, first, tuple(files)))
    return workloads


_HINT = (
    "give output of rocprofv3 (CSV, JSON, rocpd), rocprofiler-compute, omniperf or rocprof,"
    " or make some: rocperf collect ./app"
)


def _given(path: Path) -> SourceFile:
    if not path.exists():
        raise InputError(f"{path}: no such file or folder", hint="check the path")
    if not path.is_file():
        raise InputError(f"{path} is neither a file nor a folder", hint="give a regular file")
    source = recognise(path)
    if source is None:
        raise InputError(f"{path}: not profiler output that rocperf reads", hint=_HINT)
    return source


def recognise(path: Path) -> SourceFile | None:
    """Ask the readers whose file it is; None when it is nobody's.

    Parameters
    ----------
    path
        A regular file.

    Raises
    ------
    InputError
        If it cannot be opened.
    """
    try:
        head = head_of(path)
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror}", hint="check its permissions"
        ) from error
    for reader in readers().values():
        source = reader.recognise(path, head)
        if source is not None:
            return source
    return None


def head_of(path: Path) -> bytes:
    """Read the first bytes of a file, decompressed where it is gzipped."""
    with path.open("rb") as handle:
        head = handle.read(HEAD_BYTES)
    if head.startswith(_GZIP):
        try:
            with gzip.open(path) as packed:
                return packed.read(HEAD_BYTES)
        except (OSError, EOFError):
            return head
    return head


def _workloads(root: Path) -> list[Workload]:
    sources = [s for s in map(recognise, _files(root)) if s is not None]
    bounds = _boundaries(root, sources)
    groups: dict[Path, list[SourceFile]] = {}
    for source in sources:
        groups.setdefault(_root_of(source, root, bounds), []).append(source)
    return [
        Workload(folder.resolve().name, folder, tuple(_without_raw(folder, files)))
        for folder, files in sorted(groups.items())
    ]


def _files(root: Path) -> Iterator[Path]:
    """Walk a folder in order; links to folders are not followed, hidden ones not entered."""
    pending, seen = [root], 0
    while pending:
        folder = pending.pop()
        try:
            entries = sorted(folder.iterdir())
        except OSError as error:
            raise InputError(
                f"{folder} cannot be read: {error.strerror}", hint="check its permissions"
            ) from error
        # The last folder of the list is walked first.
        pending += [e for e in reversed(entries) if _is_walked(e)]
        for entry in entries:
            if entry.name.startswith(".") or entry.is_dir():
                continue
            if entry.is_file():
                seen += 1
                if seen > MOST_FILES:
                    raise InputError(
                        f"{root} holds more than {MOST_FILES:,} files",
                        hint="name the folder of the profiler output",
                    )
                yield entry


def _is_walked(entry: Path) -> bool:
    return not entry.name.startswith(".") and entry.is_dir() and not entry.is_symlink()


def _boundaries(root: Path, sources: Sequence[SourceFile]) -> set[Path]:
    """Find folders that are a workload by themselves."""
    bounds = {root}
    for source in sources:
        if source.format == "compute-workload":
            bounds.add(source.path.parent)
        for folder in source.path.parents:
            if folder == root or not folder.is_relative_to(root):
                break
            if any((folder / name).is_file() for name in _MANIFESTS):
                bounds.add(folder)
    return bounds


def _root_of(source: SourceFile, root: Path, bounds: set[Path]) -> Path:
    """Climb from a file through folders of passes to the folder named after the program."""
    folder = source.path.parent
    nearest = next((each for each in (folder, *folder.parents) if each in bounds), root)
    if nearest != root or source.format == "topology":
        return nearest
    while folder != root and _is_pass(folder):
        folder = folder.parent
    return folder


def _is_pass(folder: Path) -> bool:
    if _PASS_FOLDER.fullmatch(folder.name):
        return True
    # rocprofv3 by itself writes <host>/<process id>_<kind>.csv
    return any(re.match(r"\d+_", entry.name) for entry in folder.iterdir())


def _without_raw(root: Path, files: Sequence[SourceFile]) -> list[SourceFile]:
    """Leave out what a workload's own tables were made from."""
    if any(each.format == "compute-workload" and each.path.parent == root for each in files):
        return [each for each in files if each.format == "compute-workload"]
    return list(files)
