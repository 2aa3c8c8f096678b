"""What is left when all files are read: runs that did something, or nothing at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocperf.errors import NothingError
from rocperf.ingest.identify import runs_without_events
from rocperf.ingest.twins import HARMLESS

if TYPE_CHECKING:
    from rocperf.ingest.sink import StoreSink


def mark_broken(sink: StoreSink) -> None:
    """Mark runs incomplete of which a file breaks off."""
    for record in sink.files:
        if record.source.path in sink.broken and record.run_id in sink.runs:
            sink.runs[record.run_id].status = "incomplete"


def drop_idle_runs(sink: StoreSink) -> None:
    """Leave out runs of processes that did no GPU work, where others did some."""
    idle = runs_without_events(sink, sink.runs)
    if idle == set(sink.runs):
        if any(record.source.format == "topology" for record in sink.files):
            return
        raise_nothing(sink)
    for run_id in sorted(idle):
        info = sink.runs[run_id]
        if info.tool == "topology":
            continue
        who = f"process {info.pid}" if info.pid else f"run {run_id}"
        who = f"rank {info.rank}" if info.rank is not None else who
        sink.note("info", "process-idle", f"{who} recorded no events; it is left out")
        for table in ("agents", "links", "code_objects"):
            sink.connection.execute(f"DELETE FROM {table} WHERE run_id = ?", [run_id])
        del sink.runs[run_id]
        for record in sink.files:
            if record.run_id == run_id:
                record.run_id = None


def raise_nothing(sink: StoreSink) -> None:
    """Say that there is nothing to analyse, or nothing that is new.

    Raises
    ------
    NothingError
        Always.
    """
    names = [record.source.path.name for record in sink.files]
    events = [record for record in sink.files if record.source.kind not in HARMLESS]
    # Files can be known only from a profile that is added to.
    added = bool(sink.connection.execute("SELECT 1 FROM files LIMIT 1").fetchall())
    if added and events and all(record.status == "ignored" for record in events):
        raise NothingError(
            f"nothing new: every event of these {len(names)} files is in {sink.store.target}"
            " already",
            hint="-v tells why of each; --force reads everything again",
        )
    shown = ", ".join(names[:5]) + (" …" if len(names) > 5 else "")
    raise NothingError(
        f"nothing to analyse: no events in {shown}",
        hint="did the program do GPU work, and was it traced? rocperf collect ./app does both",
    )
