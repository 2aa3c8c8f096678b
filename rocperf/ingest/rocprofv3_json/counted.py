"""Counted dispatches: each with its values, one for each hardware instance."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from rocperf.ingest.rocprofv3_json.names import Names, Record, Row, handle
from rocperf.ingest.rocprofv3_json.records import DISPATCH_SCHEMA, dispatch
from rocperf.ingest.sink import INCOMING
from rocperf.store import arrow

if TYPE_CHECKING:
    from rocperf.ingest.source import Sink

_VALUES: dict[str, Any] = {
    "dispatch_id": pl.UInt64,
    "counter": pl.String,
    "value": pl.Float64,
    "row": pl.UInt64,
}


class Counted:
    """Collects counted dispatches in two staging tables.

    Attributes
    ----------
    any
        Whether there were some.
    values
        Staging table of values, as `rocperf.ingest.instances.store_counters` wants it.
    """

    values = "scratch.main.json_values"
    _dispatches = "scratch.main.json_counted"

    def __init__(self) -> None:
        self.any = False
        self._rows: list[Row] = []
        self._columns: tuple[list[Any], list[str], list[float | None], list[int]]
        self._columns = ([], [], [], [])

    def add(self, row: int, record: Record, names: Names) -> None:
        """Take one record of ``counter_collection``."""
        counted = dispatch(row, record["dispatch_data"], names, record)
        self._rows.append(counted)
        ids, counters, values, rows = self._columns
        for each in record.get("records") or ():
            number = handle(each["counter_id"])
            value = float(each["value"])
            ids.append(counted[1])
            counters.append(names.counters.get(number or 0, f"counter {number}"))
            values.append(value if math.isfinite(value) else None)
            rows.append(row)

    def flush(self, sink: Sink) -> int:
        """Put what was collected into the staging tables; return how many values there were."""
        values = pl.DataFrame(dict(zip(_VALUES, self._columns, strict=True)), schema=_VALUES)
        dispatches = pl.DataFrame(self._rows, schema=DISPATCH_SCHEMA, orient="row")
        for table, frame in ((self.values, values), (self._dispatches, dispatches)):
            sink.connection.register("given", arrow(frame))
            verb = f"INSERT INTO {table}" if self.any else f"CREATE OR REPLACE TABLE {table} AS"
            sink.connection.execute(f"{verb} SELECT * FROM given")
            sink.connection.unregister("given")
        self.any = True
        self._rows, self._columns = [], ([], [], [], [])
        return values.height

    def store_dispatches(self, sink: Sink, run_id: int, file_id: int) -> None:
        """Store each dispatch once, unless the trace of the run has it."""
        sink.append_sql(
            "all_dispatches",
            f"SELECT c.* FROM {self._dispatches} c WHERE NOT EXISTS (SELECT 1 FROM {INCOMING} i"
            f" WHERE i.run_id = {run_id} AND i.dispatch_id = c.dispatch_id)"
            " QUALIFY row_number() OVER (PARTITION BY c.dispatch_id ORDER BY c.row) = 1",
            (),
            run_id=run_id,
            file_id=file_id,
        )

    def drop(self, sink: Sink) -> None:
        """Remove the staging table that is left."""
        sink.connection.execute(f"DROP TABLE {self._dispatches}")
