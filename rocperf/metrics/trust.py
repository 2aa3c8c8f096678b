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

#: Counters that are read along to judge the others.
ANCHORS = ("SQ_WAVES", "GRBM_GUI_ACTIVE", "SQ_INSTS_VALU", "SQ_WAVE_CYCLES")

_GATED = (
    "'counters are clock gated, for waves ran but no instruction was counted: fix the clocks with "
    "`sudo amd-smi set --perf-level STABLE_STD` and collect again'"
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
    """Return SQL of the sentences of those doubts that hold, one text; empty for none.

    Parameters
    ----------
    doubts
        Doubts, of which only fatal ones are told, or only the others.
    also
        SQL of texts to put in front.
    """
    held = [f"CASE WHEN {d.condition} THEN {d.text} END" for d in doubts if d.fatal == fatal]
    return f"concat_ws('; ', {', '.join([*also, *held, 'NULL'])})"


def run_doubts(
    metric: str, counters: Sequence[str], read: Sequence[str], needs: str, *, clock_known: bool
) -> list[Doubt]:
    """Return the doubts of the counters of one run.

    Parameters
    ----------
    metric
        Id.
    counters
        Those of its formula.
    read
        Every counter that was looked for.
    needs
        ``counts`` or ``cycles``, as the formula says.
    clock_known
        Whether ``$clock_hz`` and ``$xccs`` are given.
    """
    found = [Doubt(f'"r:{c}" IS NOT NULL', f'"r:{c}"', fatal=False) for c in counters]
    if metric != "waves":
        rest = [c for c in read if c not in ("SQ_WAVES", "GRBM_GUI_ACTIVE")]
        silent = " AND ".join(f'coalesce("{c}", 0) = 0' for c in rest)
        found.append(Doubt(f'"SQ_WAVES" > 0 AND "SQ_INSTS_VALU" = 0 AND {silent}', _GATED))
    if "SQ_WAVE_CYCLES" in counters:
        text = "'waves ran but SQ_WAVE_CYCLES is 0: this GPU does not count it'"
        found.append(Doubt('"SQ_WAVES" > 0 AND "SQ_WAVE_CYCLES" = 0', text))
    return found + (_cycle_doubts(clock_known) if needs == "cycles" else [])


def _cycle_doubts(clock_known: bool) -> list[Doubt]:
    """Doubt cycles that do not fit the time, or a time too short to tell."""
    mean = "busy_ns / timed"
    short = (
        f"format('dispatches of {{:.3g}} µs are too short for figures per cycle', {mean} / 1000)"
    )
    found = [
        Doubt(
            "coalesce(busy_ns, 0) = 0",
            "'the counter run has no times to hold its cycles against'",
        ),
        Doubt(f"busy_ns > 0 AND {mean} < {SHORTEST_NS}", short),
    ]
    if clock_known:
        ratio = '"GRBM_GUI_ACTIVE" / $xccs / (busy_ns * 1e-9 * $clock_hz)'
        text = f"format('the GPU counted {{:.2f}} times the cycles that fit the time', {ratio})"
        found.append(
            Doubt(f"busy_ns / timed >= {SHORTEST_NS} AND {ratio} > {DILUTED}::DOUBLE", text)
        )
    return found


def stitched_doubts(needs: str) -> list[Doubt]:
    """Return the doubts of a value whose counters come from different passes of one process.

    Counts of a deterministic kernel repeat, cycles do not: without anchors that agree, only
    ratios of counts are believed, and with medium confidence. Anchors are lists, one value a
    counter, ``waves`` and ``guis``.
    """
    stitched = "len(runs) > 1"
    text = "'stitched from ' || len(runs) || ' passes'"
    waves, guis = _spread("waves"), _spread("guis")
    bad_waves = f"({stitched} AND {waves} > {ANCHOR_SPREAD})"
    if needs == "counts":
        bad, bare = "false", "false"
    else:
        bare = f"({stitched} AND {waves} IS NULL AND {guis} IS NULL)"
        bad = f"({stitched} AND {guis} > {ANCHOR_SPREAD})"
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
        Doubt(
            "len(runs) = 1 AND list_min(counts) < list_max(counts)",
            "'no dispatch has all of its counters'",
        ),
    ]


def _spread(values: str) -> str:
    """Return SQL of the relative spread of a list; NULL unless every pass has a value above 0."""
    least, most = f"list_min({values})", f"list_max({values})"
    return (
        f"CASE WHEN list_count({values}) = len({values}) AND {most} > 0 "
        f"THEN ({most} - {least}) / {most} END"
    )
