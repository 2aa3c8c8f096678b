"""The names that formulas may use as ``hw.<name>``, with their units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True)
class HwName:
    """A name that formulas may use as ``hw.<name>``: its unit and one sentence."""

    unit: str
    doc: str


HW_NAMES: Final[Mapping[str, HwName]] = MappingProxyType(
    {
        "cus": HwName("", "Compute units of the agent."),
        "xccs": HwName("", "Accelerator dies (XCCs) of the agent."),
        "simds_per_cu": HwName("", "SIMDs of a compute unit."),
        "simds": HwName("", "SIMDs of the agent."),
        "wave_size": HwName("work-items", "Lanes of a wave."),
        "max_waves_per_simd": HwName("waves", "Wave slots of a SIMD."),
        "max_waves_per_cu": HwName("waves", "Wave slots of a compute unit."),
        "shader_engines": HwName("", "Shader engines of the agent."),
        "clock_hz": HwName("Hz", "Highest engine clock."),
        "lds_bytes_per_cu": HwName("B", "LDS of a compute unit."),
        "lds_banks": HwName("", "LDS banks."),
        "lds_bank_bytes": HwName("B", "Width of an LDS bank."),
        "lds_bytes_per_clk": HwName("B/cycle", "Peak LDS bytes a clock and compute unit, reads."),
        "l1_bytes": HwName("B", "Vector L1 (RDNA: L0) of a compute unit."),
        "l1_line": HwName("B", "Line of the vector L1 (RDNA: L0)."),
        "l1_bytes_per_clk": HwName("B/cycle", "Peak vector L1 bytes a clock and compute unit."),
        "l2_bytes": HwName("B", "L2 of the agent, all dies."),
        "l2_line": HwName("B", "Line of the L2."),
        "l2_channels": HwName("", "L2 channels of the agent, all dies."),
        "l2_bytes_per_clk": HwName("B/cycle", "Peak L2 bytes a clock, all channels."),
        "l3_bytes": HwName("B", "Infinity Cache of the whole product."),
        "dram_bytes_per_s": HwName("B/s", "Datasheet bandwidth of device memory."),
        "dram_copy_bytes_per_s": HwName("B/s", "Copy rate that AMD's acceptance test asks for."),
        "memory_bytes": HwName("B", "Device memory."),
    }
    | {
        f"{unit}_{kind}_{what}_per_clk": HwName(
            f"{what}/cycle", f"Peak {kind.upper()} {unit} {what} a clock, all compute units."
        )
        for unit, kind, what in (
            ("vector", "fp64", "flops"),
            ("vector", "fp32", "flops"),
            ("vector", "fp16", "flops"),
            ("matrix", "fp64", "flops"),
            ("matrix", "fp32", "flops"),
            ("matrix", "xf32", "flops"),
            ("matrix", "fp16", "flops"),
            ("matrix", "bf16", "flops"),
            ("matrix", "fp8", "flops"),
            ("matrix", "fp6", "flops"),
            ("matrix", "fp4", "flops"),
            ("matrix", "int8", "ops"),
        )
    }
)
"""Every name of `Gpu.hw`."""
