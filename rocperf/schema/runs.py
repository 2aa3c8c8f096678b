"""Tables about the runs, their files, and what went wrong."""

from __future__ import annotations

from rocperf.schema.column import RUN, Column, Table

META = Table(
    "meta",
    "One row per fact about the profile itself: schema_version, rocperf_version, profile_id.",
    (
        Column("key", "VARCHAR", "Name of the fact.", required=True),
        Column("value", "VARCHAR", "Its value as text."),
    ),
)
FILES = Table(
    "files",
    "One row per file of profiler output that was read or refused.",
    (
        Column("file_id", "UINTEGER", "Unique in the profile.", required=True),
        Column("run_id", "UINTEGER", "Run it belongs to; NULL when refused or shared by runs."),
        Column("path", "VARCHAR", "Path as it was given.", required=True),
        Column("sha256", "VARCHAR", "Checksum of its bytes, hexadecimal."),
        Column("bytes", "UBIGINT", "Size.", "B"),
        Column("format", "VARCHAR", "Format as recognised by content, such as rocprofv3-csv."),
        Column("kind", "VARCHAR", "What it holds, such as kernel_trace; NULL when mixed."),
        Column("version", "VARCHAR", "Generation of the format, where it can be told."),
        Column("rows", "UBIGINT", "Records stored."),
        Column("rejected", "UBIGINT", "Records not stored; each kind has a note."),
        Column("status", "VARCHAR", "read, ignored or refused.", required=True),
    ),
)
RUNS = Table(
    "runs",
    "One row per process under the profiler in one pass.",
    (
        RUN,
        Column("process_id", "UINTEGER", "Process of the program; several runs of it share it."),
        Column("role", "VARCHAR", "timing or counters.", required=True),
        Column("pass", "UINTEGER", "Number of the pass; NULL when not recorded by collect."),
        Column("hostname", "VARCHAR", "Host it ran on."),
        Column("pid", "UBIGINT", "Process id of the operating system."),
        Column("rank", "UINTEGER", "Rank in an MPI or torchrun job."),
        Column("command", "VARCHAR", "Command line of the program, without environment."),
        Column("start_ns", "BIGINT", "First recorded event.", "ns"),
        Column("end_ns", "BIGINT", "Last recorded event.", "ns"),
        Column("tool", "VARCHAR", "Program that recorded it."),
        Column("tool_version", "VARCHAR", "Its version, where the output tells."),
        Column("rocm_version", "VARCHAR", "ROCm version, where the output tells."),
        Column("status", "VARCHAR", "complete, incomplete or failed.", required=True),
    ),
)
PROCESSES = Table(
    "processes",
    "One row per process of the program, whatever runs saw it.",
    (
        Column("process_id", "UINTEGER", "Unique in the profile.", required=True),
        Column("hostname", "VARCHAR", "Host it ran on."),
        Column("rank", "UINTEGER", "Rank in an MPI or torchrun job."),
        Column("ordinal", "UINTEGER", "Place in start order within a run of the program."),
        Column("command", "VARCHAR", "Command line."),
    ),
)
ENVIRONMENT = Table(
    "environment",
    "One row per allowed environment variable of a run; nothing else of it is ever kept.",
    (
        RUN,
        Column("name", "VARCHAR", "Variable.", required=True),
        Column("value", "VARCHAR", "Its value."),
    ),
)
PASSES = Table(
    "passes",
    "One row per pass of collect.",
    (
        Column("pass", "UINTEGER", "Number, from 1.", required=True),
        Column("role", "VARCHAR", "timing or counters.", required=True),
        Column("purpose", "VARCHAR", "What it was for."),
        Column("command", "VARCHAR", "Exact command, as a JSON list."),
        Column("exit_code", "INTEGER", "Exit status; negative for a signal."),
        Column("status", "VARCHAR", "complete, failed, interrupted or missing.", required=True),
        Column("message", "VARCHAR", "What went wrong, in the user's words."),
        Column("duration_ns", "BIGINT", "How long it took.", "ns"),
    ),
)
REQUESTED_COUNTERS = Table(
    "requested_counters",
    "One row per pass and counter that was asked for.",
    (
        Column("pass", "UINTEGER", "Pass.", required=True),
        Column("counter", "VARCHAR", "Counter.", required=True),
        Column("received", "BOOLEAN", "Whether values came back.", required=True),
    ),
)
NOTES = Table(
    "notes",
    "One row per oddity met while reading or collecting.",
    (
        Column("severity", "VARCHAR", "info, warning or error.", required=True),
        Column("code", "VARCHAR", "Stable id, such as rows-repaired.", required=True),
        Column("message", "VARCHAR", "What was odd, in one sentence.", required=True),
        Column("file_id", "UINTEGER", "File."),
        Column("row", "UBIGINT", "First record concerned."),
        Column("rows", "UBIGINT", "How many records are concerned."),
        Column("run_id", "UINTEGER", "Run."),
    ),
)
