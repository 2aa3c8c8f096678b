"""What an analysis must say of each sample, and what it must not say.

It follows from how the programs are written, not from what rocperf prints: each entry states the
fault that was put in, in numbers of the launch and of the GPU.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from rocperf.testing.simulator.host_programs import LEFT, RIGHT, TINY
from rocperf.testing.simulator.kernels import Kernel
from rocperf.testing.simulator.scenarios import (
    CONFLICTED_TRANSPOSE,
    LDS_HEAVY,
    NAIVE_TRANSPOSE,
    REGISTER_HEAVY,
    STRIDED_COPY,
    TINY_GRID,
)

_ALL = (
    "coalescing", "lds-bank-conflicts", "memcpy-bandwidth", "occupancy", "allocation-churn",
    "copy-overlap", "graph-coverage", "pageable-copies", "redundant-copies",
    "scratch-reallocation", "small-copies", "stream-concurrency", "sync-stalls", "tiny-kernels",
    "warm-up",
)  # fmt: skip
_COPIES: tuple[str, ...] = (
    "memcpy-bandwidth",
    "pageable-copies",
    "redundant-copies",
    "small-copies",
)
# What a sample without counters, without sizes or addresses of copies, or copies, leaves open.
_NO_COUNTERS: dict[str, str] = {"coalescing": "counters", "lds-bank-conflicts": "counters"}
_NO_BYTES: dict[str, str] = dict.fromkeys(_COPIES, "copies.bytes")
_NO_ADDRESSES: dict[str, str] = {"redundant-copies": "copies.src_address"}
_KERNELS_ONLY: dict[str, str] = _NO_COUNTERS | dict.fromkeys(
    (*_COPIES, "copy-overlap"), "rows in copies"
)
_GPU = "GPU agent 1"


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
        _of("occupancy/grid", TINY_GRID), _NO_COUNTERS | _NO_ADDRESSES,
    ),
    "pageable_copies": Expected(
        "Copies of 96 MiB go through a staging buffer piece by piece, far below what the link"
        " carries; the kernel between them is short and healthy.",
        (
            ("memcpy-bandwidth/slow", "GPU to host, agent 1 to 0"),
            ("memcpy-bandwidth/slow", "host to GPU, agent 0 to 1"),
            ("pageable-copies/staged", "GPU to host, agent 1 to 0"),
            ("pageable-copies/staged", "host to GPU, agent 0 to 1"),
        ),
        _NO_COUNTERS,
    ),
    "pinned_copies": Expected(
        "The same copies straight from and to pinned memory, at what the link carries.",
        unjudged=_NO_COUNTERS,
    ),
    "many_small_copies": Expected(
        "Copies of 4 KiB cost their latency: bandwidth is no measure of them.",
        (("small-copies/latency", "host to GPU, agent 0 to 1"),),
        _NO_COUNTERS | _NO_ADDRESSES,
    ),
    "overlapped_copies": Expected(
        "Pinned copies beside kernels on two streams; the kernels are those with 64 KiB of LDS.",
        _of("occupancy/lds", LDS_HEAVY), _NO_COUNTERS | _NO_ADDRESSES,
    ),
    "wait_each_step": Expected(
        "Between kernels of 50 µs lie 10, in which the host leaves its wait and launches.",
        (("sync-stalls/idle", _GPU),), _KERNELS_ONLY,
    ),
    "queued_steps": Expected(
        "A launch takes 5 µs of the host and a kernel 50 of the GPU: the queue is never empty.",
        unjudged=_KERNELS_ONLY,
    ),
    "host_bound_steps": Expected(
        "The host works 300 µs between launches of 50, so the GPU idles 250 of them.",
        (("launch-gaps/host", _GPU),), _KERNELS_ONLY,
    ),
    "tiny_steps": Expected(
        "Kernels of 3.6 µs are launched every 8: more than half of the time is gaps of 4 µs. Each"
        " has 16 workgroups.",
        (("tiny-kernels/launch-bound", _GPU), *_of("occupancy/grid", TINY)), _KERNELS_ONLY,
    ),
    "graph_steps": Expected(
        "Kernels of a graph that is made once follow one another without the host.",
        _of("occupancy/grid", TINY), _KERNELS_ONLY,
    ),
    "graph_each_step": Expected(
        "Six graphs of 190 µs for six launches, and 24 of 48 kernels launched by themselves.",
        (
            ("graph-coverage/instantiate", "run 1"), ("graph-coverage/outside", "run 1"),
            *_of("occupancy/grid", TINY),
        ), _KERNELS_ONLY,
    ),
    "allocating_steps": Expected(
        "Around each kernel of 50 µs memory is allocated in 62 and released in 48.",
        (("allocation-churn/loop", "run 1"),), _KERNELS_ONLY,
    ),
    "exposed_copies": Expected(
        "Eight pinned copies of 0.6 ms and twelve kernels after each pair, all on one stream.",
        (("copy-overlap/exposed", _GPU),), {**_NO_COUNTERS, **_NO_BYTES},
    ),
    "ping_pong_copies": Expected(
        "16 MiB go to the host and come back six times; the kernels between take 92 µs in all.",
        (
            ("copy-overlap/exposed", _GPU),
            ("redundant-copies/ping-pong", "host to GPU, agent 0 to 1"),
        ), _NO_COUNTERS,
    ),
    "serial_branches": Expected(
        "Two kernels of 64 workgroups for 304 compute units take turns on one stream.",
        (
            ("stream-concurrency/serial", _GPU), *_of("occupancy/grid", LEFT),
            *_of("occupancy/grid", RIGHT),
        ), _KERNELS_ONLY,
    ),
    "parallel_branches": Expected(
        "The same two kernels run side by side; each still has few workgroups.",
        (*_of("occupancy/grid", LEFT), *_of("occupancy/grid", RIGHT)), _KERNELS_ONLY,
    ),
    "cold_start": Expected(
        "The first of 24 launches takes forty times what each of the others does.",
        (("warm-up/first", "first launches"),), _KERNELS_ONLY,
    ),
    "scratch_again": Expected(
        "Scratch memory of one queue is given six times in 410 µs each.",
        (("scratch-reallocation/again", _GPU),), _KERNELS_ONLY,
    ),
    "scratch_kept": Expected("Scratch memory is given once.", unjudged=_KERNELS_ONLY),
}  # fmt: skip
