"""Tables with one row a dispatch and counter, which the newest tool makes of rocpd.

Several passes of the program stand in one file under equal dispatch ids. Rows of one dispatch
in one pass share its start: the n-th start of an id belongs to the n-th pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import polars as pl

from rocperf.errors import InputError
from rocperf.ingest.compute_workload.wide import scan

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb

#: Rows of one batch. A choice of ours: some 40 MB with the names that occur.
BATCH_ROWS = 100_000
_NUMBERS = {
    "dispatch_id": "Dispatch_ID",
    "grid_size": "Grid_Size",
    "workgroup_size": "Workgroup_Size",
    "static_lds_bytes": "LDS_Per_Workgroup",
    "scratch_bytes": "Scratch_Per_Workitem",
    "vgpr": "Arch_VGPR",
    "agpr": "Accum_VGPR",
    "sgpr": "SGPR",
}
_NEEDED = ("Dispatch_ID", "Kernel_Name", "GPU_ID", "Counter_Name", "Counter_Value")
_STAGE = "staged_counter_rows"
_ORDER = "staged_dispatch_passes"
_RESULT = "staged_result"


@dataclass(frozen=True)
class LongTable:
    """A long table, staged in DuckDB where it can spill to disk.

    Parameters
    ----------
    connection
        Where it is staged.
    columns
        Columns of the stage.
    passes
        Number of passes found.
    sure
        Whether the passes follow one another in time, as they must.
    rounded
        Rows whose times are not whole numbers.
    unusable
        Rows without a dispatch, kernel, GPU or counter.
    rows
        Rows staged.
    """

    connection: duckdb.DuckDBPyConnection
    columns: tuple[str, ...]
    passes: int
    sure: bool
    rounded: int
    unusable: int
    rows: int

    def close(self) -> None:
        """Drop the stage."""
        for table in (_STAGE, _ORDER, _RESULT):
            self.connection.execute(f"DROP TABLE IF EXISTS {table}")

    def dispatches(self, number: int) -> Iterator[pl.DataFrame]:
        """Yield the dispatches of a pass (from 0), as rows of ``all_dispatches``."""
        skipped = ("counter", "instance", "value")
        own = [name for name in self.columns if name not in (*skipped, "row", "dispatch_id")]
        chosen = ", ".join(f"first(s.{name} ORDER BY s.row) AS {name}" for name in own)
        yield from self._fetch(
            f"SELECT min(s.row) AS row, s.dispatch_id, {chosen} FROM {_STAGE} s "
            f"JOIN {_ORDER} o ON s.dispatch_id = o.dispatch_id "
            "AND s.start_ns IS NOT DISTINCT FROM o.start_ns "
            f"WHERE o.number = {number:d} GROUP BY s.dispatch_id ORDER BY row"
        )

    def values(self, number: int) -> Iterator[pl.DataFrame]:
        """Yield the counter values of a pass, channels summed once."""
        no_number = "'no number in the file'"
        yield from self._fetch(
            f"WITH taken AS ({self._of_pass(number)}), whole AS ("
            "SELECT row, dispatch_id, counter, value, "
            f"CASE WHEN value IS NULL THEN {no_number} END AS reason "
            "FROM taken WHERE instance IS NULL), summed AS ("
            "SELECT min(row) AS row, dispatch_id, counter || '_sum' AS counter, "
            "CASE WHEN bool_and(value IS NOT NULL) THEN sum(value) END AS value, "
            f"CASE WHEN bool_or(value IS NULL) THEN {no_number} END AS reason "
            "FROM taken WHERE instance IS NOT NULL GROUP BY dispatch_id, counter) "
            "FROM whole UNION ALL FROM summed ANTI JOIN whole USING (dispatch_id, counter) "
            "ORDER BY row"
        )

    def instances(self, number: int) -> Iterator[pl.DataFrame]:
        """Yield the values of single channels of a pass."""
        yield from self._fetch(
            "SELECT row, dispatch_id, counter, instance, value "
            f"FROM ({self._of_pass(number)}) WHERE instance IS NOT NULL ORDER BY row"
        )

    def repeated(self, number: int) -> int:
        """Count rows that state a value of a pass a second time."""
        row = self.connection.execute(
            "SELECT count(*) - count(DISTINCT (dispatch_id, counter, instance)) "
            f"FROM (SELECT s.* FROM {_STAGE} s JOIN {_ORDER} o "
            "ON s.dispatch_id = o.dispatch_id AND s.start_ns IS NOT DISTINCT FROM o.start_ns "
            f"WHERE o.number = {number:d})"
        ).fetchone()
        return int(row[0]) if row else 0

    def _of_pass(self, number: int) -> str:
        # A value stated twice is counted once.
        return (
            f"SELECT s.* FROM {_STAGE} s JOIN {_ORDER} o ON s.dispatch_id = o.dispatch_id "
            "AND s.start_ns IS NOT DISTINCT FROM o.start_ns "
            f"WHERE o.number = {number:d} QUALIFY row_number() OVER "
            "(PARTITION BY s.dispatch_id, s.counter, s.instance ORDER BY s.row) = 1"
        )

    def _fetch(self, sql: str) -> Iterator[pl.DataFrame]:
        # Whoever takes a batch writes through the same connection, which would end a stream.
        self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {_RESULT} AS {sql}")
        start = 0
        while True:
            frame = pl.DataFrame(
                self.connection.sql(
                    f"SELECT * FROM {_RESULT} WHERE rowid >= {start:d} "
                    f"AND rowid < {start + BATCH_ROWS:d}"
                )
            )
            if frame.is_empty():
                return
            yield frame
            start += BATCH_ROWS


def stage(path: Path, connection: duckdb.DuckDBPyConnection) -> LongTable:
    """Read a long table into DuckDB, a bounded batch at a time, and tell its passes apart.

    Raises
    ------
    InputError
        A column is missing, or the file is no table.
    """
    try:
        lazy = scan(path)
        names = lazy.collect_schema().names()
        missing = [name for name in _NEEDED if name not in names]
        if missing:
            raise InputError(
                f"{path.name}: column {', '.join(missing)} missing",
                hint="give the folder as the profiler wrote it",
            )
        rounded = unusable = count = 0
        columns: tuple[str, ...] = ()
        for batch in lazy.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True):
            rows, bad_times, bad_rows = _rows(batch)
            rounded, unusable = rounded + bad_times, unusable + bad_rows
            count += rows.height
            _insert(connection, rows, first=not columns)
            columns = tuple(rows.columns)
    except pl.exceptions.NoDataError:
        raise InputError(f"{path.name}: empty file", hint="record the workload again") from None
    except pl.exceptions.ComputeError as error:
        raise InputError(f"{path.name}: {str(error).partition(chr(10))[0]}") from None
    if not columns:
        raise InputError(f"{path.name}: 0 rows", hint="record the workload again")
    passes, sure = _order(connection)
    return LongTable(connection, columns, passes, sure, rounded, unusable, count)


def _rows(batch: pl.DataFrame) -> tuple[pl.DataFrame, int, int]:
    text = pl.col("Counter_Name").str.strip_chars()
    agent = pl.col("GPU_ID").str.extract(r"(\d+)\s*$", 1)
    number = pl.col("Counter_Value").cast(pl.Float64, strict=False)
    times = {"start_ns": "Start_Timestamp", "end_ns": "End_Timestamp"}
    rows = batch.select(
        pl.col("row").cast(pl.UInt64),
        *(
            pl.col(column).cast(pl.UInt64, strict=False).alias(name)
            for name, column in _NUMBERS.items()
            if column in batch.columns
        ),
        pl.col("Kernel_Name").alias("kernel"),
        agent.cast(pl.UInt64, strict=False).alias("agent_id"),
        *(
            (pl.col(column) if column in batch.columns else pl.lit(None, pl.String))
            .cast(pl.Int64, strict=False)
            .alias(name)
            for name, column in times.items()
        ),
        text.str.replace(r"\[\d+\]$", "").alias("counter"),
        text.str.extract(r"\[(\d+)\]$", 1).cast(pl.UInt32).alias("instance"),
        pl.when(number.is_finite()).then(number).alias("value"),
    )
    # A grid that ran has work-items; the product of its sides can wrap to nothing.
    if "grid_size" in rows.columns:
        rows = rows.with_columns(pl.when(pl.col("grid_size") > 0).then("grid_size"))
    rounded = 0
    if times["start_ns"] in batch.columns:
        lost = rows["start_ns"].is_null() & batch[times["start_ns"]].is_not_null()
        rounded = int(lost.sum())
    usable = rows.drop_nulls(["dispatch_id", "kernel", "agent_id", "counter"])
    return usable, rounded, rows.height - usable.height


def _insert(connection: duckdb.DuckDBPyConnection, rows: pl.DataFrame, *, first: bool) -> None:
    arriving = cast("object", rows.to_arrow())
    connection.register("arriving_rows", arriving)
    try:
        if first:
            connection.execute(
                f"CREATE OR REPLACE TEMP TABLE {_STAGE} AS FROM arriving_rows LIMIT 0"
            )
        connection.execute(f"INSERT INTO {_STAGE} BY NAME FROM arriving_rows")
    finally:
        connection.unregister("arriving_rows")


def _order(connection: duckdb.DuckDBPyConnection) -> tuple[int, bool]:
    """Put the passes in order; say how many they are and whether they follow one another."""
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE {_ORDER} AS SELECT dispatch_id, start_ns, "
        "CAST(dense_rank() OVER (PARTITION BY dispatch_id ORDER BY start_ns) - 1 AS UINTEGER) "
        f"AS number FROM (SELECT DISTINCT dispatch_id, start_ns FROM {_STAGE})"
    )
    row = connection.execute(
        "SELECT count(*), coalesce(bool_and(ends IS NULL OR ends < begins), true) FROM ("
        "SELECT min(start_ns) AS begins, "
        "lag(max(start_ns)) OVER (ORDER BY number) AS ends "
        f"FROM {_ORDER} GROUP BY number)"
    ).fetchone()
    return (int(row[0]), bool(row[1])) if row else (0, True)
