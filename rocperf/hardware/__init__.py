"""What is true of a GPU: figures with their sources, occupancy, links."""

from __future__ import annotations

from rocperf.hardware.calculator import Calculation, calculate, find_gpu
from rocperf.hardware.facts import (
    BlockLimits,
    Figure,
    GpuFacts,
    Product,
    known_targets,
    source_text,
    target_facts,
)
from rocperf.hardware.gpu import Gpu
from rocperf.hardware.links import Link, host_link, pcie_link, peer_link
from rocperf.hardware.names import HW_NAMES, HwName
from rocperf.hardware.occupancy import (
    KernelResources,
    Limiter,
    Occupancy,
    compiler_waves_per_simd,
    resident_occupancy,
)
from rocperf.hardware.reported import (
    Caveat,
    Reported,
    halved_counts,
    proven_wave_size,
    reported_resources,
)
from rocperf.hardware.whatif import (
    Change,
    Fill,
    Step,
    fill,
    headroom,
    max_lds,
    max_vgprs,
    next_steps,
)

__all__ = [
    "HW_NAMES",
    "BlockLimits",
    "Calculation",
    "Caveat",
    "Change",
    "Figure",
    "Fill",
    "Gpu",
    "GpuFacts",
    "HwName",
    "KernelResources",
    "Limiter",
    "Link",
    "Occupancy",
    "Product",
    "Reported",
    "Step",
    "calculate",
    "compiler_waves_per_simd",
    "fill",
    "find_gpu",
    "halved_counts",
    "headroom",
    "host_link",
    "known_targets",
    "max_lds",
    "max_vgprs",
    "next_steps",
    "pcie_link",
    "peer_link",
    "proven_wave_size",
    "reported_resources",
    "resident_occupancy",
    "source_text",
    "target_facts",
]
