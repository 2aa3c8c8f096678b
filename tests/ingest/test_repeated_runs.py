"""One run that lies there in two formats is one run, wherever the files lie."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

import rocperf
from rocperf.errors import NothingError
from rocperf.ingest.load import Note, ingest
from rocperf.testing.simulator import Request, profile

TIMING = Request(traces=frozenset({"kernel", "copy", "hip", "marker", "allocation"}))
COUNTERS = Request(counters=("SQ_WAVES", "GRBM_COUNT"))


def written(place: Path, form: str, request: Request = TIMING, start: int = 10**15) -> Path:
    profile("pinned_copies", place / form / "4242", request, [form], start=start)
    return place / form


def ask(path: Path, query: str) -> list[tuple[object, ...]]:
    with rocperf.open(path) as opened:
        return opened.sql(query).rows()


TOTALS = (
    "SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM all_dispatches),"
    " (SELECT count(*) FROM copies), (SELECT count(*) FROM api_calls),"
    " (SELECT count(*) FROM markers), (SELECT count(*) FROM allocations),"
    " (SELECT count(*) FROM counter_values), (SELECT count(*) FROM agents),"
    " (SELECT count(*) FROM links), (SELECT count(*) FROM code_objects)"
)


@pytest.mark.parametrize(
    ("forms", "request_"),
    [
        *((forms, TIMING) for forms in permutations(["csv", "json", "rocpd"], 2)),
        (("csv", "rocpd"), COUNTERS),
        (("rocpd", "json"), COUNTERS),
    ],
)
def test_two_formats_in_two_folders_are_one_run(
    forms: tuple[str, str], request_: Request, tmp_path: Path
) -> None:
    first, second = (written(tmp_path, form, request_) for form in forms)
    best = "rocpd" if "rocpd" in forms else "json"
    alone = ingest([tmp_path / best], tmp_path / "alone.rocperf")
    notes: list[Note] = []
    both = ingest(
        [first, second],
        tmp_path / "both.rocperf",
        on_event=lambda e: notes.append(e) if isinstance(e, Note) else None,
    )
    assert ask(both, TOTALS) == ask(alone, TOTALS)
    assert ask(both, "SELECT sum(bytes) FROM copies") == ask(alone, "SELECT sum(bytes) FROM copies")
    assert ask(both, "SELECT max(runs) FROM launches") == [(1,)]
    assert [note.code for note in notes] == ["recorded-twice"]


def test_three_formats_are_one_run(tmp_path: Path) -> None:
    folders = [written(tmp_path, form) for form in ("json", "csv", "rocpd")]
    alone = ingest([tmp_path / "rocpd"], tmp_path / "alone.rocperf")
    both = ingest(folders, tmp_path / "both.rocperf")
    assert ask(both, TOTALS) == ask(alone, TOTALS)


def test_what_only_one_format_holds_is_kept(tmp_path: Path) -> None:
    """Databases of 7.0 hold no PC samples; a CSV beside them does."""
    csv, rocpd = written(tmp_path, "csv"), written(tmp_path, "rocpd")
    (csv / "4242_pc_sampling_host_trap.csv").write_text(
        '"Sample_Timestamp","Exec_Mask","Dispatch_Id","Instruction","Instruction_Comment",'
        '"Correlation_Id"\n1000,1,1,"s_nop 0","",1\n'
    )
    path = ingest([csv, rocpd], tmp_path / "p.rocperf")
    query = "SELECT r.run_id, r.pid, s.instruction FROM pc_samples s JOIN runs r USING (run_id)"
    assert [row[1:] for row in ask(path, query)] == [(4242, "s_nop 0")]
    assert ask(path, "SELECT count(*) FROM runs") == [(1,)]
    assert ask(path, "SELECT bool_and(bytes > 0) FROM copies") == [(True,)]


def test_another_run_of_the_program_is_another_run(tmp_path: Path) -> None:
    csv = written(tmp_path, "csv")
    rocpd = written(tmp_path, "rocpd", start=10**15 + 1)
    path = ingest([csv, rocpd], tmp_path / "p.rocperf")
    assert ask(path, "SELECT count(*) FROM runs") == [(2,)]
    assert ask(path, "SELECT DISTINCT runs FROM launches") == [(2,)]


def test_what_was_converted_from_a_database_is_not_counted_beside_it(tmp_path: Path) -> None:
    rocpd, csv = written(tmp_path, "rocpd"), written(tmp_path, "csv")
    converted = tmp_path / "rocpd-output-data"
    converted.mkdir()
    for kind in ("kernel_trace", "memory_copy_trace"):
        header, *lines = (csv / f"4242_{kind}.csv").read_text().splitlines()
        text = "\n".join([f'"Guid",{header}', *(f'"0197",{line}' for line in lines), ""])
        (converted / f"out_{kind}.csv").write_text(text)
    alone = ingest([rocpd], tmp_path / "alone.rocperf")
    both = ingest([rocpd, converted], tmp_path / "both.rocperf")
    assert ask(both, TOTALS) == ask(alone, TOTALS)


def test_appending_the_same_run_in_another_format_adds_nothing(tmp_path: Path) -> None:
    csv, rocpd = written(tmp_path, "csv"), written(tmp_path, "rocpd")
    path = ingest([csv], tmp_path / "p.rocperf")
    before = path.read_bytes()
    notes: list[str] = []
    with pytest.raises(NothingError, match="nothing new"):
        ingest(
            [rocpd],
            path,
            mode="append",
            on_event=lambda e: notes.append(e.message) if isinstance(e, Note) else None,
        )
    assert path.read_bytes() == before
    assert "the profile has this run already, read from rocprofv3-csv" in notes[0]
    # Beside a run that is new it is left out alone.
    other = written(tmp_path / "other", "rocpd", COUNTERS)
    ingest([rocpd, other], path, mode="append")
    assert ask(path, "SELECT role FROM runs ORDER BY run_id") == [("timing",), ("counters",)]
    assert ask(path, "SELECT count(*) FROM all_dispatches") == [(4,)]


def test_a_bare_csv_invents_no_host_and_no_command(tmp_path: Path) -> None:
    path = ingest([written(tmp_path, "csv") / "4242_kernel_trace.csv"], tmp_path / "p.rocperf")
    row = "SELECT hostname, command, rank, tool_version, rocm_version, pid FROM runs"
    assert ask(path, row) == [(None, None, None, None, None, 4242)]
    assert ask(path, "SELECT hostname, command FROM processes") == [(None, None)]
    assert ask(path, "SELECT count(*) FROM environment") == [(0,)]
