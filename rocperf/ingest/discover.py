"""A path to the files that can be read, grouped into workloads.

Every file is offered to the readers, which decide by content. A workload is one program, run
once or more: the files of one folder and of the folders of its passes.
"""

from __future__ import annotations

import contextlib
import importlib
import re
import stat
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

from rocperf.errors import InputError
from rocperf.ingest.rocprofv3_csv import claim, is_named_like_output
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

#: Folders with such names are passes of the program that their parent is named after.
PASS_FOLDER = re.compile(
    r"(?:(?:timing|trace|counters?|pmc|pass|run|rank|node|host)[-_.]?)*\d*|(?-i:r\d+)",
    re.IGNORECASE,
)
_MANIFESTS = ("manifest.toml", "manifest.json")
OnSkip = Callable[[str], None]

_GZIP = b"\x1f\x8b"
_GZIP_ONLY = 16 + zlib.MAX_WBITS


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


def discover(paths: Sequence[Path], on_skip: OnSkip = lambda _: None) -> list[Workload]:
    """Find what can be read.

    Parameters
    ----------
    paths
        Files and folders; folders are searched.
    on_skip
        Told, in a sentence, of each file or folder inside them that cannot be looked at.

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
            found = _workloads(path, on_skip)
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
            f"{path} cannot be read: {_said(error)}", hint="check its permissions"
        ) from error
    for reader in readers().values():
        source = reader.recognise(path, head)
        if source is not None:
            return source
    return claim(path, head)


def head_of(path: Path) -> bytes:
    """Read the first bytes of a file, decompressed where it is gzipped."""
    with path.open("rb") as handle:
        head = handle.read(HEAD_BYTES)
    if head.startswith(_GZIP):
        # A file that breaks off still has a head.
        with contextlib.suppress(zlib.error):
            return zlib.decompressobj(_GZIP_ONLY).decompress(head, HEAD_BYTES)
    return head


def _workloads(root: Path, on_skip: OnSkip) -> list[Workload]:
    sources: list[SourceFile] = []
    for path in _files(root, on_skip):
        try:
            source = recognise(path)
        except InputError as error:
            on_skip(error.message)
            continue
        if source is not None:
            sources.append(source)
    bounds = _boundaries(root, sources)
    groups: dict[Path, list[SourceFile]] = {}
    for source in sources:
        groups.setdefault(_root_of(source, root, bounds), []).append(source)
    return [
        Workload(folder.resolve().name, folder, tuple(_without_raw(folder, files)))
        for folder, files in sorted(groups.items())
    ]


def _files(root: Path, on_skip: OnSkip) -> Iterator[Path]:
    """Walk a folder in order; links to folders are not followed, hidden ones not entered."""
    pending, seen = [root], 0
    while pending:
        folder = pending.pop()
        try:
            entries = [(entry, _type_of(entry)) for entry in sorted(folder.iterdir())]
        except OSError as error:
            reason = f"{folder} cannot be read: {_said(error)}"
            if folder == root:
                raise InputError(reason, hint="check its permissions") from error
            on_skip(reason)
            continue
        # The last folder of the list is walked first.
        pending += [e for e, kind in reversed(entries) if kind == "folder" and _is_walked(e)]
        for entry, kind in entries:
            if entry.name.startswith("."):
                continue
            if kind != "file" and is_named_like_output(entry):
                on_skip(f"{entry} is {_SKIPPED[kind]}")
            if kind == "file":
                seen += 1
                if seen > MOST_FILES:
                    raise InputError(
                        f"{root} holds more than {MOST_FILES:,} files",
                        hint="name the folder of the profiler output",
                    )
                yield entry


_SKIPPED = {
    "folder": "a folder, though named like a file of rocprofv3",
    "other": "no regular file",
    "closed": "not readable: permission denied",
}


def _type_of(entry: Path) -> str:
    """Tell files and folders; whatever else may block or never end when it is opened."""
    try:
        mode = entry.stat().st_mode
    except PermissionError:
        return "closed"
    except OSError:
        return "other"
    return "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else "other"


def _said(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _is_walked(entry: Path) -> bool:
    return not entry.name.startswith(".") and not entry.is_symlink()


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
    if PASS_FOLDER.fullmatch(folder.name):
        return True
    # rocprofv3 by itself writes <host>/<process id>_<kind>.csv
    return any(re.match(r"\d+_", entry.name) for entry in folder.iterdir())


def _without_raw(root: Path, files: Sequence[SourceFile]) -> list[SourceFile]:
    """Leave out what a workload's own tables were made from."""
    if any(each.format == "compute-workload" and each.path.parent == root for each in files):
        return [each for each in files if each.format == "compute-workload"]
    return list(files)
