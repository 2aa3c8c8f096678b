"""Tables with one row a dispatch and one column a counter, as frames of our own tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from rocperf.errors import InputError
from rocperf.ingest.compute_workload.columns import (
    Columns,
    CounterColumn,
    groups_of,
    understand,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Cells of one batch: what is held at once, whatever the file's size. A choice of ours.
CELLS = 2_000_000
# A number of nanoseconds as the tools write it; anything else went through a spreadsheet.
_WHOLE = r"^\d+$"
_COUNTS = (
    "queue_id",
    "thread_id",
    "grid_size",
    "workgroup_size",
    "scratch_bytes",
    "vgpr",
    "agpr",
    "sgpr",
)


@dataclass
class Oddities:
    """What was odd in a table, counted while its batches pass."""

    rounded_times: int = 0
    reversed_times: int = 0
    wrapped_grids: int = 0
    bad_cells: int = 0
    bad_rows: int = 0
    disagreeing: set[str] = field(default_factory=set[str])


@dataclass(frozen=True)
class WideTable:
    """One file, scanned once: its columns, and those that hold nothing.

    Parameters
    ----------
    path
        The file.
    name
        What it is called in messages.
    columns
        What its columns are, the wholly empty ones left out.
    empty
        Counter columns without any value.
    rows
        Records.
    renumbered
        Whether dispatch ids repeat, so that record numbers stand in for them.
    """

    path: Path
    name: str
    columns: Columns
    empty: tuple[str, ...]
    rows: int
    renumbered: bool


def scan(path: Path) -> pl.LazyFrame:
    """Scan a CSV file as text, without expanding ``*?[`` in its name.

    The frame gets ``row``, the number of the record from 1.
    """
    return pl.scan_csv(
        path,
        glob=False,
        infer_schema=False,
        encoding="utf8-lossy",
        row_index_name="row",
        row_index_offset=1,
    )


def open_table(path: Path, name: str) -> WideTable:
    """Read header and emptiness of a wide table.

    Parameters
    ----------
    path
        The file.
    name
        What it is called in messages.

    Raises
    ------
    InputError
        A column is missing without which nothing can be read, or a record has more fields
        than the header.
    """
    try:
        lazy = scan(path)
        names = [name for name in lazy.collect_schema().names() if name != "row"]
        columns = understand(names)
        if columns.missing:
            raise InputError(
                f"{name}: {', '.join(columns.missing)} is not among its columns "
                f"(found {', '.join(names[:8])} …)",
                hint="give the folder as the profiler wrote it",
            )
        key = columns.identity["dispatch_id"]
        counted = [c.column for c in columns.counters]
        facts = lazy.select(
            pl.len().alias("\0rows"),
            (pl.col(key).n_unique() != pl.len()).alias("\0repeats"),
            *(pl.col(name).is_not_null().any() for name in counted),
        ).collect(engine="streaming")
    except pl.exceptions.NoDataError:
        raise InputError(f"{name}: empty file", hint="record the workload again") from None
    except pl.exceptions.ComputeError as error:
        raise InputError(f"{name}: {_first_line(error)}", hint=_RAGGED) from None
    rows = int(facts["\0rows"].item())
    # Of no records every column is empty, which says nothing.
    empty = tuple(name for name in counted if rows and not facts[name].item())
    kept = tuple(c for c in columns.counters if c.column not in set(empty))
    columns = Columns(columns.identity, kept, groups_of(kept), columns.inferred, columns.rocprof_v1)
    return WideTable(path, name, columns, empty, rows, bool(facts["\0repeats"].item()))


_RAGGED = "its records do not fit its header: give the file as the profiler wrote it"


def batches(table: WideTable) -> Iterator[pl.DataFrame]:
    """Yield the records of a table as text, a bounded number of cells at a time.

    Raises
    ------
    InputError
        A record has more fields than the header.
    """
    width = max(1, len(table.columns.counters) + len(table.columns.identity))
    lazy = scan(table.path)
    try:
        yield from lazy.collect_batches(chunk_size=max(1, CELLS // width), maintain_order=True)
    except pl.exceptions.ComputeError as error:
        raise InputError(f"{table.name}: {_first_line(error)}", hint=_RAGGED) from None


def dispatches(
    frame: pl.DataFrame, table: WideTable, odd: Oddities, *, static_lds: bool
) -> pl.DataFrame:
    """Turn a batch into rows of ``all_dispatches``, times included.

    Parameters
    ----------
    frame
        A batch of `batches`.
    table
        Where it is from.
    odd
        Counts what was odd.
    static_lds
        Whether the LDS column is what the code object declares, not that of the launch.

    Returns
    -------
    polars.DataFrame
        Columns of ``all_dispatches`` with ``kernel`` for the name; rows without an id, a
        kernel or a GPU are left out and counted.
    """
    identity = table.columns.identity
    lds = "static_lds_bytes" if static_lds else "lds_bytes"
    chosen = [pl.col("row").cast(pl.UInt64)]
    chosen.append(
        pl.col("row").cast(pl.UInt64).alias("dispatch_id")
        if table.renumbered
        else _count(identity["dispatch_id"], "dispatch_id")
    )
    chosen.append(pl.col(identity["kernel"]).alias("kernel"))
    # "GPU 2" and "Agent 2" are written as well as 2.
    agent = pl.col(identity["agent_id"]).str.extract(r"(\d+)\s*$", 1)
    chosen.append(agent.cast(pl.UInt64, strict=False).alias("agent_id"))
    chosen += [_count(identity[name], name) for name in _COUNTS if name in identity]
    if "lds" in identity:
        chosen.append(_count(identity["lds"], lds))
    chosen += [_time(identity[name], name) for name in ("start_ns", "end_ns") if name in identity]
    rows = frame.select(chosen)
    _count_oddities(frame, rows, table, odd)
    # The product of the grid's sides is formed in 32 bits and can wrap to nothing.
    sizes = [name for name in ("grid_size", "workgroup_size") if name in rows.columns]
    rows = rows.with_columns(
        pl.when(pl.col(name) > 0).then(pl.col(name)).alias(name) for name in sizes
    )
    return rows.drop_nulls(["dispatch_id", "kernel", "agent_id"])


def _count(column: str, name: str) -> pl.Expr:
    return pl.col(column).str.strip_chars().cast(pl.UInt64, strict=False).alias(name)


def _time(column: str, name: str) -> pl.Expr:
    text = pl.col(column).str.strip_chars()
    return pl.when(text.str.contains(_WHOLE)).then(text).cast(pl.Int64, strict=False).alias(name)


def _count_oddities(
    frame: pl.DataFrame, rows: pl.DataFrame, table: WideTable, odd: Oddities
) -> None:
    lost = rows.select(
        pl.any_horizontal(pl.col("dispatch_id", "kernel", "agent_id").is_null()).sum()
    )
    odd.bad_rows += int(lost.item())
    if "grid_size" in rows.columns:
        odd.wrapped_grids += int(rows.select((pl.col("grid_size") == 0).sum()).item())
    if "start_ns" in rows.columns and "end_ns" in rows.columns:
        column = table.columns.identity["start_ns"]
        rounded = rows["start_ns"].is_null() & frame[column].is_not_null()
        odd.rounded_times += int(rounded.sum())
        reversed_ = rows.select((pl.col("end_ns") < pl.col("start_ns")).sum())
        odd.reversed_times += int(reversed_.item())


def counters(
    frame: pl.DataFrame, ids: pl.DataFrame, chosen: Sequence[CounterColumn], odd: Oddities
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Turn counter columns of one pass into rows, channels summed once and kept.

    Parameters
    ----------
    frame
        A batch of `batches`.
    ids
        ``row`` and ``dispatch_id`` of the rows to take.
    chosen
        Columns of one pass.
    odd
        Counts what was odd.

    Returns
    -------
    tuple of polars.DataFrame
        Rows of ``counter_values`` and of ``counter_instances``.
    """
    long = _unpivot(frame, ids, chosen)
    odd.bad_cells += int(long["value"].is_null().sum())
    whole = long.filter(pl.col("instance").is_null())
    parts = long.filter(pl.col("instance").is_not_null())
    values = whole.select(
        "dispatch_id",
        "counter",
        "value",
        pl.when(pl.col("value").is_null()).then(pl.lit("no number in the file")).alias("reason"),
        "row",
    )
    if parts.is_empty():
        return values, parts.drop("text")
    sums = (
        parts.group_by("dispatch_id", "counter", "row", maintain_order=True)
        .agg(pl.col("value").sum(), pl.col("value").is_null().any().alias("hole"))
        .with_columns(
            (pl.col("counter") + "_sum").alias("counter"),
            pl.when(~pl.col("hole")).then(pl.col("value")).alias("value"),
            pl.when(pl.col("hole")).then(pl.lit("a channel has no number")).alias("reason"),
        )
    )
    odd.disagreeing |= _disagreeing(values, sums)
    new = sums.join(values, on=["row", "counter"], how="anti")
    values = pl.concat([values, new.select(values.columns)])
    return values, parts.select("dispatch_id", "counter", "instance", "value", "row")


def _unpivot(
    frame: pl.DataFrame, ids: pl.DataFrame, chosen: Sequence[CounterColumn]
) -> pl.DataFrame:
    names = pl.DataFrame(
        {
            "column": [c.column for c in chosen],
            "counter": [c.counter for c in chosen],
            "instance": [c.channel for c in chosen],
        },
        schema={"column": pl.String, "counter": pl.String, "instance": pl.UInt32},
    )
    own = ids.select("row", "dispatch_id")
    wide = own.join(
        frame.select(pl.col("row").cast(pl.UInt64), *names["column"]), on="row", how="left"
    )
    long = wide.unpivot(
        on=names["column"].to_list(),
        index=["row", "dispatch_id"],
        variable_name="column",
        value_name="text",
    )
    number = pl.col("text").str.strip_chars().cast(pl.Float64, strict=False)
    usable = pl.when(number.is_finite()).then(number).alias("value")
    return long.join(names, on="column", how="left", maintain_order="left").with_columns(usable)


def _disagreeing(values: pl.DataFrame, sums: pl.DataFrame) -> set[str]:
    both = values.join(sums, on=["row", "counter"], suffix="_channels")
    different = both.filter((pl.col("value") - pl.col("value_channels")).abs() > 0.5)
    return set(different["counter"])


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
