"""Events of the kernel driver in JSON, and records of kinds that no table takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import rocperf
from rocperf.ingest.load import Note, ingest
from rocperf.testing.simulator import Request, profile


def changed(tmp_path: Path, **records: list[dict[str, Any]]) -> tuple[Path, dict[str, Any]]:
    """Write a trace with further records; return the process it holds, too."""
    request = Request(traces=frozenset({"kernel"}))
    (file,) = profile("tiny_grid", tmp_path / "raw" / "7", request, ["json"])
    document = json.loads(file.read_text())
    (process,) = document["rocprofiler-sdk-tool"]
    process["buffer_records"] |= records
    kinds = process["strings"]["buffer_records"]
    for key, rows in records.items():
        kinds.append({"kind": key.upper(), "operations": ["FIRST", "SECOND"]})
        for row in rows:
            row |= {"kind": len(kinds) - 1, "operation": 1}
    file.write_text(json.dumps(document))
    return file, process


def test_driver_events_go_to_their_table(tmp_path: Path) -> None:
    file, process = changed(
        tmp_path,
        kfd_page_migrate=[
            {
                "start_timestamp": 100, "end_timestamp": 300, "start_address": "0x7f0000000000",
                "end_address": "0x7f0000200000", "error_code": 0,
            },
        ],
        kfd_event_page_fault=[{"timestamp": 400, "address": 4096}],
        kfd_event_dropped_events=[{"timestamp": 500, "count": 17}],
    )  # fmt: skip
    gpu = next(each for each in process["agents"] if each["type"] == 2)
    document = json.loads(file.read_text())
    records = document["rocprofiler-sdk-tool"][0]["buffer_records"]
    records["kfd_page_migrate"][0]["dst_agent"] = gpu["id"]
    records["kfd_event_page_fault"][0]["agent_id"] = gpu["id"]
    file.write_text(json.dumps(document))
    with rocperf.open(ingest([file], tmp_path / "p.rocperf")) as opened:
        rows = opened.sql(
            "SELECT kind, operation, agent_id, dst_agent_id, address, bytes, start_ns, end_ns"
            " FROM kfd_events ORDER BY start_ns"
        ).rows()
        counts = opened.sql("SELECT args->>'count' FROM kfd_events WHERE kind = 'dropped'")
        assert counts.item() == "17"
    node = gpu["node_id"]
    assert rows == [
        ("page_migrate", "SECOND", None, node, 0x7F00_0000_0000, 2_097_152, 100, 300),
        ("page_fault", "SECOND", node, None, 4096, None, 400, 400),
        ("dropped", "SECOND", None, None, None, None, 500, 500),
    ]


def test_records_of_other_kinds_are_counted(tmp_path: Path) -> None:
    row = {"start_timestamp": 1, "end_timestamp": 2}
    file, _ = changed(tmp_path, hip_graph=[dict(row), dict(row)], spm=[], hip_event=[dict(row)])
    notes: list[Note] = []
    path = ingest(
        [file],
        tmp_path / "p.rocperf",
        on_event=lambda event: notes.append(event) if isinstance(event, Note) else None,
    )
    assert sorted((note.message.split(": ", 1)[1], note.rows) for note in notes) == [
        ("1 records of hip_event are of no kind that is kept", 1),
        ("2 records of hip_graph are of no kind that is kept", 2),
    ]
    with rocperf.open(path) as opened:
        assert opened.sql("SELECT count(*) FROM all_dispatches").item() == 3
