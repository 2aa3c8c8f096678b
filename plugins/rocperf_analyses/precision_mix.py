"""Whether a kernel calculates in a precision, or on a unit, that the GPU is slow at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import rocperf
from rocperf import Finding, Gpu, Measure, Query, Requires, Subject, option
from rocperf_analyses.kernel_bounds import MATRIX, VECTOR, Values, gpus_of, uncounted
from rocperf_analyses.kernel_times import KernelTime, judged, kernel_times, saving

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile

DECIDING = tuple(VECTOR)
HELPING = (*MATRIX, "valu-utilisation", "mfma-utilisation", "conversion-share")
#: Precisions of matrix operations that are narrower than 32 bits, or rounded to fewer.
NARROW = (
    "mfma-flops-f16", "mfma-flops-bf16", "mfma-flops-f8", "mfma-flops-f6f4", "mfma-flops-xf32",
)  # fmt: skip
#: The matrix operations that do the same as vector ones.
SAME = {
    "valu-flops-f16": "mfma-flops-f16",
    "valu-flops-f32": "mfma-flops-f32",
    "valu-flops-f64": "mfma-flops-f64",
}
#: Part of all operations from which one kind is what a kernel does. A choice of ours.
MOST = 0.8
SHAPES = """
SELECT kernel_id, bool_or(coalesce(lds_bytes, 0) > 0) FROM all_dispatches GROUP BY kernel_id
"""
EVIDENCE = """
SELECT counter, sum(value) AS total, count(*) AS dispatches FROM counters
WHERE kernel_id = $kernel_id AND (starts_with(counter, 'SQ_INSTS_VALU')
    OR counter IN ('SQ_VALU_MFMA_BUSY_CYCLES', 'SQ_ACTIVE_INST_VALU'))
