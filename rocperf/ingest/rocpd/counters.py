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


def read_counters(part: Part) -> None:
    """Read values; the event that a value belongs to says of which dispatch or sample it is."""
    run = part.sink.connection.execute
    run(
        f"CREATE OR REPLACE TABLE {_VALUES} (row BIGINT, event_id BIGINT, pmc_id BIGINT,"
        " value DOUBLE)"
    )
    fields = (
        Field("row", "t.rowid"),
        Field("event_id", "t.event_id"),
        Field("pmc_id", "t.pmc_id"),
        Field("value", "t.value", "real"),
    )
    total = 0
    for frame in part.batches("pmc_event", fields):
        part.put(_VALUES, frame)
        total += frame.height
        part.advance(frame.height)
    if not total:
        return
    run(
        f"CREATE OR REPLACE TABLE {_STAGE} AS SELECT d.dispatch_id,"
        " coalesce(m.name, 'counter ' || v.pmc_id, 'unknown') AS counter, v.value, v.row"
        f" FROM {_VALUES} v JOIN {DISPATCH_OF} d USING (event_id)"
        f" LEFT JOIN {SCRATCH}info_pmc m ON m.id = v.pmc_id"
    )
    ((counted,),) = run(f"SELECT count(*) FROM {_STAGE}").fetchall()
    if counted < total:
        _read_sensors(part, total - int(counted))
    run(f"DROP TABLE {_VALUES}")
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
        f" s.moment AS timestamp_ns, v.value, v.row FROM {_VALUES} v"
        f" JOIN (SELECT event_id, min(moment) AS moment FROM {_SAMPLED} GROUP BY event_id) s"
        f" USING (event_id) LEFT JOIN {SCRATCH}info_pmc m ON m.id = v.pmc_id"
        f" LEFT JOIN {SCRATCH}info_agent a ON a.id = m.agent_id"
        f" WHERE v.event_id NOT IN (SELECT event_id FROM {DISPATCH_OF})",
        (),
        run_id=part.run_id,
        file_id=part.file_id,
    )
    run(f"DROP TABLE {_SAMPLED}")
    if stored < most:
        part.note(
            "warning",
            "values-orphaned",
            f"{most - stored:,} counter values belong to no dispatch and no sample; left out",
            rows=most - stored,
        )
