"""When a counter cannot be believed, as SQL: a condition, and the sentence that says so.

A fatal doubt makes a value untrustworthy, another one lowers its confidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: Cycles over time times clock from which figures per cycle are diluted. On recorded MI300X
#: kernels under 10 µs the ratio is 1.3 to 2.1; a choice of ours between that and 1.
DILUTED = 1.2
#: Mean duration below which cycles cannot be held against time, nanoseconds. A choice of ours:
#: rocprofiler-compute warns of occupancy below 1 ms, the recorded spread ends well below this.
SHORTEST_NS = 50_000
#: Spread of an anchor between passes up to which a sum may be put together from them. A choice
#: of ours.
ANCHOR_SPREAD = 0.01

#: Counters that every kernel raises: where they are 0 though waves ran, the clock stood still.
#: Others may be 0 for good, such as all operations of a precision that is not used.
RAISED = frozenset(
    ("SQ_ACTIVE_INST_ANY", "SQ_ACTIVE_INST_VALU", "SQ_BUSY_CU_CYCLES", "SQ_BUSY_CYCLES", "SQ_INSTS",
     "SQ_INSTS_SALU", "SQ_INSTS_VALU", "SQ_WAVE_CYCLES", "TA_TOTAL_WAVEFRONTS_sum")
)  # fmt: skip

#: Counters that go on while the others' clock stands still, as recorded on RDNA 4.
UNGATED = ("SQ_WAVES", "GRBM_GUI_ACTIVE", "SQ_BUSY_CYCLES")

#: How to fix the clocks, as ROCm's documentation has it for RDNA 3 and 4.
FIX_CLOCKS = "sudo amd-smi set --perf-level STABLE_STD"

_GATED = (
    "'counters are clock gated, for waves ran and nothing else was counted: fix the clocks with "
    f"`{FIX_CLOCKS}` and collect again'"
)


@dataclass(frozen=True, slots=True)
class Doubt:
    """A reason to doubt a value.

    Parameters
    ----------
    condition, text
        SQL of a truth value and of a sentence.
    fatal
        Whether the value cannot be used.
    """

    condition: str
    text: str
    fatal: bool = True


def texts(doubts: Sequence[Doubt], *, fatal: bool, also: Sequence[str] = ()) -> str:
    """Return SQL of the sentences of those doubts that hold, one text; NULL for none.

    Parameters
    ----------
    doubts
        Doubts, of which only fatal ones are told, or only the others.
    also
        SQL of texts to put in front.
    """
    held = [f"CASE WHEN {d.condition} THEN {d.text} END" for d in doubts if d.fatal == fatal]
    return f"nullif(concat_ws('; ', {', '.join([*also, *held, 'NULL'])}), '')"


def run_doubts() -> dict[str, list[Doubt]]:
    """Return the doubts of what one run counted, by the kind of formula that they concern.

    ``shader`` concerns formulas with a counter of the shader engines or caches, ``gated`` all
    but the number of waves; ``wave_cycles``, ``timed`` (held against cycles) and ``rated`` (over
    time) concern formulas that are so. Columns are those of `rocperf.metrics.sums.RUNS` and
    ``clock_hz`` and ``xccs``.
    """
    silent = "waves > 0 AND telling AND silent"
    idle = "'waves ran but SQ_WAVE_CYCLES is 0: this GPU does not count it'"
    mean = "busy_ns / timed"
    short = (
        f"format('dispatches of {{:.3g}} µs are too short for figures per cycle', {mean} / 1000)"
    )
    rated = "kernel_ns / kernel_n"
    brief = f"format('dispatches of {{:.3g}} µs are too short for rates', {rated} / 1000)"
    ratio = "gui / xccs / (gui_ns * 1e-9 * clock_hz)"
    many = f"format('the GPU counted {{:.2f}} times the cycles that fit the time', {ratio})"
    return {
        "shader": [Doubt("waves = 0", "'no wave was counted though the kernel ran'")],
        "gated": [Doubt(silent, _GATED)],
        "wave_cycles": [Doubt("waves > 0 AND wave_cycles = 0", idle)],
        "timed": [
            Doubt(
                "coalesce(busy_ns, 0) = 0",
                "'the counter run has no times to hold its cycles against'",
            ),
            Doubt(f"busy_ns > 0 AND {mean} < {SHORTEST_NS}", short),
            Doubt(f"{mean} >= {SHORTEST_NS} AND {ratio} > {DILUTED}::DOUBLE", many),
        ],
        "rated": [
            Doubt(f"kernel_ns > 0 AND {rated} < {SHORTEST_NS}", brief),
            Doubt(f"{mean} >= {SHORTEST_NS} AND {ratio} > {DILUTED}::DOUBLE", many),
            Doubt("NOT own_time", "'its time is that of another run'", fatal=False),
        ],
    }


def stitched_doubts() -> list[Doubt]:
    """Return the doubts of a value whose counters come from different passes of one process.

    Counts of a deterministic kernel repeat, cycles do not: without anchors that agree, only
    ratios of counts are believed, and with medium confidence. Anchors are lists, one value a
    counter, ``waves`` and ``guis``; ``timed`` says whether the formula holds counts against
    cycles or time.
    """
    stitched = "len(runs) > 1"
    text = "'stitched from ' || len(runs) || ' passes'"
    waves, guis = _spread("waves"), _spread("guis")
    bad_waves = f"({stitched} AND {waves} > {ANCHOR_SPREAD})"
    bare = f"(timed AND {stitched} AND {waves} IS NULL AND {guis} IS NULL)"
    bad = f"(timed AND {stitched} AND {guis} > {ANCHOR_SPREAD})"
    percent = "|| format('{:.1f} %', 100 * "
    return [
        Doubt(bad_waves, f"{text} || ', in which SQ_WAVES differs by ' {percent}{waves})"),
        Doubt(bare, f"{text} || ' without common anchors'"),
        Doubt(bad, f"{text} || ', in which GRBM_GUI_ACTIVE differs by ' {percent}{guis})"),
        Doubt(
            f"{stitched} AND NOT coalesce({bad_waves}, false) AND NOT {bare}"
            f" AND NOT coalesce({bad}, false)",
            text,
            fatal=False,
        ),
        Doubt(
            f"{stitched} AND list_min(counts) < list_max(counts)",
            "'the passes saw different numbers of dispatches'",
        ),
        PARTIAL,
    ]


#: The dispatches of one run have one counter or the other, but the same one never has all.
PARTIAL = Doubt(
    "len(runs) = 1 AND list_min(counts) < list_max(counts)",
    "'no dispatch has all of its counters'",
)


def _spread(values: str) -> str:
    """Return SQL of the relative spread of a list; NULL unless every pass has a value above 0."""
    least, most = f"list_min({values})", f"list_max({values})"
    return (
        f"CASE WHEN list_count({values}) = len({values}) AND {most} > 0 "
        f"THEN ({most} - {least}) / {most} END"
    )
