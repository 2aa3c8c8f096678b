"""Tables about everything else that happened: copies, calls, markers, samples."""

from __future__ import annotations

from rocperf.schema.column import CORRELATION, END, FILE, ROW, RUN, START, THREAD, Column, Table

COPIES = Table(
    "copies",
    "One row per copy that a copy engine made.",
    (
        RUN,
        CORRELATION,
        Column("direction", "VARCHAR", "host_to_device, device_to_host, device_to_device …"),
        Column("src_agent_id", "UBIGINT", "Agent it came from."),
        Column("dst_agent_id", "UBIGINT", "Agent it went to."),
        Column("bytes", "UBIGINT", "Size; NULL when the source has none (every CSV).", "B"),
        START,
        END,
        THREAD,
        Column("stream_id", "UBIGINT", "HIP stream."),
        Column("src_address", "UBIGINT", "Address it was read from."),
        Column("dst_address", "UBIGINT", "Address it was written to."),
        FILE,
        ROW,
    ),
)
ALLOCATIONS = Table(
    "allocations",
    "One row per allocation or release of memory.",
    (
        RUN,
        Column("operation", "VARCHAR", "alloc, free, vmem_alloc, vmem_free …", required=True),
        Column("agent_id", "UBIGINT", "Agent; NULL for a release."),
        Column("address", "UBIGINT", "Address."),
        Column("bytes", "UBIGINT", "Size; NULL for a release.", "B"),
        START,
        END,
        THREAD,
        CORRELATION,
        FILE,
        ROW,
    ),
)
SCRATCH_EVENTS = Table(
    "scratch_events",
    "One row per change of a queue's scratch memory.",
    (
        RUN,
        Column("operation", "VARCHAR", "alloc, free or async_reclaim.", required=True),
        Column("agent_id", "UBIGINT", "GPU."),
        Column("queue_id", "UBIGINT", "Queue."),
        Column("bytes", "UBIGINT", "Size, where the source has it.", "B"),
        Column("flags", "UINTEGER", "Flags of the allocation."),
        START,
        END,
        THREAD,
        FILE,
        ROW,
    ),
)
API_CALLS = Table(
    "api_calls",
    "One row per call of a traced programming interface.",
    (
        RUN,
        Column("domain", "VARCHAR", "hip, hip_compiler, hsa, rccl, rocdecode, rocjpeg …"),
        Column("name", "VARCHAR", "Function.", required=True),
        THREAD,
        CORRELATION,
        START,
        END,
        Column("args", "VARCHAR", "Arguments as a JSON object, where the source has them."),
        FILE,
        ROW,
    ),
)
MARKERS = Table(
    "markers",
    "One row per roctx mark or range.",
    (
        RUN,
        Column("kind", "VARCHAR", "mark, range or control.", required=True),
        Column("message", "VARCHAR", "Its text."),
        THREAD,
        CORRELATION,
        START,
        END,
        FILE,
        ROW,
    ),
)
PC_SAMPLES = Table(
    "pc_samples",
    "One row per sample of a wave's program counter.",
    (
        RUN,
        Column("method", "VARCHAR", "host_trap or stochastic.", required=True),
        Column("timestamp_ns", "BIGINT", "When.", "ns"),
        Column("dispatch_id", "UBIGINT", "Dispatch the wave belongs to."),
        CORRELATION,
        Column("exec_mask", "UBIGINT", "Active lanes, one bit each."),
        Column("instruction", "VARCHAR", "Instruction text; NULL when unknown."),
        Column("source", "VARCHAR", "Source line or comment."),
        Column("issued", "BOOLEAN", "Whether the wave issued an instruction."),
        Column("instruction_type", "VARCHAR", "Kind of instruction."),
        Column("stall_reason", "VARCHAR", "Why nothing was issued; NULL when issued."),
        Column("wave_count", "UINTEGER", "Waves resident then."),
        FILE,
        ROW,
    ),
)
KFD_EVENTS = Table(
    "kfd_events",
    "One row per event of the kernel driver: page migration, fault, queue eviction.",
    (
        RUN,
        Column("kind", "VARCHAR", "page_migrate, page_fault, queue, unmap or dropped."),
        Column("operation", "VARCHAR", "What happened, such as its trigger."),
        Column("agent_id", "UBIGINT", "Agent it concerns."),
        Column("src_agent_id", "UBIGINT", "Agent that pages left."),
        Column("dst_agent_id", "UBIGINT", "Agent that pages went to."),
        Column("address", "UBIGINT", "First address."),
        Column("bytes", "UBIGINT", "Size of the range.", "B"),
        START,
        END,
        Column("args", "VARCHAR", "Everything else it says, as a JSON object."),
        FILE,
        ROW,
    ),
)
SENSOR_SAMPLES = Table(
    "sensor_samples",
    "One row per sample of a device or host sensor; these belong to no dispatch.",
    (
        RUN,
        Column("name", "VARCHAR", "Sensor.", required=True),
        Column("unit", "VARCHAR", "Unit as the source states it."),
        Column("agent_id", "UBIGINT", "Agent."),
        Column("timestamp_ns", "BIGINT", "When.", "ns"),
        Column("value", "DOUBLE", "Reading."),
        FILE,
        ROW,
    ),
)