GROUP BY counter ORDER BY counter
"""


@dataclass(frozen=True)
class PrecisionOptions(rocperf.Options):
    """Options of `PrecisionMix`."""

    min_share: float = option(
        0.01, help="Leave out kernels below this share of kernel time; ours.", minimum=0, maximum=1
    )
    fp64: float = option(
        0.2,
        help="Part of the operations that FP64 on matrix units takes from which it is reported "
        "on GPUs whose matrix units are no faster at it than their vector ALUs; ours.",
        minimum=0,
        maximum=1,
    )
    conversions: float = option(
        10.0,
        help="Share of the vector instructions that convert numbers from which they are "
        "reported; ours.",
        unit="%",
        minimum=0,
        maximum=100,
    )
    busy: float = option(
        60.0,
        help="Vector ALU utilisation from which arithmetic that matrix units could do is "
        "reported; ours.",
        unit="%",
        minimum=0,
        maximum=100,
    )


@dataclass(frozen=True)
class Candidate:
    """A rule that holds: what to say, and by which part of the unit's time it could get faster.

    Parameters
    ----------
    busy
        Part of the time in which the unit works, 0 to 1; None when it is not known.
    gain
        Part of that which could go, 0 to 1.
    """

    rule: str
    title: str
    advice: str
    because: str
    busy: float | None
    gain: float
    doubts: tuple[str, ...]


class PrecisionMix(rocperf.Analysis[PrecisionOptions]):
    """Find arithmetic that a narrower type, or the matrix units, would do faster.

    Peaks of a GPU are the datasheet's. Whether a program can do with fewer digits nobody can
    tell from counters: each finding is a candidate.
    """

    id = "precision-mix"
    title = "Precision of arithmetic"
    requires = Requires(
        tables=("dispatches",), metrics=DECIDING, optional=HELPING, deep=("conversion-share",)
    )

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield a finding for each rule that holds for a kernel."""
        kernels = kernel_times(profile, self.options.min_share)
        gpus, partly = gpus_of(profile, kernels), uncounted(profile)
        tiled = dict(profile.sql(SHAPES).iter_rows())
        for kernel_id, values in judged(profile, DECIDING, HELPING, kernels).items():
            gpu = gpus.get(kernel_id)
            found = [self._conversions(values)]
            if gpu is not None and kernel_id not in partly:
                found += [self._fp32(gpu, values), self._fp64(gpu, values)]
                found += [self._idle(gpu, values)] if tiled.get(kernel_id) else []
            for candidate in found:
                if candidate is not None:
                    yield self._finding(profile, kernels[kernel_id], candidate, values)

    def _fp32(self, gpu: Gpu, values: Values) -> Candidate | None:
        narrow = sum(_count(values, each) for each in NARROW)
        wide, whole = _count(values, "mfma-flops-f32"), _whole(values)
        name, figure = ("XF32", "matrix_xf32_flops_per_clk")
        if not gpu.hw(figure):
            name, figure = ("BF16", "matrix_bf16_flops_per_clk")
        slow, fast = gpu.hw("matrix_fp32_flops_per_clk"), gpu.hw(figure)
        if not whole or wide < MOST * whole or narrow or not slow or not fast:
            return None
        return Candidate(
            "fp32-matrix",
            f"{100 * wide / whole:.0f} % of its operations are FP32 on the matrix units, which do "
            f"{name} {fast / slow:.3g} times as fast",
            f"Try {name} inputs with FP32 sums where the error allows it: rocBLAS and hipBLASLt "
            "take a compute type, PyTorch torch.set_float32_matmul_precision or autocast.",
            f"The same work in {name} takes {100 * slow / fast:.3g} % of the matrix units' time",
            _busy(values, "mfma-utilisation"),
            1 - slow / fast,
            ("whether fewer digits do is not for counters to tell",),
        )

    def _fp64(self, gpu: Gpu, values: Values) -> Candidate | None:
        wide, whole = _count(values, "mfma-flops-f64"), _whole(values)
        matrix, vector = gpu.hw("matrix_fp64_flops_per_clk"), gpu.hw("vector_fp64_flops_per_clk")
        single = gpu.hw("matrix_fp32_flops_per_clk")
        if not whole or wide < self.options.fp64 * whole or not matrix or not vector or not single:
            return None
        if matrix > vector:
            return None
        return Candidate(
            "fp64-matrix",
            f"{100 * wide / whole:.0f} % of its operations are FP64 on matrix units that are no "
            "faster at it than the vector ALUs",
            "Solve in FP32 and refine in FP64 (iterative refinement), or run FP64 on a GPU that "
            "has full-rate FP64 matrix units.",
            f"The same work in FP32 takes {100 * matrix / single:.3g} % of the matrix units' time",
            _busy(values, "mfma-utilisation"),
            1 - matrix / single,
            ("whether fewer digits do is not for counters to tell",),
        )

    def _idle(self, gpu: Gpu, values: Values) -> Candidate | None:
        busy, whole = _busy(values, "valu-utilisation"), _whole(values)
        if busy is None or 100 * busy < self.options.busy or not whole:
            return None
        for metric, same in SAME.items():
            (name, slow_figure), (_, fast_figure) = VECTOR[metric], MATRIX[same]
            slow, fast = gpu.hw(slow_figure), gpu.hw(fast_figure)
            matrix = any(_count(values, each) for each in MATRIX)
            if matrix or _count(values, metric) < MOST * whole or not slow or not fast:
                continue
            if fast < 2 * slow:
                continue
            return Candidate(
                "idle-matrix",
                f"it calculates in {name} on the vector ALUs, {100 * busy:.0f} % of the time; the "
                f"matrix units would be {fast / slow:.3g} times as fast",
                "If it multiplies matrices, or can be written so, call rocBLAS or hipBLASLt, or "
                "use rocWMMA fragments or the __builtin_amdgcn_mfma intrinsics.",
                f"On the matrix units the same operations take {100 * slow / fast:.3g} % of the "
                "vector ALUs' time",
                busy,
                1 - slow / fast,
                ("that it multiplies matrices is only guessed, because it keeps tiles in LDS",),
            )
        return None

    def _conversions(self, values: Values) -> Candidate | None:
        share = values.get("conversion-share")
        if share is None or share["value"] < self.options.conversions:
            return None
        return Candidate(
            "conversions",
            f"{share['value']:.0f} % of its vector instructions convert between number formats",
            "Write constants with the suffix of their type (1.0f), keep one type through the inner "
            "loop, and convert once when loading or storing, two values at a time (packed).",
            f"Without conversions {share['value']:.1f} % of the vector instructions go",
            _busy(values, "valu-utilisation"),
            share["value"] / 100,
            (),
        )

    def _finding(
        self, profile: Profile, kernel: KernelTime, found: Candidate, values: Values
    ) -> Finding:
        part = found.gain * (found.busy if found.busy is not None else 1.0)
        unknown = "how much of the time the unit works is not known"
        doubts = (*found.doubts, *(() if found.busy is not None else (unknown,)))
        worked = f", {100 * found.busy:.1f} % of the kernel's" if found.busy is not None else ""
        measures = [
            Measure(f"{name} operations on the {where}", values[metric]["value"], "")
            for kinds, where in ((VECTOR, "vector ALUs"), (MATRIX, "matrix units"))
            for metric, (name, _) in kinds.items()
            if _count(values, metric)
        ]
        return Finding(
            rule=f"precision-mix/{found.rule}",
            subject=Subject("kernel", kernel.name, {"kernel_id": kernel.kernel_id}),
            title=f"{kernel.name}: {found.title}",
            advice=found.advice,
            saves_ns=saving(profile, kernel.total_ns, part),
            reasoning=f"{found.because}{worked}.",
            confidence="low" if found.busy is None or found.rule == "idle-matrix" else "medium",
            doubts=doubts,
            evidence=(*measures, Query("counters", EVIDENCE, {"kernel_id": kernel.kernel_id})),
        )


def _count(values: Values, metric: str) -> float:
    """Return the operations of one dispatch; 0 where the GPU cannot do them."""
    return values[metric]["value"] / values[metric]["n"] if metric in values else 0.0


def _whole(values: Values) -> float:
    return sum(_count(values, each) for each in (*VECTOR, *MATRIX))


def _busy(values: Values, metric: str) -> float | None:
    return values[metric]["value"] / 100 if metric in values else None


@rocperf.hookimpl
def rocperf_analyses() -> list[type[PrecisionMix]]:
    """Register the analysis."""
    return [PrecisionMix]
