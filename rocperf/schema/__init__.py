"""The tables of a profile as data: the contract between readers and analyses.

A table says what one row is; a column says its SQL type, its unit and, in one sentence,
what it holds. Times are integer nanoseconds on the recording host's clock (for rocprofv3:
since boot), sizes are bytes. Every event row carries the file and the record that it came
from, so that any number can be traced to a line of profiler output.
"""

from __future__ import annotations

from rocperf.schema.column import Column, Table
from rocperf.schema.events import (
    ALLOCATIONS,
    API_CALLS,
    COPIES,
    KFD_EVENTS,
    MARKERS,
    PC_SAMPLES,
    SCRATCH_EVENTS,
    SENSOR_SAMPLES,
)
from rocperf.schema.kernels import (
    ALL_DISPATCHES,
    COUNTER_INSTANCES,
    COUNTER_VALUES,
    COUNTERS,
    DISPATCHES,
    KERNELS,
    LAUNCHES,
)
from rocperf.schema.machines import (
    AGENTS,
    CODE_OBJECTS,
    LINKS,
)
from rocperf.schema.runs import (
    ENVIRONMENT,
    FILES,
    META,
    NOTES,
    PASSES,
    PROCESSES,
    REQUESTED_COUNTERS,
    RUNS,
)

__all__ = [
    "AGENTS",
    "ALLOCATIONS",
    "ALL_DISPATCHES",
    "API_CALLS",
    "BY_NAME",
    "CODE_OBJECTS",
    "COPIES",
    "COUNTERS",
    "COUNTER_INSTANCES",
    "COUNTER_VALUES",
    "DISPATCHES",
    "ENVIRONMENT",
    "FILES",
    "KERNELS",
    "KFD_EVENTS",
    "LAUNCHES",
    "LINKS",
    "MARKERS",
    "META",
    "NOTES",
    "PASSES",
    "PC_SAMPLES",
    "PROCESSES",
    "REQUESTED_COUNTERS",
    "RUNS",
    "SCHEMA_VERSION",
    "SCRATCH_EVENTS",
    "SENSOR_SAMPLES",
    "STORAGE_VERSION",
    "TABLES",
    "VIEWS",
    "Column",
    "Table",
]

#: Version of the tables below; a profile of a higher one is refused.
SCHEMA_VERSION = 1

#: DuckDB storage format that profiles are written in, so that older DuckDBs can read them.
STORAGE_VERSION = "v1.2.0"


#: Stored tables, in order of creation.
TABLES = (
    META,
    FILES,
    RUNS,
    PROCESSES,
    ENVIRONMENT,
    AGENTS,
    LINKS,
    KERNELS,
    LAUNCHES,
    ALL_DISPATCHES,
    COUNTER_VALUES,
    COUNTER_INSTANCES,
    COPIES,
    ALLOCATIONS,
    SCRATCH_EVENTS,
    API_CALLS,
    MARKERS,
    PC_SAMPLES,
    KFD_EVENTS,
    SENSOR_SAMPLES,
    CODE_OBJECTS,
    PASSES,
    REQUESTED_COUNTERS,
    NOTES,
)
#: Views over them, in order of creation.
VIEWS = (DISPATCHES, COUNTERS)

BY_NAME = {table.name: table for table in (*TABLES, *VIEWS)}
