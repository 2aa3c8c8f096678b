"""What a document says of the process that it records."""

from __future__ import annotations

from pathlib import Path

from rocperf.ingest.results_file import rank_of, run_key
from rocperf.ingest.rocprofv3_json.names import Record, handle, listing, mapping
from rocperf.ingest.secrets import reduce
from rocperf.ingest.source import RunInfo


def run_info(path: Path, stated: Record, number: int) -> RunInfo:
    """Describe the run; of its environment only what is allowed is kept.

    Parameters
    ----------
    path
        The file.
    stated
        The section ``metadata``.
    number
        Place of the process within the file, from 0.
    """
    pid = handle(stated.get("pid"))
    environment = {str(k): str(v) for k, v in mapping(stated.get("environment")).items()}
    kept = reduce(environment)
    command = " ".join(map(str, listing(stated.get("command"))))
    host = mapping(stated.get("node")).get("hostname")
    return RunInfo(
        key=run_key(path, pid, f":{number}" if number else ""),
        hostname=str(host) if host else None,
        pid=pid,
        rank=rank_of(path, kept),
        command=command or None,
        start_ns=handle(stated.get("init_time")) or None,
        end_ns=handle(stated.get("fini_time")) or None,
        tool="rocprofv3",
        environment=kept,
    )
