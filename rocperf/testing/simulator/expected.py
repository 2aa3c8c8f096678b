"""What an analysis must say of each sample, and what it must not say.

It follows from how the programs are written, not from what rocperf prints: each entry states the
fault that was put in, in numbers of the launch and of the GPU.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from rocperf.testing.simulator.kernels import Kernel
from rocperf.testing.simulator.scenarios import (
    CONFLICTED_TRANSPOSE,
    LDS_HEAVY,
    NAIVE_TRANSPOSE,
    REGISTER_HEAVY,
    STRIDED_COPY,
    TINY_GRID,
)

_ALL = ("coalescing", "lds-bank-conflicts", "memcpy-bandwidth", "occupancy")
# What a sample without counters, or without sizes of copies, leaves open.
_NO_COUNTERS = {"coalescing": "counters", "lds-bank-conflicts": "counters"}
_NO_BYTES = {"memcpy-bandwidth": "copies.bytes"}


@dataclass(frozen=True, slots=True)
class Expected:
    """What must come of one sample.

    Parameters
    ----------
    because
        Why, in one or two sentences.
    findings
        Rule and subject of each finding that must be made.
    unjudged
        Analyses that must be skipped, each with the start of what they lack.
    """

    because: str
    findings: tuple[tuple[str, str], ...] = ()
    unjudged: dict[str, str] = field(default_factory=dict[str, str])

    def to_json(self, scenario: str) -> str:
        """Write it as the file beside the sample; analyses that are not named must be silent."""
        found = {rule.partition("/")[0] for rule, _ in self.findings}
        content = {
            "schema": "rocperf.expected/1",
            "scenario": scenario,
            "because": self.because,
            "findings": [{"rule": rule, "subject": name} for rule, name in self.findings],
            "silent": [name for name in _ALL if name not in found | set(self.unjudged)],
            "unjudged": dict(sorted(self.unjudged.items())),
        }
        return json.dumps(content, indent=2) + "\n"


def _of(rule: str, kernel: Kernel) -> tuple[tuple[str, str], ...]:
    return ((rule, kernel.name),)


#: By scenario.
EXPECTED: dict[str, Expected] = {
    "naive_transpose": Expected(
        "Neighbouring lanes store 16 KiB apart: a wave writes 8 bytes of each of 32 lines,"
        " where 2 lines would hold them all. 8 registers and no LDS leave the compute units full.",
        _of("coalescing/uncoalesced", NAIVE_TRANSPOSE), _NO_BYTES,
    ),
    "lds_conflict_transpose": Expected(
        "Rows of 32 floats put a column on one of 32 banks: a read of 2 phases takes 64 cycles,"
        " 62 of them lost, beside a write of 2. Loads and stores to memory are consecutive.",
        _of("lds-bank-conflicts/conflict", CONFLICTED_TRANSPOSE), _NO_BYTES,
    ),
    "padded_transpose": Expected(
        "Rows of 33 floats put a column on 32 banks, and memory is read and written row by row.",
        unjudged=_NO_BYTES,
    ),
    "strided_copy": Expected(
        "Neighbouring lanes read and write 128 bytes apart: each uses 4 bytes of a line.",
        _of("coalescing/uncoalesced", STRIDED_COPY), _NO_BYTES,
    ),
    "unit_stride_copy": Expected(
        "A wave reads and writes 256 consecutive bytes with four registers.", unjudged=_NO_BYTES
    ),
    "register_heavy": Expected(
        "256 and 40 registers are 296 of 512: one wave fits on a SIMD, of eight.",
        _of("occupancy/vgpr", REGISTER_HEAVY), _NO_BYTES,
    ),
    "lds_heavy": Expected(
        "64 KiB of LDS are all that a compute unit has: one workgroup of four waves fits, of 32."
        " Rows of consecutive floats have no conflicts.",
        _of("occupancy/lds", LDS_HEAVY), _NO_BYTES,
    ),
    "tiny_grid": Expected(
        "32 workgroups for 304 compute units. The copies are few and pinned.",
        _of("occupancy/grid", TINY_GRID), _NO_COUNTERS,
    ),
    "pageable_copies": Expected(
        "Copies of 96 MiB go through a staging buffer piece by piece, far below what the link"
        " carries; the kernel between them is short and healthy.",
        (
            ("memcpy-bandwidth/slow", "GPU to host, agent 1 to 0"),
            ("memcpy-bandwidth/slow", "host to GPU, agent 0 to 1"),
        ),
        _NO_COUNTERS,
    ),
    "pinned_copies": Expected(
        "The same copies straight from and to pinned memory, at what the link carries.",
        unjudged=_NO_COUNTERS,
    ),
    "many_small_copies": Expected(
        "Copies of 4 KiB cost their latency: bandwidth is no measure of them.",
        unjudged=_NO_COUNTERS,
    ),
    "overlapped_copies": Expected(
        "Pinned copies beside kernels on two streams; the kernels are those with 64 KiB of LDS.",
        _of("occupancy/lds", LDS_HEAVY), _NO_COUNTERS,
    ),
}  # fmt: skip
