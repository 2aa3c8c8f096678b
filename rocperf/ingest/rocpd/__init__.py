"""rocpd: the SQLite databases that rocprofv3 writes since 7.0, and rocprofiler-systems.

Only physical tables are read, by queries of ours; views and triggers of a file never run. What
a generation of the schema has is seen by its columns, not by its version.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rocperf.errors import InputError
from rocperf.ingest.source import SourceFile

if TYPE_CHECKING:
    from rocperf.ingest.rocpd.database import Database
    from rocperf.ingest.rocpd.part import Part
    from rocperf.ingest.source import Sink

FORMAT = "rocpd"

_MAGIC = b"SQLite format 3\x00"
# Tables of the older tool that uses the same prefix.
_OLDER = frozenset({"rocpd_op", "rocpd_api"})
_NEEDED = frozenset({"kernel_id", "start", "end"})


def recognise(path: Path, head: bytes) -> SourceFile | None:
    """Say whether a file is a rocpd database, by its tables.

    Parameters
    ----------
    path
        The file.
    head
        Its first bytes, unpacked.

    Returns
    -------
    SourceFile or None
        None when it is none. A damaged database that once was one, and rocmProfileData of the
        same name, are claimed, so that they can be refused by name; a file of 0 bytes is known
        by its ending.
    """
    if not head and path.suffix == ".db":
        return SourceFile(path, FORMAT, "empty", None, 0)
    if not head.startswith(_MAGIC):
        return None
    from rocperf.ingest.rocpd.database import Database

    size = path.stat().st_size
    try:
        with Database(path) as database:
            if database.parts:
                return SourceFile(path, FORMAT, None, _version(database), size)
            if database.plain >= _OLDER:
                return SourceFile(path, FORMAT, "rocmprofiledata", "2", size)
    except InputError:
        if b"rocpd_" in head:
            return SourceFile(path, FORMAT, "damaged", None, size)
    return None


def _version(database: Database) -> str | None:
    for tables in database.parts.values():
        if "metadata" in tables:
            rows = database.rows(
                f'SELECT value FROM "{tables["metadata"]}" WHERE tag = ?', ["schema_version"]
            )
            if rows:
                return str(rows[0][0])
    return None


def read(sources: list[SourceFile], sink: Sink) -> None:
    """Read databases into a sink.

    Parameters
    ----------
    sources
        Files that `recognise` gave.
    sink
        Takes runs, files and rows.

    Raises
    ------
    InputError
        If a database is damaged, of another tool, or of a schema that has nothing in common.
    """
    from rocperf.ingest.rocpd.database import Database

    for source in sources:
        if source.kind == "rocmprofiledata":
            raise InputError(
                f"{source.path.name} is rocmProfileData schema 2, not rocprofv3 rocpd (schema 3)",
                hint="record it again with rocprofv3: rocperf collect ./app",
            )
        if source.kind == "empty":  # a process without GPU work may leave one
            sink.ignore(source, f"{source.path.name}: empty (0 bytes), skipped")
            continue
        with Database(source.path) as database:
            _refuse_unknown(database, source)
            _read_parts(database, source, sink)


def _refuse_unknown(database: Database, source: SourceFile) -> None:
    for tables in database.parts.values():
        physical = tables.get("kernel_dispatch")
        if physical is not None and not database.columns(physical) >= _NEEDED:
            raise InputError(
                f"{source.path.name} has rocpd schema {source.version}, which rocperf cannot read",
                hint="a newer rocperf may; or record CSV: rocprofv3 --output-format csv",
            )


def _read_parts(database: Database, source: SourceFile, sink: Sink) -> None:
    from rocperf.ingest.results_file import replace_twice_recorded
    from rocperf.ingest.rocpd.calls import read_calls
    from rocperf.ingest.rocpd.counters import read_counters
    from rocperf.ingest.rocpd.events import (
        read_allocations,
        read_code_objects,
        read_copies,
        read_dispatches,
    )
    from rocperf.ingest.rocpd.part import Part, clean

    begun: list[Part] = []
    for tables in database.parts.values():
        for guid in _identities(database, tables):
            part = Part(database, tables, guid, source, sink)
            if not part.begin(len(begun), begun[0].file_id if begun else None):
                continue
            begun.append(part)
            part.refer()
            for step in (
                read_dispatches,
                read_copies,
                read_allocations,
                read_code_objects,
                read_calls,
                read_counters,
            ):
                try:
                    step(part)
                except InputError as error:
                    if not sink.salvage:
                        raise
                    part.salvaged(error.message)
            replace_twice_recorded(sink, source, part.run_id, part.file_id)
    if not begun:
        sink.refuse(
            source,
            f"{source.path.name}: no process row, 0 dispatches: the writer was interrupted",
            empty=True,
        )
        return
    clean(sink)
    sink.records(begun[0].file_id, stored=sum(part.done for part in begun), rejected=0)
    _note_unread(database, begun[0])
    _note_oddities(database, begun[0])


def _identities(database: Database, tables: dict[str, str]) -> list[str | None]:
    """List the identities in a part's tables; None stands for the only one."""
    physical = tables.get("info_process")
    if physical is None or "guid" not in database.columns(physical):
        return [None]
    rows = database.rows(f'SELECT DISTINCT guid FROM "{physical}" ORDER BY guid')
    return [str(row[0]) for row in rows] if len(rows) > 1 else [None]


# Tables with rows of their own that no table of a profile takes.
_UNKEPT = ("graph_launch", "hip_event", "event_operation")


def _note_unread(database: Database, part: Part) -> None:
    """Name, with the number of its rows, each table that is not stored."""
    counts: dict[str, int] = {}

    def count(kind: str, physical: str, where: str = "") -> None:
        ((rows,),) = database.rows(f'SELECT count(*) FROM "{physical}"{where}')
        counts[kind] = counts.get(kind, 0) + int(str(rows))

    for suffix, tables in database.parts.items():
        for kind in _UNKEPT:
            if kind in tables:
                count(kind, tables[kind])
        values = tables.get("pmc_event")
        if values is not None and "sample_id" in database.columns(values):
            count("values sampled within kernels", values, " WHERE sample_id IS NOT NULL")
        for kind, physical in database.unread.get(suffix, {}).items():
            count(kind, physical)
    for kind, rows in sorted(counts.items()):
        if rows:
            part.note("info", "table-unread", f"{kind}: {rows:,} rows are not stored", rows=rows)


def _note_oddities(database: Database, part: Part) -> None:
    if database.triggers or database.foreign:
        counts = (
            (database.views, "view"),
            (database.triggers, "trigger"),
            (database.foreign, "foreign table"),
        )
        part.note(
            "warning",
            "objects-ignored",
            "ignored: " + ", ".join(f"{n} {word}{'s' * (n != 1)}" for n, word in counts if n),
        )
    if database.odd:
        tables = ", ".join(sorted(database.odd))
        part.note("warning", "values-odd", f"text where numbers belong in {tables}; left out")
    for ending in ("-journal", "-wal"):
        beside = Path(f"{database.path}{ending}")
        if beside.is_file() and beside.stat().st_size:
            part.note(
                "warning",
                "unfinished-database",
                f"{beside.name} lies beside it: the writer may not have finished",
            )
