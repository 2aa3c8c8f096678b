"""Counters of arithmetic, of waiting and of what the model has none of, as rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the table of counters imports this module
    from rocperf.testing.simulator.counters import Facts

Rules = dict[str, tuple[str, "Callable[[Facts], float]"]]

_PRECISIONS = ("F16", "F32", "F64")
_MATRIX = {
    "gfx90a": ("I8", "F16", "BF16", "F32", "F64"),
    "gfx942": ("I8", "F8", "F16", "BF16", "F32", "F64"),
    "gfx950": ("I8", "F6F4", "F8", "F16", "BF16", "F32", "XF32", "F64"),
}


def sequencer(gfx: str) -> Rules:
    """Return the further counters of the sequencer of a GPU with matrix units, by name.

    * An operation counts once for each wave that executes it, as the kernel lists them.
    * A wave waits while it lives and issues nothing; an instruction takes four cycles to issue.
    * There are no matrix instructions, conversions or integer operations of 64 bits.
    """
    rules: Rules = {
        "SQ_WAIT_ANY": ("wave lifetimes without an instruction, in four cycles", _waiting),
        "SQ_VALU_MFMA_BUSY_CYCLES": ("cycles of matrix units", _none),
        "SQ_INSTS_VALU_CVT": ("conversions", _none),
        "SQ_INSTS_VALU_INT64": ("64-bit integer instructions", _none),
    }
    for precision in _PRECISIONS:
        for kind in ("ADD", "MUL", "FMA", "TRANS"):
            name = f"{kind}_{precision}"
            rules[f"SQ_INSTS_VALU_{name}"] = (f"{name} instructions", _operation(name))
    for precision in _MATRIX[gfx]:
        rules[f"SQ_INSTS_VALU_MFMA_MOPS_{precision}"] = (f"matrix work on {precision}", _none)
    return rules


#: Of the vector L1 and the L2: there are no atomics. The vector L1 is powered while its unit is.
VECTOR_L1: Rules = {
    "TCP_GATE_EN1": ("cycles powered", lambda f: f.clock.units),
    "TCP_ATOMIC_TAGCONFLICT_STALL_CYCLES": ("cycles of atomics that wait", lambda _: 0),
}
L2: Rules = {"ATOMIC": ("atomics", lambda _: 0)}


def _waiting(facts: Facts) -> float:
    kernel, work = facts.launch.kernel, facts.work
    issued = facts.waves * (kernel.valu + kernel.salu + kernel.smem)
    issued += work.loads + work.stores + work.lds_instructions
    return max(0, facts.clock.waves // 4 - issued)


def _none(_: Facts) -> float:
    return 0


def _operation(name: str) -> Callable[[Facts], float]:
    def count(facts: Facts) -> float:
        return facts.waves * dict(facts.launch.kernel.operations).get(name, 0)

    return count
