"""Profiler output into one profile: the only way in.

Readers give rows and runs; here they are numbered, matched and committed at once. Until the
last step nothing is at the target, so a failure or a kill leaves what was there.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

from rocperf.errors import InputError, PartialError, RocperfError
from rocperf.ingest.append import check_base, next_ids, take_back_dispatches
from rocperf.ingest.collected import assign_passes, record_passes
from rocperf.ingest.consistent import check_counters
from rocperf.ingest.discover import Workload, discover, readers
from rocperf.ingest.events import Note, Progress
from rocperf.ingest.identify import describe_runs, number_kernels, record_files
from rocperf.ingest.leftovers import remove_leftovers
from rocperf.ingest.match import match_launches
from rocperf.ingest.packed import unpack
from rocperf.ingest.remains import drop_idle_runs, mark_broken, raise_nothing
from rocperf.ingest.repeated import join_repeated_runs
from rocperf.ingest.sink import StoreSink
from rocperf.ingest.source import OnEvent, SourceFile
from rocperf.ingest.stopping import stoppable
from rocperf.ingest.twins import sha256_of, twins_among, without_twins
from rocperf.schema import SCHEMA_VERSION
from rocperf.store import Store, explained

__all__ = ["Note", "Progress", "cached_profile", "default_output", "ingest"]

Mode = Literal["create", "replace", "append"]

# Workloads of a folder that a refusal lists. A choice of ours: they fit on a screen.
_LISTED = 16
# Formats whose files stand for themselves: one that fails does not spoil the others.
_ALONE = frozenset({"rocpd", "rocprofv3-json", "rocprof"})


def default_output(paths: Sequence[Path]) -> Path:
    """Name the profile that is written when the user names none.

    Parameters
    ----------
    paths
        What is read; the first one names the profile.

    Returns
    -------
    Path
        ``<name>.rocperf`` in the current folder.
    """
    first = paths[0].resolve()
    stem = first.name
    if not first.is_dir():
        stem = stem.removesuffix(".gz")
        stem = stem.rsplit(".", 1)[0] or stem
    return Path(f"{stem or 'profile'}.rocperf")


def ingest(
    paths: Sequence[Path],
    output: Path,
    *,
    mode: str = "create",
    merge: bool = False,
    strict: bool = False,
    salvage: bool = False,
    max_unpacked: int | None = None,
    on_event: OnEvent | None = None,
) -> Path:
    """Read profiler output into a profile.

    Parameters
    ----------
    paths
        Files and folders.
    output
        The profile.
    mode
        ``create`` refuses an existing file, ``replace`` replaces it, ``append`` adds runs.
    merge
        Whether a folder with several workloads may become one profile.
    strict
        Whether a refused file or another oddity that lost data fails the whole.
    salvage
        Whether to keep the complete records of files that break off; their runs are marked
        incomplete.
    max_unpacked
        Bytes that a packed table may unpack to; by default half of what is free on the disk.
    on_event
        Told of `Progress` and `Note`.

    Returns
    -------
    Path
        The profile.

    Raises
    ------
    InputError
        If nothing can be read, the target exists, or a folder holds several workloads.
    NothingError
        If what was read holds no events.
    PartialError
        Under `strict`, if something was odd; the profile is not written.
    SpaceError, BusyError
        If the disk is full, or the profile to append to is in use.
    """
    skipped: list[str] = []
    workloads = discover(paths, skipped.append)
    if not merge:
        _refuse_several(paths, workloads)
    base = output if mode == "append" and output.exists() else None
    if base is not None:
        check_base(base)
    freed = remove_leftovers(output.parent)
    if freed and on_event is not None:
        told = f"{freed / 1e6:,.1f} MB that an ingest left when it was killed are removed"
        on_event(Note("info", "leftovers-removed", told))
    total = sum(source.size for each in workloads for source in each.sources)
    with (
        explained(output),
        Store.create(output, replace=mode != "create", base=base) as store,
    ):
        first_run, first_file = next_ids(store)
        sink = StoreSink(
            store, total, on_event, first_run=first_run, first_file=first_file, salvage=salvage
        )
        sink.max_unpacked = max_unpacked or shutil.disk_usage(output.parent).free // 2
        for text in skipped:
            sink.note("warning", "path-skipped", text)
        with stoppable(store.connection, sink.stop):
            if base is not None:
                take_back_dispatches(store)
            _read_all(workloads, sink, merge=merge)
        if strict and sink.notes:
            raise PartialError(
                f"{sink.notes} oddities while reading; nothing was written",
                hint="without --strict they are noted in the profile",
            )
        return store.commit()


def _refuse_several(paths: Sequence[Path], workloads: Sequence[Workload]) -> None:
    for path in paths:
        inside = [each for each in workloads if path.is_dir() and each.root.is_relative_to(path)]
        if len(inside) > 1:
            shown = [str(each.root) for each in inside[:_LISTED]]
            if len(inside) > len(shown):
                shown.append(f"and {len(inside) - len(shown)} more")
            raise InputError(
                f"{path} holds {len(inside)} workloads:",
                hint="name one of them, or join them with --merge",
                details=tuple(shown),
            )


def _read_all(workloads: Sequence[Workload], sink: StoreSink, *, merge: bool) -> None:
    # What is refused at first sight may be of any size: no checksum is taken of it.
    sources = [
        s for each in workloads for s in each.sources if not (s.kind or "").startswith("odd")
    ]
    known = {
        str(row[0])
        for row in sink.connection.execute(
            "SELECT sha256 FROM files WHERE status = 'read'"
        ).fetchall()
    }
    with ThreadPoolExecutor(1, thread_name_prefix="checksums") as pool:
        # Checksums of files that cannot be twins are taken while the rows are read.
        twins = twins_among(sources, everything=bool(known))
        checksums = {path: sha256_of(path) for path in twins}
        pending = {s.path: pool.submit(sha256_of, s.path) for s in sources if s.path not in twins}
        failures: list[RocperfError] = []
        for number, workload in enumerate(workloads):
            sink.workload, sink.root = number if merge else 0, workload.root
            fresh = without_twins(workload, checksums, known, sink)
            _read_workload(_unpacked(fresh, sink, failures), sink, failures)
        if not any(record.status == "read" for record in sink.files):
            if failures:
                raise failures[0]
            if sink.refusals:
                raise InputError(sink.refusals[0], hint="record it again, or copy it again")
            raise_nothing(sink)
        mark_broken(sink)
        join_repeated_runs(sink)
        drop_idle_runs(sink)
        folders = assign_passes(sink, [each.root for each in workloads])
        number_kernels(sink)
        describe_runs(sink)
        record_passes(sink, folders)
        match_launches(sink)
        check_counters(sink)
        checksums.update({path: future.result() for path, future in pending.items()})
        record_files(sink, checksums)


def _unpacked(
    sources: Sequence[SourceFile], sink: StoreSink, failures: list[RocperfError]
) -> list[SourceFile]:
    """Give packed tables a text; refuse those that break off or are too large."""
    found: list[SourceFile] = []
    for source in sources:
        try:
            done = unpack(source, sink.store.unpacked, sink.max_unpacked, salvage=sink.salvage)
        except InputError as error:
            failures.append(error)
            sink.refuse(source, error.message)
            continue
        found.append(done.source)
        if done.broken is not None:
            sink.note("warning", "truncated", f"{done.broken}; what it holds is kept")
            sink.broken.add(source.path)
    return found


def _read_workload(
    sources: Sequence[SourceFile], sink: StoreSink, failures: list[RocperfError]
) -> None:
    groups: dict[str, list[SourceFile]] = {}
    for source in sources:
        groups.setdefault(source.format, []).append(source)
    for name, files in groups.items():
        units = [[each] for each in files] if name in _ALONE and name != "rocprof" else [files]
        for unit in units:
            mark = sink.mark()
            try:
                readers()[name].read(unit, sink)
            except InputError as error:
                sink.back_to(mark)
                failures.append(error)
                for source in unit:
                    sink.refuse(source, error.message)
            for source in unit:
                sink.finished(source)


def cached_profile(
    paths: Sequence[Path], *, salvage: bool = False, on_event: OnEvent | None = None
) -> Path:
    """Read raw profiler output into a cache, or find it there.

    Parameters
    ----------
    paths
        Files and folders; a changed size or time of any file means reading again.
    salvage
        As for `ingest`.
    on_event
        Told of progress and notes while reading.

    Returns
    -------
    Path
        A profile in ``$XDG_CACHE_HOME/rocperf`` or ``~/.cache/rocperf``.

    Raises
    ------
    InputError
        As `ingest`.
    """
    import rocperf

    workloads = discover(paths)
    _refuse_several(paths, workloads)
    key = hashlib.sha256(f"{rocperf.__version__} {SCHEMA_VERSION} {salvage}".encode())
    for each in workloads:
        for source in each.sources:
            state = source.path.stat()
            key.update(f"\0{source.path.resolve()}\0{state.st_size}\0{state.st_mtime_ns}".encode())
    root = os.environ.get("XDG_CACHE_HOME")
    folder = (Path(root) if root else Path.home() / ".cache") / "rocperf"
    target = folder / f"{default_output(paths).stem[:60]}-{key.hexdigest()[:16]}.rocperf"
    if not target.is_file():
        with contextlib.suppress(FileExistsError):
            folder.mkdir(parents=True, mode=0o700)
        ingest(paths, target, mode="replace", salvage=salvage, on_event=on_event)
    return target
