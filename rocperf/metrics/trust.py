"""When a counter cannot be believed, and the sentence that says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocperf.metrics.evaluate import RunSums

#: Cycles over time times clock from which figures per cycle are diluted. On recorded MI300X
#: kernels under 10 µs the ratio is 1.3 to 2.1; a choice of ours between that and 1.
DILUTED = 1.2
#: Mean duration below which cycles cannot be held against time, nanoseconds. A choice of ours:
#: rocprofiler-compute warns of occupancy below 1 ms, the recorded spread ends well below this.
SHORTEST_NS = 50_000
#: Spread of an anchor between passes up to which a sum may be put together from them. A choice
#: of ours.
ANCHOR_SPREAD = 0.01

_GATED = (
    "counters are clock gated: waves ran but no instruction was counted; fix the clocks with "
    "`sudo amd-smi set --perf-level STABLE_STD` and collect again"
)


@dataclass(frozen=True, slots=True)
class Doubt:
    """A reason to doubt a value; a fatal one makes it untrustworthy."""

    text: str
    fatal: bool = True


def gated_doubt(sums: RunSums, metric_id: str) -> Doubt | None:
    """Doubt every counter of a run in which waves ran and nothing else was counted."""
    waves = sums.totals.get("SQ_WAVES", 0)
    if metric_id == "waves" or not waves:
        return None
    if sums.totals.get("SQ_INSTS_VALU") == 0:
        rest = {name for name, total in sums.totals.items() if total} - {"SQ_WAVES"}
        if rest <= {"GRBM_GUI_ACTIVE"}:
            return Doubt(_GATED)
    if sums.totals.get("SQ_WAVE_CYCLES") == 0 and metric_id == "wave-occupancy":
        return Doubt("waves ran but SQ_WAVE_CYCLES is 0: this GPU does not count it")
    return None


def cycles_doubt(sums: RunSums) -> Doubt | None:
    """Doubt cycles that do not fit the time, or a time too short to tell."""
    gui = sums.totals.get("GRBM_GUI_ACTIVE")
    clock = sums.gpu.hw("clock_hz") if sums.gpu else None
    xccs = sums.gpu.hw("xccs") if sums.gpu else None
    if not sums.dispatches or not sums.busy_ns:
        return Doubt("the counter run has no times to hold its cycles against")
    if sums.busy_ns / sums.dispatches < SHORTEST_NS:
        mean_us = sums.busy_ns / sums.dispatches / 1000
        return Doubt(f"dispatches of {mean_us:.3g} µs are too short for figures per cycle")
    if gui is not None and clock and xccs:
        ratio = gui / xccs / (sums.busy_ns * 1e-9 * clock)
        if ratio > DILUTED:
            return Doubt(f"the GPU counted {ratio:.2f} times the cycles that fit the time")
    return None


def stitched_doubt(parts: Sequence[RunSums], needs: str) -> Doubt:
    """Doubt a value whose counters come from different passes.

    Counts of a deterministic kernel repeat, cycles do not: without anchors that agree, only
    ratios of counts are believed, and with medium confidence.
    """
    spreads = [s for name in ("SQ_WAVES", "GRBM_GUI_ACTIVE") if (s := _spread(parts, name))]
    worst = max((spread for spread, _ in spreads), default=None)
    text = f"stitched from {len(parts)} passes"
    waves = _spread(parts, "SQ_WAVES")
    if waves is not None and waves[0] > ANCHOR_SPREAD:
        return Doubt(f"{text}, in which SQ_WAVES differs by {waves[0]:.1%}")
    if needs == "counts":
        return Doubt(text, fatal=False)
    if worst is None:
        return Doubt(f"{text} without common anchors")
    if worst > ANCHOR_SPREAD:
        return Doubt(f"{text}, in which the anchors differ by {worst:.1%}")
    return Doubt(text, fatal=False)


def _spread(parts: Sequence[RunSums], name: str) -> tuple[float, str] | None:
    found = [sums.totals[name] for sums in parts if name in sums.totals]
    if len(found) < len(parts) or not max(found):
        return None
    return (max(found) - min(found)) / max(found), name
