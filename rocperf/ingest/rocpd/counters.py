"""Counter values of a part: those of dispatches, and readings of sensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocperf.ingest.instances import store_counters
from rocperf.ingest.rocpd.database import Field
from rocperf.ingest.rocpd.events import DISPATCH_OF
from rocperf.ingest.rocpd.part import SCRATCH

if TYPE_CHECKING:
    from rocperf.ingest.rocpd.part import Part

_VALUES = f"{SCRATCH}values"
_STAGE = f"{SCRATCH}stage"
_SAMPLED = f"{SCRATCH}sampled"
# Values of no dispatch keep their event, which may be a sample.
_STAGED = (
    f"CREATE OR REPLACE TABLE {_STAGE} AS SELECT d.dispatch_id, CASE WHEN d.dispatch_id IS NOT NULL"
    " THEN coalesce(m.name, 'counter ' || v.pmc_id, 'unknown') END AS counter, v.value, v.row,"
    " CASE WHEN d.dispatch_id IS NULL THEN v.event_id END AS event_id,"
    " CASE WHEN d.dispatch_id IS NULL THEN v.pmc_id END AS pmc_id"
    f" FROM {{values}} v LEFT JOIN {DISPATCH_OF} d USING (event_id)"
    f" LEFT JOIN {SCRATCH}info_pmc m ON m.id = v.pmc_id"
)


def read_counters(part: Part) -> None:
    """Read values; the event that a value belongs to says of which dispatch or sample it is."""
    run = part.sink.connection.execute
    fields = (
        Field("row", "t.rowid"),
        Field("event_id", "t.event_id"),
        Field("pmc_id", "t.pmc_id"),
        Field("value", "t.value", "real"),
    )
    if "pmc_event" not in part.tables:
        return
    # Values with a sample's number were taken while the kernel ran: they are no totals.
    sample = part.column("pmc_event", "sample_id", "")
    only = f"{sample} IS NULL" if sample else ""
    staged = part.whole(
        "pmc_event", fields, lambda: run(_STAGED.format(values="batch")), where=only
    )
    if not staged:
        run(
            f"CREATE OR REPLACE TABLE {_VALUES} (row BIGINT, event_id BIGINT, pmc_id BIGINT,"
            " value DOUBLE)"
        )
        for frame in part.batches("pmc_event", fields, where=only):
            part.put(_VALUES, frame)
            part.advance(frame.height)
        run(_STAGED.format(values=_VALUES))
        run(f"DROP TABLE {_VALUES}")
    ((total, counted),) = run(f"SELECT count(*), count(dispatch_id) FROM {_STAGE}").fetchall()
    if counted < total:
        _read_sensors(part, int(total - counted))
        run(f"DELETE FROM {_STAGE} WHERE dispatch_id IS NULL")
    if counted:
        name = part.source.path.name
        store_counters(part.sink, _STAGE, run_id=part.run_id, file_id=part.file_id, name=name)
    else:
        run(f"DROP TABLE {_STAGE}")


def _read_sensors(part: Part, most: int) -> None:
    """Store values of no dispatch: samples that rocprofiler-systems took of its sensors."""
    run = part.sink.connection.execute
    run(f"CREATE OR REPLACE TABLE {_SAMPLED} (event_id BIGINT, moment BIGINT)")
    fields = (Field("event_id", "t.event_id"), Field("moment", "t.timestamp"))
    for frame in part.batches("sample", fields):
        part.put(_SAMPLED, frame.drop_nulls())
    stored = part.sink.append_sql(
        "sensor_samples",
        "SELECT coalesce(m.name, 'sensor ' || v.pmc_id, 'unknown') AS name,"
        " nullif(m.units, '') AS unit, coalesce(a.node, m.agent_id) AS agent_id,"
        f" s.moment AS timestamp_ns, v.value, v.row FROM {_STAGE} v"
        f" JOIN (SELECT event_id, min(moment) AS moment FROM {_SAMPLED} GROUP BY event_id) s"
        f" USING (event_id) LEFT JOIN {SCRATCH}info_pmc m ON m.id = v.pmc_id"
        f" LEFT JOIN {SCRATCH}info_agent a ON a.id = m.agent_id"
        " WHERE v.dispatch_id IS NULL",
        (),
        run_id=part.run_id,
        file_id=part.file_id,
    )
    run(f"DROP TABLE {_SAMPLED}")
    # The writer gives each driver event a value, too; the event itself says more.
    ((driver,),) = run(
        f"SELECT count(*) FROM {_STAGE} v JOIN {SCRATCH}info_pmc m ON m.id = v.pmc_id"
        " WHERE v.dispatch_id IS NULL AND starts_with(m.name, 'KFD_')"
    ).fetchall()
    most -= int(driver)
    if stored < most:
        part.note(
            "warning",
            "values-orphaned",
            f"{most - stored:,} counter values belong to no dispatch and no sample; left out",
            rows=most - stored,
        )
