"""What DuckDB alone needs: a typed ``read_csv`` of the columns that rocperf keeps.

The yardstick for ingest, run on the same files, in the same process set-up and under the same
memory limit as a profile is written with. It numbers no record, rejects nothing, joins nothing.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

from rocperf.store import MEMORY_LIMIT

_TEXT, _INT, _FLOAT = "VARCHAR", "BIGINT", "DOUBLE"

#: By the end of a file's name: its columns in order, with the type of those that are kept.
#: What a file has besides is read as text and left out, as rocperf does.
COLUMNS: dict[str, dict[str, str | None]] = {
    "_kernel_trace.csv": {
        "Kind": None,
        "Agent_Id": _TEXT,
        "Queue_Id": _INT,
        "Stream_Id": _INT,
        "Thread_Id": _INT,
        "Dispatch_Id": _INT,
        "Kernel_Id": None,
        "Kernel_Name": _TEXT,
        "Correlation_Id": _INT,
        "Start_Timestamp": _INT,
        "End_Timestamp": _INT,
        "LDS_Block_Size": _INT,
        "Scratch_Size": _INT,
        "VGPR_Count": _INT,
        "Accum_VGPR_Count": _INT,
        "SGPR_Count": _INT,
        "Workgroup_Size_X": _INT,
        "Workgroup_Size_Y": _INT,
        "Workgroup_Size_Z": _INT,
        "Grid_Size_X": _INT,
        "Grid_Size_Y": _INT,
        "Grid_Size_Z": _INT,
    },
    "_counter_collection.csv": {
        "Correlation_Id": _INT,
        "Dispatch_Id": _INT,
        "Agent_Id": _TEXT,
        "Queue_Id": _INT,
        "Process_Id": None,
        "Thread_Id": _INT,
        "Grid_Size": _INT,
        "Kernel_Id": None,
        "Kernel_Name": _TEXT,
        "Workgroup_Size": _INT,
        "LDS_Block_Size": _INT,
        "Scratch_Size": _INT,
        "VGPR_Count": _INT,
        "Accum_VGPR_Count": _INT,
        "SGPR_Count": _INT,
        "Counter_Name": _TEXT,
        "Counter_Value": _FLOAT,
        "Start_Timestamp": _INT,
        "End_Timestamp": _INT,
    },
    "_memory_copy_trace.csv": {
        "Kind": None,
        "Direction": _TEXT,
        "Stream_Id": _INT,
        "Source_Agent_Id": _TEXT,
        "Destination_Agent_Id": _TEXT,
        "Correlation_Id": _INT,
        "Start_Timestamp": _INT,
        "End_Timestamp": _INT,
    },
    "_hip_api_trace.csv": {
        "Domain": _TEXT,
        "Function": _TEXT,
        "Process_Id": None,
        "Thread_Id": _INT,
        "Correlation_Id": _INT,
        "Start_Timestamp": _INT,
        "End_Timestamp": _INT,
    },
}


def read_alone(folder: Path, database: Path) -> int:
    """Read every CSV file of events below a folder into tables; return how many rows.

    Parameters
    ----------
    folder
        With ``timing`` and ``counters`` in it, see `rocperf.testing.simulator.generate`.
    database
        Written anew.
    """
    rows = 0
    with duckdb.connect(str(database)) as connection:
        connection.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
        connection.execute("SET preserve_insertion_order = false")
        for number, path in enumerate(sorted(folder.rglob("*.csv"))):
            columns = next((c for end, c in COLUMNS.items() if path.name.endswith(end)), None)
            if columns is None:
                continue
            kept = ", ".join(f'"{name}"' for name, kind in columns.items() if kind)
            types = ", ".join(f"'{name}': '{kind or _TEXT}'" for name, kind in columns.items())
            connection.execute(
                f"CREATE TABLE t{number} AS SELECT {kept} FROM read_csv(?, header = true,"
                f" delim = ',', quote = '\"', escape = '\"', auto_detect = false,"
                f" columns = {{{types}}})",
                [str(path)],
            )
            found = connection.execute(f"SELECT count(*) FROM t{number}").fetchone()
            rows += int(found[0]) if found else 0
        connection.execute("CHECKPOINT")
    return rows
