"""Dispatches, copies, allocations, calls and markers of a part.

Everything that a row refers to is joined so that a missing parent loses no row; rows whose
parents are missing are counted, because the views that come with the file leave them out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocperf.ingest.rocpd.database import TEXT_ROWS, Field
from rocperf.ingest.rocpd.part import SCRATCH

if TYPE_CHECKING:
    from rocperf.ingest.rocpd.part import Part

#: Dispatch of each event, for the counters.
DISPATCH_OF = f"{SCRATCH}dispatch_of"
_ARGUMENTS = f"{SCRATCH}arguments"

_EVENT = (Field("stack_id", "e.stack_id"), Field("category_id", "e.category_id"))


def _plain(*names: str) -> tuple[Field, ...]:
    return tuple(Field(name, f"t.{name}") for name in names)


def _u64(column: str) -> str:
    """Read a 64-bit number that SQLite holds as signed."""
    return (
        f"CASE WHEN {column} < 0 THEN {column}::HUGEINT + 18446744073709551616"
        f" ELSE {column} END::UBIGINT"
    )


def _times(start: str = "b.start", end: str = '"b"."end"') -> str:
    usable = f"{start} > 0 AND {end} >= {start}"
    return (
        f"CASE WHEN {usable} THEN {start} END AS start_ns,"
        f" CASE WHEN {usable} THEN {end} END AS end_ns"
    )


def _joined(*tables: tuple[str, str, str]) -> str:
    """Left-join scratch tables: name, alias, and the batch's column that is their id."""
    return " ".join(
        f"LEFT JOIN {SCRATCH}{table} {alias} ON {alias}.id = b.{column}"
        for table, alias, column in tables
    )


_WHO = f"coalesce(th.tid, b.tid) AS thread_id, {_u64('b.stack_id')} AS correlation_id"
_THREAD = ("info_thread", "th", "tid")
_SIZES = tuple(f"{what}_size_{axis}" for what in ("grid", "workgroup") for axis in "xyz")


def _sizes() -> str:
    parts: list[str] = []
    for what in ("grid", "workgroup"):
        parts += [f"b.{what}_size_{axis} AS {what}_{axis}" for axis in "xyz"]
        product = " * ".join(f"b.{what}_size_{axis}::HUGEINT" for axis in "xyz")
        parts.append(f"nullif({product}, 0)::UBIGINT AS {what}_size")
    return ", ".join(parts)


_DISPATCHES = (
    "SELECT coalesce(nullif(k.display_name, ''), nullif(k.kernel_name, ''),"
    " 'kernel ' || coalesce(b.kernel_id::VARCHAR, '') || ' without a symbol') AS kernel,"
    " b.dispatch_id, coalesce(a.node, b.agent_id) AS agent_id,"
    f" {_u64('b.queue_id')} AS queue_id, {_u64('b.stream_id')} AS stream_id, {_WHO}, {_times()},"
    f" {_sizes()}, b.group_segment_size AS lds_bytes,"
    " k.group_segment_size AS static_lds_bytes, b.private_segment_size AS scratch_bytes,"
    " k.arch_vgpr_count AS vgpr, k.accum_vgpr_count AS agpr, k.sgpr_count AS sgpr, b.row"
    " FROM batch b "
)
_DISPATCH_PARENTS = (
    ("info_kernel_symbol", "k", "kernel_id"),
    ("info_agent", "a", "agent_id"),
    _THREAD,
)


def read_dispatches(part: Part) -> None:
    """Read kernel dispatches; remember the dispatch of each event."""
    run = part.sink.connection.execute
    run(f"CREATE OR REPLACE TABLE {DISPATCH_OF} (event_id BIGINT, dispatch_id BIGINT)")
    fields = (
        Field("row", "t.rowid"),
        Field("dispatch_id", f"coalesce({part.column('kernel_dispatch', 'dispatch_id')}, t.rowid)"),
        *_plain("kernel_id", "agent_id", "queue_id", "stream_id", "tid", "start", "end"),
        *_plain("private_segment_size", "group_segment_size", *_SIZES, "event_id"),
        *_EVENT,
        Field("has_event", "e.id IS NOT NULL"),
    )
    query = _DISPATCHES + _joined(*_DISPATCH_PARENTS)
    orphans = total = 0
    for _ in part.relations("kernel_dispatch", fields, joins=part.event_join):
        total += part.store("all_dispatches", query)
        run(
            f"INSERT INTO {DISPATCH_OF} SELECT event_id, dispatch_id FROM batch"
            " WHERE event_id IS NOT NULL"
        )
        orphans += _orphans(part)
    if orphans:
        part.note(
            "info",
            "parents-missing",
            f"{total:,} dispatches, of which {orphans:,} lack a thread, queue, agent, symbol or"
            f" event: the file's own view of kernels shows {total - orphans:,}",
            rows=orphans,
        )
    _note_times(part, "scratch.main.incoming", "dispatches")


