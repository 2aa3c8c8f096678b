"""Tables about kernels: launches, dispatches, counters."""

from __future__ import annotations

from rocperf.schema.column import CORRELATION, END, FILE, ROW, RUN, START, THREAD, Column, Table

KERNELS = Table(
    "kernels",
    "One row per kernel name.",
    (
        Column("kernel_id", "UINTEGER", "Unique in the profile.", required=True),
        Column("name", "VARCHAR", "Full name as recorded.", required=True),
        Column("group_name", "VARCHAR", "Name without the tails that tools add.", required=True),
        Column("short_name", "VARCHAR", "Short name for people, unique.", required=True),
        Column("role", "VARCHAR", "compute, copy, fill or communication.", required=True),
    ),
)
LAUNCHES = Table(
    "launches",
    "One row per kernel launch of the program, whatever runs saw it.",
    (
        Column("launch_id", "UBIGINT", "Unique in the profile.", required=True),
        Column("process_id", "UINTEGER", "Process."),
        Column("kernel_id", "UINTEGER", "Kernel.", required=True),
        Column("nth", "UINTEGER", "Place among equal launches, from 1.", required=True),
        Column("runs", "UINTEGER", "Runs that saw it.", required=True),
    ),
)
_DISPATCH_COLUMNS = (
    RUN,
    Column("dispatch_id", "UBIGINT", "Unique within a run.", required=True),
    Column("launch_id", "UBIGINT", "Launch of the program it is; NULL when not matched."),
    Column("kernel_id", "UINTEGER", "Kernel.", required=True),
    Column("agent_id", "UBIGINT", "GPU it ran on."),
    Column("queue_id", "UBIGINT", "Hardware queue."),
    Column("stream_id", "UBIGINT", "HIP stream; NULL when the source has none."),
    THREAD,
    CORRELATION,
    START,
    END,
    Column("grid_x", "UBIGINT", "Work-items along x.", "work-items"),
    Column("grid_y", "UBIGINT", "Work-items along y.", "work-items"),
    Column("grid_z", "UBIGINT", "Work-items along z.", "work-items"),
    Column("grid_size", "UBIGINT", "Work-items in all; NULL when it wrapped.", "work-items"),
    Column("workgroup_x", "UINTEGER", "Work-items of a workgroup along x.", "work-items"),
    Column("workgroup_y", "UINTEGER", "Work-items of a workgroup along y.", "work-items"),
    Column("workgroup_z", "UINTEGER", "Work-items of a workgroup along z.", "work-items"),
    Column("workgroup_size", "UINTEGER", "Work-items of a workgroup.", "work-items"),
    Column("lds_bytes", "UINTEGER", "LDS of the launch, dynamic included; else NULL.", "B"),
    Column("static_lds_bytes", "UINTEGER", "LDS that the code object declares.", "B"),
    Column("scratch_bytes", "UINTEGER", "Private memory of a work-item.", "B"),
    Column("vgpr", "UINTEGER", "Vector registers as the profiler states them."),
    Column("agpr", "UINTEGER", "Accumulation registers as the profiler states them."),
    Column("sgpr", "UINTEGER", "Scalar registers as the profiler states them."),
    FILE,
    ROW,
)
ALL_DISPATCHES = Table(
    "all_dispatches", "One row per kernel dispatch of every run.", _DISPATCH_COLUMNS
)
DISPATCHES = Table(
    "dispatches",
    "One row per kernel dispatch to take times from: those of the timing runs or, for a process "
    "without one, those of its first counter run, marked serialised.",
    (
        *_DISPATCH_COLUMNS,
        Column("serialised", "BOOLEAN", "True when a counter run's times stand in."),
    ),
    sql=(
        "SELECT d.*, r.role = 'counters' AS serialised FROM all_dispatches d "
        "JOIN (SELECT run_id, role FROM runs QUALIFY CASE WHEN "
        "bool_or(role = 'timing') OVER (PARTITION BY process_id) THEN role = 'timing' ELSE "
        "run_id = min(run_id) OVER (PARTITION BY process_id) END) r USING (run_id)"
    ),
)
COUNTER_VALUES = Table(
    "counter_values",
    "One row per run, dispatch and hardware counter, as measured. A counter that several runs took"
    " has a row of each: sum within one run.",
    (
        RUN,
        Column("dispatch_id", "UBIGINT", "Dispatch it belongs to.", required=True),
        Column("counter", "VARCHAR", "Name of the counter.", required=True),
        Column("value", "DOUBLE", "Summed over instances once; NULL when it is not usable."),
        Column("reason", "VARCHAR", "Why the value is not usable."),
        FILE,
        ROW,
    ),
)
COUNTERS = Table(
    "counters",
    "Counter values with the kernel and launch that they belong to; sum within one run.",
    (
        *COUNTER_VALUES.columns,
        Column("kernel_id", "UINTEGER", "Kernel."),
        Column("agent_id", "UBIGINT", "GPU."),
        Column("launch_id", "UBIGINT", "Launch; NULL when not matched."),
    ),
    sql=(
        "SELECT c.*, d.kernel_id, d.agent_id, d.launch_id FROM counter_values c "
        "LEFT JOIN all_dispatches d USING (run_id, dispatch_id)"
    ),
)
COUNTER_INSTANCES = Table(
    "counter_instances",
    "One row per dispatch, counter and hardware instance, where the source tells them apart.",
    (
        RUN,
        Column("dispatch_id", "UBIGINT", "Dispatch it belongs to.", required=True),
        Column("counter", "VARCHAR", "Name of the counter.", required=True),
        Column("instance", "UINTEGER", "Number of the instance, from 0.", required=True),
        Column("value", "DOUBLE", "Value of that instance."),
        FILE,
        ROW,
    ),
)
