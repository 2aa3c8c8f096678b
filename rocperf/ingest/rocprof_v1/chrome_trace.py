"""``results.json`` of rocprof: the same records as a Chrome trace, every value a string."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import polars as pl

from rocperf.errors import InputError
from rocperf.ingest.rocprof_v1.events import api_calls, copies, dispatches, markers
from rocperf.ingest.source import RunInfo

if TYPE_CHECKING:
    from rocperf.ingest.source import Sink, SourceFile

#: Records of one batch. A choice of ours.
BATCH_ROWS = 20_000
#: Chrome process that rocprof shows a kind of record as; GPUs follow from 6.
_MARKERS, _COPIES, _HIP, _HSA, _FIRST_GPU = 0, 1, 2, 3, 6
_NUMBERS = ("BeginNs", "EndNs", "dev-id", "queue-id", "stream-id", "pid", "proc-id", "tid")


def read_chrome_trace(source: SourceFile, stem: Path, sink: Sink) -> None:
    """Read a Chrome trace into a sink, a bounded number of records at a time.

    Sizes of copies are not in it. The id of the call is not, either.

    Parameters
    ----------
    source
        The file.
    stem
        Its path without suffix: the run's identity.
    sink
        Takes runs, files and rows.

    Raises
    ------
    InputError
        It is no JSON, or was cut off.
    """
    import ijson

    run_id = file_id = None
    done = 0
    no_sizes = pl.DataFrame(schema={"Index": pl.Int64, "bytes": pl.UInt64})
    agents: set[int] = set()
    with source.path.open("rb") as file:
        try:
            for frame in _frames(file):
                if run_id is None or file_id is None:
                    run_id = sink.run(_info(stem, frame))
                    file_id = sink.file(source, run_id)
                kind = frame["kind"]
                parts = {
                    "api_calls": [
                        api_calls(frame.filter(kind == _HIP), "hip"),
                        api_calls(frame.filter(kind == _HSA), "hsa"),
                    ],
                    "copies": [copies(frame.filter(kind == _COPIES), no_sizes)],
                    "markers": [markers(frame.filter(kind == _MARKERS))],
                    "all_dispatches": [dispatches(frame.filter(kind >= _FIRST_GPU))],
                }
                for table, rows in parts.items():
                    for part in rows:
                        if not part.is_empty():
                            sink.append(table, part, run_id=run_id, file_id=file_id)
                ids = set(parts["all_dispatches"][0]["agent_id"].drop_nulls().to_list())
                _append_agents(sorted(ids - agents), sink, run_id, file_id)
                agents |= ids
                done += frame.height
                sink.progress(source, done, file.tell())
        except (ijson.JSONError, UnicodeDecodeError) as error:
            raise InputError(
                f"{source.path.name}: not readable as JSON after {done} records ({error})",
                hint="the file is cut off or damaged; give results.db if there is one",
            ) from None
    if run_id is None:
        sink.file(source, None)
        sink.note("warning", "file-empty", f"{source.path.name}: 0 records")


def _append_agents(ids: list[int], sink: Sink, run_id: int, file_id: int) -> None:
    if ids:
        frame = pl.DataFrame({"agent_id": ids, "kind": ["GPU"] * len(ids)})
        sink.append("agents", frame, run_id=run_id, file_id=file_id)


def _info(stem: Path, frame: pl.DataFrame) -> RunInfo:
    return RunInfo(
        key=(str(stem), "workload", "trace"),
        pid=_pid(frame),
        tool="rocprof",
        tool_version="1",
        role="timing",
    )


def _pid(frame: pl.DataFrame) -> int | None:
    """Say which process it is; ``pid`` is often only the lane of the picture."""
    process = pl.coalesce(
        "proc-id", pl.when(pl.col("pid") > _FIRST_GPU).then("pid").otherwise(None)
    )
    found = frame.select(process.alias("pid"))["pid"].drop_nulls()
    return cast("int", found.first()) if len(found) else None


def _frames(file: BinaryIO) -> Iterator[pl.DataFrame]:
    """Yield records as frames; ``kind`` is the Chrome process, ``row`` counts events."""
    import ijson

    events = cast("Iterator[Mapping[str, object]]", ijson.items(file, "traceEvents.item"))
    numbered = enumerate(events, 1)
    schema: dict[str, pl.DataType] = {
        "row": pl.UInt64(),
        "kind": pl.Int64(),
        "args": pl.Struct(dict.fromkeys((*_NUMBERS, "Name", "args"), pl.String())),
    }
    while batch := list(islice(numbered, BATCH_ROWS)):
        complete = [
            {"row": row, "kind": int(str(event["pid"])), "args": event.get("args")}
            for row, event in batch
            if event.get("ph") == "X" and str(event.get("pid", "")).isdecimal()
        ]
        if complete:
            frame = pl.DataFrame(complete, schema=schema).unnest("args")
            yield frame.with_columns(pl.col(_NUMBERS).cast(pl.Int64, strict=False))