def _orphans(part: Part) -> int:
    """Count dispatches that an inner join over all parents would lose."""
    joins = _joined(*_DISPATCH_PARENTS, ("info_queue", "q", "queue_id"))
    ((count,),) = part.sink.connection.execute(
        f"SELECT count(*) FROM batch b {joins} WHERE k.id IS NULL OR a.id IS NULL"
        " OR th.id IS NULL OR q.id IS NULL OR b.has_event IS DISTINCT FROM 1"
    ).fetchall()
    return int(count)


def _note_times(part: Part, table: str, what: str) -> None:
    ((without, none),) = part.sink.connection.execute(
        "SELECT count(*) FILTER (start_ns IS NULL), count(*) FILTER (start_ns = end_ns)"
        f" FROM {table} WHERE run_id = {part.run_id} AND file_id = {part.file_id}"
    ).fetchall()
    if without:
        text = f"{without:,} {what} with end before start or without a time; kept without times"
        part.note("warning", "times-reversed", text, rows=int(without))
    if none and what == "dispatches":
        part.note(
            "info", "zero-duration", f"{none:,} dispatches with zero duration", rows=int(none)
        )


_COPIES = (
    "SELECT nullif(regexp_replace(lower(n.string), '^memory_copy_', ''), '') AS direction,"
    " coalesce(s.node, b.src_agent_id) AS src_agent_id,"
    " coalesce(d.node, b.dst_agent_id) AS dst_agent_id, b.size AS bytes,"
    f" {_u64('b.stream_id')} AS stream_id, {_u64('b.src_address')} AS src_address,"
    f" {_u64('b.dst_address')} AS dst_address, {_WHO}, {_times()}, b.row FROM batch b "
)


def read_copies(part: Part) -> None:
    """Read copies; their direction is told by name, because agents may be stated wrongly."""
    fields = (
        Field("row", "t.rowid"),
        *_plain("tid", "start", "end", "name_id", "src_agent_id", "dst_agent_id", "size"),
        *_plain("src_address", "dst_address", "stream_id"),
        *_EVENT,
    )
    query = _COPIES + _joined(
        ("string", "n", "name_id"),
        ("info_agent", "s", "src_agent_id"),
        ("info_agent", "d", "dst_agent_id"),
        _THREAD,
    )
    for frame in part.batches("memory_copy", fields, joins=part.event_join):
        part.append("copies", query, frame)
        part.advance(frame.height)
    _note_times(part, "copies", "copies")


_RELEASE = "upper(b.type) = 'FREE'"
_ALLOCATIONS = (
    "SELECT CASE WHEN upper(b.level) = 'VIRTUAL' THEN 'vmem_' ELSE '' END"
    f" || lower(coalesce(b.type, 'unknown')) AS operation,"
    f" CASE WHEN NOT {_RELEASE} THEN coalesce(a.node, b.agent_id) END AS agent_id,"
    f" {_u64('b.address')} AS address, CASE WHEN NOT {_RELEASE} THEN b.size END AS bytes,"
    f" {_WHO}, {_times()}, b.row FROM batch b "
)
_SCRATCHES = (
    "SELECT CASE WHEN upper(b.type) = 'RECLAIM' THEN 'async_reclaim'"
    " ELSE lower(coalesce(b.type, 'unknown')) END AS operation,"
    f" coalesce(a.node, b.agent_id) AS agent_id, {_u64('b.queue_id')} AS queue_id,"
    " b.size AS bytes, b.flags, coalesce(th.tid, b.tid) AS thread_id,"
    f" {_times()}, b.row FROM batch b "
)


def read_allocations(part: Part) -> None:
    """Read allocations and changes of scratch memory, which share a table."""
    extdata = part.column("memory_allocate", "extdata")
    flags = f"CASE WHEN json_valid({extdata}) THEN json_extract({extdata}, '$.flags') END"
    fields = (
        Field("row", "t.rowid"),
        *_plain("tid", "agent_id", "start", "end", "address", "size", "queue_id"),
        Field("type", "t.type", "text"),
        Field("level", "t.level", "text"),
        Field("flags", flags),
        *_EVENT,
    )
    joins = _joined(("info_agent", "a", "agent_id"), _THREAD)
    scratch = "upper(coalesce(b.level, '')) = 'SCRATCH'"
    for frame in part.batches("memory_allocate", fields, joins=part.event_join):
        part.append("allocations", f"{_ALLOCATIONS}{joins} WHERE NOT {scratch}", frame)
        part.append("scratch_events", f"{_SCRATCHES}{joins} WHERE {scratch}", frame)
        part.advance(frame.height)


def read_code_objects(part: Part) -> None:
    """Read code objects."""
    fields = (
        Field("row", "t.rowid"),
        *_plain("agent_id", "load_base", "load_size"),
        Field("uri", "t.uri", "text"),
    )
    query = (
        "SELECT b.row AS code_object_id, coalesce(a.node, b.agent_id) AS agent_id,"
        f" nullif(b.uri, '') AS uri, {_u64('b.load_base')} AS load_base,"
        f" b.load_size AS load_bytes, b.row FROM batch b {_joined(('info_agent', 'a', 'agent_id'))}"
    )
    for frame in part.batches("info_code_object", fields, batch_rows=TEXT_ROWS):
        part.append("code_objects", query, frame)
