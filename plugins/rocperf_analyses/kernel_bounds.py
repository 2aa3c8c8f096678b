"""How busy a kernel keeps the units of a GPU, and what their peaks would allow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rocperf import Gpu

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile

#: Share of the waves' time from which a kernel counts as waiting. A choice of ours: metrics of
#: recorded matrix products read 7 to 25 %, copies and reductions 70 to 99 %.
WAITING = 60.0
#: Utilisations of a unit that never exceed the time of the kernel, with a name for people.
UNITS = {
    "valu-utilisation": "vector ALUs",
    "mfma-utilisation": "matrix units",
    "lds-utilisation": "LDS",
}
#: Rates of memory traffic; on gfx942 their counters do not fit into one run together.
TRAFFIC = ("fabric-read-bandwidth", "fabric-write-bandwidth")
#: Metric of operations, and the figure that says how many a GPU can do in a cycle.
VECTOR = {
    "valu-flops-f16": ("FP16", "vector_fp16_flops_per_clk"),
    "valu-flops-f32": ("FP32", "vector_fp32_flops_per_clk"),
    "valu-flops-f64": ("FP64", "vector_fp64_flops_per_clk"),
}
MATRIX = {
    "mfma-flops-f6f4": ("FP6/FP4", "matrix_fp6_flops_per_clk"),
    "mfma-flops-f8": ("FP8", "matrix_fp8_flops_per_clk"),
    "mfma-flops-f16": ("FP16", "matrix_fp16_flops_per_clk"),
    "mfma-flops-bf16": ("BF16", "matrix_bf16_flops_per_clk"),
    "mfma-flops-xf32": ("XF32", "matrix_xf32_flops_per_clk"),
    "mfma-flops-f32": ("FP32", "matrix_fp32_flops_per_clk"),
    "mfma-flops-f64": ("FP64", "matrix_fp64_flops_per_clk"),
}

#: A run and GPU of each kernel.
RUNS = """
SELECT DISTINCT ON (kernel_id) kernel_id, run_id, agent_id FROM all_dispatches
WHERE list_contains($kernels, kernel_id) ORDER BY kernel_id, run_id
"""

Values = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Share:
    """Of a kernel's time, the part in which one unit must have worked, 0 to 1, and its name."""

    part: float
    unit: str


def remembering(values: Values, gpu: Gpu | None) -> Share | None:
    """Return the part of the time that a kernel's memory traffic takes at the peak, at most 1.

    Caches behind the fabric can serve more than memory does. None where a rate, or the bandwidth
    of the GPU, is not known.
    """
    if gpu is None or not gpu.dram_bytes_per_s or any(each not in values for each in TRAFFIC):
        return None
    rate = sum(values[each]["value"] for each in TRAFFIC) * 1e9
    return Share(min(1.0, rate / gpu.dram_bytes_per_s), "device memory")


def busiest(values: Values, gpu: Gpu | None) -> Share | None:
    """Return the unit that worked most of the time, of those that were measured."""
    known = [Share(values[m]["value"] / 100, UNITS[m]) for m in UNITS if m in values]
    memory = remembering(values, gpu)
    return max((*known, *([memory] if memory else [])), key=lambda s: s.part, default=None)


def calculating(
    values: Values, kinds: Mapping[str, tuple[str, str]], gpu: Gpu, mean_ns: float
) -> Share | None:
    """Return the part of the time that a kernel's operations take at the peak.

    Parameters
    ----------
    values
        Rows of the metrics of `kinds`, where there is a value.
    kinds
        `VECTOR` or `MATRIX`; operations of one kind run one after another.
    mean_ns
        Time of one dispatch, nanoseconds; of operations the row says how many it covers.

    Returns
    -------
    Share or None
        Its name is the precision that takes most of it; None where a peak is not known.
    """
    clock = gpu.hw("clock_hz")
    parts: dict[str, float] = {}
    for metric, (name, figure) in kinds.items():
        if metric not in values or not values[metric]["value"]:
            continue
        peak = gpu.hw(figure)
        if not peak or not clock:
            return None
        each = values[metric]["value"] / values[metric]["n"]
        parts[name] = each / (peak * clock) * 1e9 / mean_ns
    if not parts:
        return Share(0.0, "")
    return Share(sum(parts.values()), max(parts, key=lambda name: parts[name]))


def uncounted(profile: Profile) -> set[int]:
    """Name kernels of which some matrix operations that the GPU can count were not."""
    rows = profile.metrics(list(MATRIX)).to_dicts()
    return {
        row["kernel_id"]
        for row in rows
        if row["state"] != "value" and not str(row["reason"]).startswith("not available on")
    }


def gpus_of(profile: Profile, kernels: Iterable[int]) -> dict[int, Gpu | None]:
    """Return the GPU that each kernel ran on; of several kinds, that of the first run."""
    rows = profile.sql(RUNS, {"kernels": list(kernels)}).iter_rows()
    return {kernel: profile.gpu_of(run, agent) for kernel, run, agent in rows}
