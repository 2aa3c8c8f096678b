"""Records of rocprof as rows of our tables, whichever file they come from."""

from __future__ import annotations

import polars as pl

_DIRECTIONS = {
    "CopyHostToDevice": "host_to_device",
    "CopyDeviceToHost": "device_to_host",
    "CopyDeviceToDevice": "device_to_device",
    "CopyHostToHost": "host_to_host",
}


def dispatches(frame: pl.DataFrame) -> pl.DataFrame:
    """Turn records of OPS into rows of ``all_dispatches``.

    Parameters
    ----------
    frame
        ``row``, ``BeginNs``, ``EndNs``, ``dev-id``, ``queue-id``, ``Name`` and, where the file
        has them, ``stream-id`` and ``Index``.
    """
    return frame.select(
        "row",
        # The file numbers calls, not dispatches.
        pl.col("row").alias("dispatch_id"),
        pl.col("Name").alias("kernel"),
        _number(frame, "dev-id").alias("agent_id"),
        _number(frame, "queue-id").alias("queue_id"),
        _number(frame, "stream-id").alias("stream_id"),
        _number(frame, "Index").alias("correlation_id"),
        pl.col("BeginNs").alias("start_ns"),
        pl.col("EndNs").alias("end_ns"),
    )


def copies(frame: pl.DataFrame, sizes: pl.DataFrame) -> pl.DataFrame:
    """Turn records of COPY into rows of ``copies``; fills among them are left out.

    Parameters
    ----------
    frame
        As for `dispatches`.
    sizes
        ``Index`` and ``bytes`` of the calls that made one copy each.
    """
    if "Index" not in frame.columns:
        frame = frame.with_columns(pl.lit(None, pl.Int64).alias("Index"))
    joined = frame.join(sizes, on="Index", how="left", maintain_order="left")
    direction = pl.col("Name").replace_strict(_DIRECTIONS, default=None, return_dtype=pl.String)
    device = _number(frame, "dev-id")
    return joined.filter(pl.col("Name").str.starts_with("Copy")).select(
        "row",
        direction.alias("direction"),
        pl.when(direction == "device_to_host").then(device).alias("src_agent_id"),
        pl.when(direction == "host_to_device").then(device).alias("dst_agent_id"),
        pl.col("bytes"),
        _number(frame, "Index").alias("correlation_id"),
        pl.col("BeginNs").alias("start_ns"),
        pl.col("EndNs").alias("end_ns"),
    )


def api_calls(frame: pl.DataFrame, domain: str) -> pl.DataFrame:
    """Turn records of HIP or HSA into rows of ``api_calls``.

    Parameters
    ----------
    frame
        ``row``, ``BeginNs``, ``EndNs``, ``Name``, ``tid`` and, where the file has them,
        ``args`` and ``Index``.
    domain
        ``hip`` or ``hsa``.
    """
    text = pl.col("args") if "args" in frame.columns else pl.lit(None, pl.String)
    # One text without structure: kept whole under one key.
    as_json = pl.struct(text.alias("text")).struct.json_encode()
    return frame.select(
        "row",
        pl.lit(domain).alias("domain"),
        pl.col("Name").alias("name"),
        _number(frame, "tid").alias("thread_id"),
        _number(frame, "Index").alias("correlation_id"),
        pl.col("BeginNs").alias("start_ns"),
        pl.col("EndNs").alias("end_ns"),
        pl.when(text.is_not_null()).then(as_json).alias("args"),
    )


def markers(frame: pl.DataFrame) -> pl.DataFrame:
    """Turn records of rocTX into rows of ``markers``.

    Parameters
    ----------
    frame
        As for `api_calls`. A mark is written as a range of one nanosecond.
    """
    is_mark = (pl.col("EndNs") - pl.col("BeginNs")) <= 1
    return frame.select(
        "row",
        pl.when(is_mark).then(pl.lit("mark")).otherwise(pl.lit("range")).alias("kind"),
        pl.col("Name").str.replace(r'^"(.*)"$', "${1}").alias("message"),
        _number(frame, "tid").alias("thread_id"),
        pl.col("BeginNs").alias("start_ns"),
        pl.col("EndNs").alias("end_ns"),
    )


def _number(frame: pl.DataFrame, column: str) -> pl.Expr:
    if column not in frame.columns:
        return pl.lit(None, pl.UInt64)
    return pl.col(column).cast(pl.UInt64, strict=False)
