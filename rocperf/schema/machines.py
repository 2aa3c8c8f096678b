"""Tables about the machine: agents, links, code objects."""

from __future__ import annotations

from rocperf.schema.column import FILE, ROW, RUN, Column, Table

AGENTS = Table(
    "agents",
    "One row per CPU or GPU that a run listed.",
    (
        RUN,
        Column("agent_id", "UBIGINT", "Node number within the run.", required=True),
        Column("kind", "VARCHAR", "CPU or GPU.", required=True),
        Column("logical_index", "UINTEGER", "Place among all agents."),
        Column("type_index", "UINTEGER", "Place among agents of its kind."),
        Column("target", "VARCHAR", "gfx target, such as gfx942; NULL for a CPU."),
        Column("product", "VARCHAR", "Product name."),
        Column("cu_count", "UINTEGER", "Compute units, over all dies of the agent."),
        Column("num_xcc", "UINTEGER", "Accelerator dies."),
        Column("simd_count", "UINTEGER", "SIMDs, over all dies."),
        Column("simd_per_cu", "UINTEGER", "SIMDs of a compute unit."),
        Column("shader_engines", "UINTEGER", "Shader engines, over all dies."),
        Column("wave_size", "UINTEGER", "Lanes of a wave."),
        Column("max_waves_per_simd", "UINTEGER", "Wave slots of a SIMD."),
        Column("max_waves_per_cu", "UINTEGER", "Wave slots of a compute unit."),
        Column("lds_bytes_per_cu", "UINTEGER", "LDS of a compute unit.", "B"),
        Column("clock_mhz", "UINTEGER", "Highest engine clock.", "MHz"),
        Column("memory_clock_mhz", "UINTEGER", "Highest memory clock.", "MHz"),
        Column("memory_bytes", "UBIGINT", "Device memory.", "B"),
        Column("l2_channels", "UINTEGER", "L2 channels, over all dies."),
        Column("compute_partition", "VARCHAR", "Compute partition mode, such as SPX."),
        Column("memory_partition", "VARCHAR", "Memory partition mode, such as NPS1."),
        Column("hive_id", "UBIGINT", "xGMI hive; 0 when in none."),
        Column("numa_node", "UINTEGER", "Nearest NUMA node."),
        Column("pci_domain", "UINTEGER", "PCI domain."),
        Column("location_id", "UINTEGER", "PCI bus, device and function."),
        FILE,
    ),
)
LINKS = Table(
    "links",
    "One row per direct link from one agent to another.",
    (
        RUN,
        Column("from_agent_id", "UBIGINT", "Agent at one end.", required=True),
        Column("to_agent_id", "UBIGINT", "Agent at the other end.", required=True),
        Column("kind", "VARCHAR", "xgmi, pcie or other.", required=True),
        Column("hops", "UINTEGER", "Hops between the two."),
        Column("weight", "UINTEGER", "Distance that the driver states."),
        Column("max_bandwidth", "UBIGINT", "Bandwidth that the driver states.", "B/s"),
        FILE,
    ),
)
CODE_OBJECTS = Table(
    "code_objects",
    "One row per code object that a process loaded.",
    (
        RUN,
        Column("code_object_id", "UBIGINT", "Unique within a run.", required=True),
        Column("agent_id", "UBIGINT", "GPU it was loaded for."),
        Column("uri", "VARCHAR", "Where it came from."),
        Column("load_base", "UBIGINT", "Address it was loaded at."),
        Column("load_bytes", "UBIGINT", "Size in memory.", "B"),
        FILE,
        ROW,
    ),
)
