"""One run in two formats: rocprofv3 writes several at once, and databases are converted.

Readers join files of one folder whose names begin alike. Here runs meet that lie apart: two runs
of different formats that have the very same times, to the nanosecond, are one.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from rocperf.ingest.results_file import replace_twice_recorded
from rocperf.ingest.sink import INCOMING
from rocperf.schema import TABLES

if TYPE_CHECKING:
    from rocperf.ingest.sink import FileRecord, StoreSink

# The format that knows more comes first: sizes of copies, arguments, single instances.
_RANKED = {"rocpd": 0, "rocprofv3-json": 1, "rocprofv3-csv": 2}
# What tells that two runs are one: the times of any of these.
_TIMED = (INCOMING, "copies", "api_calls")
_WITH_RUN = tuple(table.name for table in TABLES if "run_id" in table.column_names)


def join_repeated_runs(sink: StoreSink) -> None:
    """Join runs that two files of different formats recorded, and keep each event once.

    A run of the profile that is appended to stays as it is; the same one again is left out.

    Parameters
    ----------
    sink
        All its files are read; its runs are not described yet.
    """
    formats = _formats(sink)
    if len(set(formats.values())) < 2:
        return
    same = _same_times(sink)
    new, gone = set(sink.runs), set[int]()
    for pair in combinations(sorted(formats), 2):
        first, second = pair
        told_apart = formats[first] == formats[second] or pair not in same
        if told_apart or second not in new or gone & set(pair):
            continue
        if first not in new:
            _leave_out(sink, second, formats[first])
            gone.add(second)
            continue
        kept, other = sorted(pair, key=lambda run: _RANKED[formats[run]])
        _join(sink, kept, other)
        gone.add(other)


def _formats(sink: StoreSink) -> dict[int, str]:
    """Return the best format of each run that was read from rocprofv3's files."""
    stored = sink.connection.execute(
        "SELECT DISTINCT run_id, format FROM files WHERE run_id IS NOT NULL AND status = 'read'"
    ).fetchall()
    pairs = [(int(run_id), str(name)) for run_id, name in stored]
    pairs += [
        (record.run_id, record.source.format)
        for record in sink.files
        if record.run_id is not None and record.status == "read"
    ]
    found: dict[int, str] = {}
    for run_id, name in sorted(pairs, key=lambda pair: (pair[0], _RANKED.get(pair[1], 0))):
        if name in _RANKED:
            found.setdefault(run_id, name)
    return found


def _same_times(sink: StoreSink) -> set[tuple[int, int]]:
    found: set[tuple[int, int]] = set()
    for table in _TIMED:
        rows = sink.connection.execute(
            "SELECT list(run_id ORDER BY run_id) FROM (SELECT run_id, count(*) AS n,"
            f" bit_xor(hash(start_ns, end_ns)) AS mark FROM {table} WHERE start_ns IS NOT NULL"
            " GROUP BY run_id) GROUP BY n, mark HAVING count(*) > 1"
        ).fetchall()
        found.update(pair for (runs,) in rows for pair in combinations(runs, 2))
    return found


def _leave_out(sink: StoreSink, run_id: int, known: str) -> None:
    """Take a run back that the profile has from a file of another format."""
    run = sink.connection.execute
    for table in (INCOMING, *_WITH_RUN):
        run(f"DELETE FROM {table} WHERE run_id = {run_id}").fetchall()
    del sink.runs[run_id]
    for record in sink.files:
        if record.run_id == run_id:
            record.run_id, record.status, record.rows = None, "ignored", 0
            sink.note(
                "info",
                "recorded-twice",
                f"{record.source.path.name}: the profile has this run already, read from {known};"
                " read both into a new profile to keep what each knows",
                file_id=record.file_id,
            )


def _join(sink: StoreSink, kept: int, other: int) -> None:
    run = sink.connection.execute
    for table in (INCOMING, *_WITH_RUN):
        run(f"UPDATE {table} SET run_id = {kept} WHERE run_id = {other}").fetchall()
    record = _best_file(sink, kept)
    for each in sink.files:
        if each.run_id == other:
            each.run_id = kept
    del sink.runs[other]
    del sink.workload_of[other]
    replace_twice_recorded(sink, record.source, kept, record.file_id)


def _best_file(sink: StoreSink, run_id: int) -> FileRecord:
    own = [each for each in sink.files if each.run_id == run_id and each.status == "read"]
    return min(own, key=lambda each: _RANKED[each.source.format])
