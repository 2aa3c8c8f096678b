"""What sampled waves wait for, told by the profiler's reason or else by the instruction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Wait:
    """What waves do at a place: in the words of a title, and what to change."""

    words: str
    advice: str


_MEMORY = Wait(
    "waiting for global memory",
    "Issue the load earlier (load the next tile before working on this one), make it wider "
    "(float4 a lane), or keep more waves resident so that others fill the wait.",
)
_LDS = Wait(
    "waiting for LDS or scalar memory",
    "Read from LDS once into registers and reuse, double-buffer the tile, and look at "
    "lds-bank-conflicts; move loads of kernel arguments and uniform values out of the loop.",
)
_EITHER = Wait("waiting for memory", _MEMORY.advice)
_BARRIER = Wait(
    "waiting at a barrier",
    "Let the waves of a workgroup do equal work between barriers, drop barriers that a buffer "
    "swap makes needless, or exchange values with __shfl instead of LDS and __syncthreads.",
)
_FETCH = Wait(
    "waiting for instructions",
    "Make the loop fit the instruction cache: unroll less (#pragma unroll 4), and keep rare "
    "branches out of line (__noinline__).",
)
_DEPENDENT = Wait(
    "waiting for results of the instruction before",
    "Break the chain of dependent operations: two to four accumulators, or unroll so that "
    "independent elements alternate.",
)
_LOST = Wait(
    "ready, but other waves were issued",
    "The unit is the limit, not latency: use fewer or cheaper instructions (fast intrinsics, "
    "packed or matrix instructions, work hoisted out of the loop).",
)
_STALLED = Wait(
    "chosen, but the unit was stalled",
    "The unit behind it is full: spread its instructions between others, and lessen what it is "
    "asked for (wider and coalesced accesses for memory, fewer conflicts for LDS).",
)
_SLEEP = Wait(
    "sleeping (s_sleep)",
    "The kernel waits by polling: let the host or a stream event order the work instead.",
)
_REASONS = {
    "barrier_wait": _BARRIER,
    "no_instruction_available": _FETCH,
    "alu_dependency": _DEPENDENT,
    "arbiter_not_win": _LOST,
    "arbiter_win_ex_stall": _STALLED,
    "sleep_wait": _SLEEP,
}
_USES = Wait(
    "at a memory instruction",
    "Make its accesses coalesced and wide (float4 a lane), or reuse what was loaded from LDS.",
)
_UNTOLD = (
    "Such a place is hot because it does the work (use packed or matrix instructions, hoist what "
    "repeats) or because it uses what was loaded just before (load earlier, float4 a lane)."
)
#: Share of a place's samples that one state must have to speak for it; ours: more than half.
_HALF = 0.5


def wait_of(row: Mapping[str, Any]) -> Wait | None:
    """Say what waves wait for at a place; None when the samples do not tell.

    Parameters
    ----------
    row
        ``samples`` there, those ``issued``, those ``stalled`` for the most frequent ``reason``
        (lower case, without the profiler's prefix), and the ``instruction`` sampled most.
    """
    text = str(row["instruction"] or "")
    if row["reason"] and row["stalled"] > _HALF * row["samples"]:
        reason = str(row["reason"])
        return _counted(text) if reason == "waitcnt" else _REASONS.get(reason)
    if row["reason"] is None and not row["issued"]:
        return _by_instruction(text)
    return None


def advice_for(wait: Wait | None, *, has_line: bool) -> str:
    """Return what to change; without debug information first how to see the source line."""
    advice = wait.advice if wait else _UNTOLD
    if has_line:
        return advice
    return f"Compile with -g (hipcc -g -O3) to see source lines. {advice}"


def _counted(text: str) -> Wait:
    """Tell by the counter of a wait instruction which memory it waits for."""
    if "vmcnt" in text or "loadcnt" in text or "storecnt" in text or "vscnt" in text:
        return _MEMORY
    if "lgkmcnt" in text or "dscnt" in text or "kmcnt" in text:
        return _LDS
    return _EITHER


def _by_instruction(text: str) -> Wait | None:
    """Guess from what is sampled; arithmetic may be at work or wait, so it tells nothing."""
    if text.startswith("s_wait"):
        return _counted(text)
    if text.startswith("s_barrier"):
        return _BARRIER
    if text.startswith("s_sleep"):
        return _SLEEP
    if text.startswith(("global_", "flat_", "buffer_", "image_")):
        return _USES
    return None
