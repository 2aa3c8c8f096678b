"""Events of the kernel driver, which rocprofv3 stores as regions whose event tells the rest.

The rest is JSON: ``{"kfd": {...}}``, the same once more inside, or a list of keys and values, by
the release that wrote it. Every value is text, and an agent that there is none of is -1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from rocperf.ingest.rocpd.part import Part

#: SQL over ``name``, the upper-case category: the kind of event.
DRIVER_KIND = (
    "CASE WHEN contains(name, 'MIGRATE') THEN 'page_migrate' WHEN contains(name, 'FAULT')"
    " THEN 'page_fault' WHEN contains(name, 'QUEUE') THEN 'queue' WHEN contains(name, 'UNMAP')"
    " THEN 'unmap' WHEN contains(name, 'DROPPED') THEN 'dropped' ELSE lower(name) END"
)

# The innermost object or list of what an event tells.
_INNER = (
    "coalesce(json_extract(b.extdata, '$.kfd.kfd'), json_extract(b.extdata, '$.kfd'),"
    " b.extdata::JSON)"
)
_PAIRS = (
    "(SELECT json_group_object(json_extract_string(e, '$.key'), json_extract(e, '$.value'))"
    f" FROM (SELECT unnest(from_json({_INNER}, '[\"JSON\"]')) AS e))"
)
_FLAT = f"CASE json_type({_INNER}) WHEN 'ARRAY' THEN {_PAIRS} ELSE {_INNER} END"


def store_driver_events(part: Part, frame: pl.DataFrame, rest: str) -> None:
    """Store the driver events of a batch of regions.

    Parameters
    ----------
    part
        Takes the rows.
    frame
        The batch, with ``extdata``: what each event tells.
    rest
        SQL after the first columns: times, row, and joins to category ``c`` and name ``n``.
    """
    columns, _, source = rest.partition(" FROM ")
    number = "TRY_CAST(json_extract_string(flat, '$.{}') AS UBIGINT)"
    first, last = number.format("start_address"), number.format("end_address")
    # An agent of -1 is none, and no UBIGINT either.
    part.append(
        "kfd_events",
        f"SELECT kind, operation, {number.format('agent_id')} AS agent_id,"
        f" {number.format('src_agent_id')} AS src_agent_id,"
        f" {number.format('dst_agent_id')} AS dst_agent_id,"
        f" coalesce({first}, {number.format('address')}) AS address,"
        f" CASE WHEN {last} >= {first} THEN {last} - {first} END AS bytes, start_ns, end_ns,"
        f" flat::VARCHAR AS args, row FROM (SELECT c.kind, n.string AS operation, {_FLAT} AS flat,"
        f" {columns} FROM {source})",
        frame,
    )
