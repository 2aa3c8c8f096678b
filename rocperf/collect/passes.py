"""Metrics to counters to the fewest passes that the hardware allows: pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from rocperf.collect import limits
from rocperf.collect.limits import ANCHORS
from rocperf.metrics import catalogue

#: Places tried by the exact search before the best plan so far is taken. A choice of ours: it
#: takes some 50 ms.
MOST_TRIES = 20_000

Lookup = Callable[[str, str], tuple[str, ...]]
Check = Callable[[Sequence[str]], bool]


@dataclass(frozen=True)
class CounterPass:
    """One counter run.

    Parameters
    ----------
    counters
        Anchors first.
    metrics
        Ids that it serves.
    stitched
        Those of them whose counters do not fit into one run: others are in other passes.
    """

    counters: tuple[str, ...]
    metrics: tuple[str, ...]
    stitched: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Need:
    """Counters that must not be parted, and the metric they are for."""

    counters: tuple[str, ...]
    metric: str
    part: bool = False


def plan(
    metrics: Sequence[str],
    target: str,
    *,
    counters_of: Lookup = catalogue.counters_of,
    check: Check | None = None,
) -> tuple[CounterPass, ...]:
    """Put metrics into the fewest passes; the counters of one metric share one.

    Parameters
    ----------
    metrics
        Ids, most valuable first.
    target
        gfx target.
    counters_of
        Counters of a metric on a target.
    check
        Whether counters fit into one run; by default the table of limits.

    Returns
    -------
    tuple of CounterPass
        The one that serves the most valuable metric first. Metrics that the target cannot
        measure are in none.
    """
    fits: Check = check if check is not None else partial(limits.fits, target=target)
    needs = [
        each for name in dict.fromkeys(metrics) for each in _needs(name, target, counters_of, fits)
    ]
    bins = _pack(_largest(needs), fits)
    return _ordered(bins, needs)


def unmeasurable(
    metrics: Sequence[str], target: str, *, counters_of: Lookup = catalogue.counters_of
) -> tuple[str, ...]:
    """Name the metrics that a target has no counters for."""
    return tuple(name for name in dict.fromkeys(metrics) if not counters_of(name, target))


def split(
    whole: CounterPass, target: str, *, counters_of: Lookup = catalogue.counters_of
) -> tuple[CounterPass, ...]:
    """Halve a pass that proved too large; empty when it cannot be halved.

    Parameters
    ----------
    whole
        The pass.
    target
        gfx target.
    counters_of
        Counters of a metric on a target.

    Returns
    -------
    tuple of CounterPass
        Two passes: each with half of the metrics or, of one metric, half of its counters.
    """
    own = [name for name in whole.counters if name not in ANCHORS]
    for cut in _cuts(len(whole.metrics)):
        halves = [whole.metrics[:cut], whole.metrics[cut:]]
        sets = [
            [c for c in own if any(c in counters_of(m, target) for m in half)] for half in halves
        ]
        if all(0 < len(each) < len(own) for each in sets):
            return tuple(
                CounterPass((*ANCHORS, *each), half, _kept(whole.stitched, half))
                for each, half in zip(sets, halves, strict=True)
            )
    if len(own) < 2:
        return ()
    middle = len(own) // 2
    return tuple(
        CounterPass((*ANCHORS, *each), whole.metrics, whole.metrics)
        for each in (own[:middle], own[middle:])
    )


def _cuts(count: int) -> list[int]:
    """Places to cut a row of metrics, the middle first."""
    return sorted(range(1, count), key=lambda cut: abs(cut - count / 2))


def _kept(stitched: Sequence[str], metrics: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in stitched if name in metrics)


def _needs(name: str, target: str, counters_of: Lookup, fits: Check) -> list[_Need]:
    """Return what must be in one pass; of a metric too large for any, parts that are not."""
    counters = tuple(c for c in counters_of(name, target) if c not in ANCHORS)
    if fits((*ANCHORS, *counters)):
        # A metric of anchors alone still needs a pass.
        return [_Need(counters, name)] if counters_of(name, target) else []
    parts: list[list[str]] = []
    for counter in counters:
        if parts and fits((*ANCHORS, *parts[-1], counter)):
            parts[-1].append(counter)
        else:
            parts.append([counter])
    return [_Need(tuple(part), name, part=True) for part in parts]


def _largest(needs: Sequence[_Need]) -> list[tuple[str, ...]]:
    """Leave out sets that another set holds."""
    sets = [frozenset(each.counters) for each in needs]
    return [
        each.counters
        for i, each in enumerate(needs)
        if not any(sets[i] < sets[j] or (sets[i] == sets[j] and j < i) for j in range(len(sets)))
    ]


def _pack(groups: Sequence[tuple[str, ...]], fits: Check) -> list[dict[str, None]]:
    """Put groups into the fewest bins: first fit, then an exact search for fewer."""
    best = _first_fit(groups, fits)
    tries = 0

    def search(index: int, bins: list[dict[str, None]]) -> None:
        nonlocal best, tries
        tries += 1
        if len(bins) >= len(best) or tries > MOST_TRIES:
            return
        if index == len(groups):
            best = bins
            return
        for i, held in enumerate(bins):
            joined = held | dict.fromkeys(groups[index])
            if fits((*ANCHORS, *joined)):
                search(index + 1, [*bins[:i], joined, *bins[i + 1 :]])
        search(index + 1, [*bins, dict.fromkeys(groups[index])])

    if len(best) > 2:  # two groups that share no bin cannot do with one
        search(0, [])
    return best


def _first_fit(groups: Sequence[tuple[str, ...]], fits: Check) -> list[dict[str, None]]:
    bins: list[dict[str, None]] = []
    for group in groups:
        for held in bins:
            if fits((*ANCHORS, *held, *group)):
                held.update(dict.fromkeys(group))
                break
        else:
            bins.append(dict.fromkeys(group))
    return bins


def _ordered(bins: Sequence[dict[str, None]], needs: Sequence[_Need]) -> tuple[CounterPass, ...]:
    """Say what each bin serves, and put the one with the most valuable metric first."""
    served: list[list[_Need]] = [[] for _ in bins]
    for need in needs:
        at = next(i for i, held in enumerate(bins) if set(need.counters) <= set(held))
        served[at].append(need)
    # Needs are in order of value, so the first need of a bin is its most valuable one.
    order = sorted(range(len(bins)), key=lambda i: needs.index(served[i][0]))
    return tuple(
        CounterPass(
            (*ANCHORS, *dict.fromkeys(c for need in served[i] for c in need.counters)),
            tuple(dict.fromkeys(need.metric for need in served[i])),
            tuple(dict.fromkeys(need.metric for need in served[i] if need.part)),
        )
        for i in order
    )
