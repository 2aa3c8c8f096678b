"""Calls, markers and driver events of a part: regions, and samples where they took no time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocperf.ingest.rocpd.database import TEXT_ROWS, Field
from rocperf.ingest.rocpd.driver import DRIVER_KIND, store_driver_events
from rocperf.ingest.rocpd.part import SCRATCH

if TYPE_CHECKING:
    import polars as pl

    from rocperf.ingest.rocpd.part import Part

_ARGUMENTS = f"{SCRATCH}arguments"
_CATEGORIES = f"{SCRATCH}categories"

# rocprofiler-systems writes rocm_hip_api where rocprofv3 writes HIP_RUNTIME_API_EXT.
_UPPER = "regexp_replace(upper(string), '^ROCM_', '')"
# A sample of another category is a reading of a sensor, not a call.
_INTERFACES = "^(HIP|HSA|MARKER|ROCTX|RCCL|ROCDECODE|ROCJPEG|OMPT|ROCSHMEM|HIPFILE|KFD)_"
_DOMAIN = (
    "CASE WHEN starts_with(name, 'HIP_COMPILER') THEN 'hip_compiler'"
    " WHEN starts_with(name, 'HIP_RUNTIME') THEN 'hip' WHEN starts_with(name, 'HSA_') THEN 'hsa'"
    " ELSE lower(regexp_replace(name, '_(CORE_)?API.*$', '')) END"
)


def read_calls(part: Part) -> None:
    """Read regions and samples into calls, markers and driver events."""
    ids = _categories(part)
    _gather_arguments(part)
    texts = ", ".join(map(str, ids)) or "NULL"
    told = f"e.category_id IN ({texts}) AND json_valid(e.extdata)"
    fields: tuple[Field, ...] = (
        Field("row", "t.rowid"),
        Field("event_id", "t.event_id"),
        Field("category_id", "e.category_id"),
        Field("stack_id", "e.stack_id"),
        Field("message", f"CASE WHEN {told} THEN json_extract(e.extdata, '$.message') END", "text"),
        Field("extdata", f"CASE WHEN {told} THEN e.extdata END", "text"),
    )
    if not ids:
        fields = tuple(f for f in fields if f.kind != "text")
    own = tuple(Field(n, f"t.{n}") for n in ("tid", "start", "end", "name_id"))
    calls = (*(f for f in fields if f.kind != "text"), *own)
    # Calls carry no text of their own, and are far more than markers.
    where = f"e.category_id IS NULL OR e.category_id NOT IN ({texts})" if ids else ""
    everything = f"(SELECT * FROM {_ARGUMENTS})"
    quick = part.whole(
        "region",
        calls,
        lambda: part.store("api_calls", _calls(everything)),
        joins=part.event_join,
        where=where,
    )
    if ids or not quick:
        rest = f"e.category_id IN ({texts})" if quick else ""
        for frame in part.batches("region", (*fields, *own), joins=part.event_join, where=rest):
            part.advance(_store(part, frame, marked=bool(ids)))
    _read_samples(part, fields, marked=bool(ids))


def _read_samples(part: Part, fields: tuple[Field, ...], *, marked: bool) -> None:
    """Read calls and marks that took no time: their names are those of their tracks."""
    interfaces = part.sink.connection.execute(
        f"SELECT id FROM {_CATEGORIES} WHERE interface"
    ).fetchall()
    if not interfaces:
        return
    track = part.tables.get("track")
    named = "k.name_id, k.tid" if track else "NULL, NULL"
    name, thread = named.split(", ")
    join = f'LEFT JOIN "{track}" k ON k.id = t.track_id AND k.guid = t.guid' if track else ""
    sample = (
        *fields,
        Field("tid", thread),
        Field("start", "t.timestamp"),
        Field("end", "t.timestamp"),
        Field("name_id", name),
    )
    only = ", ".join(str(row[0]) for row in interfaces)
    batches = part.batches(
        "sample",
        sample,
        joins=f"{part.event_join} {join}",
        where=f"e.category_id IN ({only})",
    )
    for frame in batches:
        part.advance(_store(part, frame, marked=marked))


def _categories(part: Part) -> list[int]:
    """Sort categories by what they are of; return the ids of those whose events tell more."""
    run = part.sink.connection.execute
    run(
        f"CREATE OR REPLACE TABLE {_CATEGORIES} AS SELECT id, {_DOMAIN} AS domain,"
        f" regexp_matches(name, '{_INTERFACES}') AS interface,"
        " regexp_matches(name, '^(MARKER|ROCTX)_') AS marker, contains(name, 'CONTROL') AS control,"
        f" starts_with(name, 'KFD_') AS kfd, {DRIVER_KIND} AS kind"
        f" FROM (SELECT id, {_UPPER} AS name FROM {SCRATCH}string)"
        # Names of functions and kernels are strings, too; only these are ever a category.
        f" WHERE length(name) < 64"
    )
    found = run(f"SELECT id FROM {_CATEGORIES} WHERE marker OR kfd ORDER BY id").fetchall()
    return [int(row[0]) for row in found]


def _gather_arguments(part: Part) -> None:
    """Put the arguments of each call into one JSON object.

    The writer stores those of one call one after the other; where a file does not, their pieces
    are joined.
    """
    run = part.sink.connection.execute
    run(f"CREATE OR REPLACE TABLE {_ARGUMENTS} (event_id BIGINT, args VARCHAR)")
    label = "coalesce(nullif(t.name, ''), t.position, t.rowid)"
    fields = (
        Field("event_id", "t.event_id"),
        Field("args", f"json_group_object(CAST({label} AS TEXT), CAST(t.value AS TEXT))", "text"),
    )
    for frame in part.batches("arg", fields, group_by="event_id", batch_rows=TEXT_ROWS):
        part.put(_ARGUMENTS, frame.drop_nulls())
    ((pieces,),) = run(f"SELECT count(*) - count(DISTINCT event_id) FROM {_ARGUMENTS}").fetchall()
    if pieces:
        run(
            f"CREATE OR REPLACE TABLE {_ARGUMENTS} AS SELECT event_id, '{{' ||"
            f" string_agg(args[2:-2], ',') || '}}' AS args FROM {_ARGUMENTS} GROUP BY event_id"
        )


_STORED = (
    'CASE WHEN b.start > 0 AND b."end" >= b.start THEN b.start END AS start_ns,'
    ' CASE WHEN b.start > 0 AND b."end" >= b.start THEN b."end" END AS end_ns, b.row'
)
_WHO = "coalesce(th.tid, b.tid) AS thread_id, b.stack_id AS correlation_id"
_JOINS = (
    f"FROM batch b LEFT JOIN {_CATEGORIES} c ON c.id = b.category_id"
    f" LEFT JOIN {SCRATCH}string n ON n.id = b.name_id"
    f" LEFT JOIN {SCRATCH}info_thread th ON th.id = b.tid"
)


def _calls(arguments: str) -> str:
    """Write the query of calls."""
    return (
        "SELECT coalesce(c.domain, 'unknown') AS domain, coalesce(n.string, 'unknown') AS name,"
        f" {_WHO}, g.args, {_STORED} {_JOINS} LEFT JOIN {arguments} g"
        " ON g.event_id = b.event_id WHERE (c.marker OR c.kfd) IS NOT TRUE"
    )


def _store(part: Part, frame: pl.DataFrame, *, marked: bool) -> int:
    """Store a batch of regions or samples; return how many rows it has."""
    low, high = frame["event_id"].min(), frame["event_id"].max()
    near = "IS NULL" if low is None else f"BETWEEN {low!r} AND {high!r}"
    near = f"(SELECT * FROM {_ARGUMENTS} WHERE event_id {near})"
    part.append("api_calls", _calls(near), frame)
    if marked:
        part.append(
            "markers",
            "SELECT CASE WHEN c.control THEN 'control' WHEN b.start = b.\"end\" THEN 'mark'"
            f" ELSE 'range' END AS kind, coalesce(b.message, n.string) AS message, {_WHO},"
            f" {_STORED} {_JOINS} WHERE c.marker",
            frame,
        )
        store_driver_events(part, frame, f"{_STORED} {_JOINS} WHERE c.kfd")
    return frame.height
