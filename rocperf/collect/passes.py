"""Metrics to counters to the fewest passes that the hardware allows: pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from rocperf.collect import limits
from rocperf.collect.limits import ANCHORS, pair, unpair
from rocperf.collect.packing import pack
from rocperf.collect.sums import is_sum
from rocperf.metrics import catalogue

Lookup = Callable[[str, str], tuple[str, ...]]
Check = Callable[[Sequence[str]], bool]
IsSum = Callable[[str, str], bool]


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
    summed
        Those of the stitched ones that only add counters up, which may be done over passes
        whose anchors agree.
    """

    counters: tuple[str, ...]
    metrics: tuple[str, ...]
    stitched: tuple[str, ...] = ()
    summed: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Need:
    """Counters that must not be parted, and the metric they are for."""

    counters: frozenset[str]
    metric: str
    part: bool = False


def plan(
    metrics: Sequence[str],
    target: str,
    *,
    counters_of: Lookup = catalogue.counters_of,
    check: Check | None = None,
    sums: IsSum = is_sum,
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
        Whether counters fit into one run, where the table of limits allows it; by default all
        that the table allows does.
    sums
        Whether a metric only adds counters up.

    Returns
    -------
    tuple of CounterPass
        The one that serves the most valuable metric first, and each metric in the first that can
        hold it. Metrics that the target cannot measure are in none.
    """
    fits: Check = check if check is not None else partial(limits.fits, target=target)
    order: dict[str, int] = {}
    for name in dict.fromkeys(metrics):
        for unit in pair(counters_of(name, target)):
            if unit not in ANCHORS:
                order.setdefault(unit, len(order))

    def held(units: frozenset[str]) -> bool:
        return fits((*ANCHORS, *unpair(sorted(units, key=order.__getitem__))))

    needs = [
        need
        for name in dict.fromkeys(metrics)
        for need in _needs(name, pair(counters_of(name, target)), held)
    ]
    wanted = unpair(order)
    bins = pack([each.counters for each in needs], held, limits.least_runs(wanted, target))
    placed = _advanced(_by_value(bins, needs), held)
    return tuple(_pass_of(each, order, target, sums) for each in placed)


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
                replace(
                    whole,
                    counters=(*ANCHORS, *each),
                    metrics=half,
                    stitched=_kept(whole.stitched, half),
                    summed=_kept(whole.summed, half),
                )
                for each, half in zip(sets, halves, strict=True)
            )
    units = pair(own)
    if len(units) < 2:
        return ()
    middle = len(units) // 2
    return tuple(
        CounterPass((*ANCHORS, *unpair(each)), whole.metrics, whole.metrics)
        for each in (units[:middle], units[middle:])
    )


def _cuts(count: int) -> list[int]:
    """Places to cut a row of metrics, the middle first."""
    return sorted(range(1, count), key=lambda cut: abs(cut - count / 2))


def _kept(stitched: Sequence[str], metrics: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in stitched if name in metrics)


def _needs(name: str, units: Sequence[str], held: Callable[[frozenset[str]], bool]) -> list[_Need]:
    """Return what must be in one pass; of a metric too large for any, its counters one by one."""
    own = frozenset(units) - set(ANCHORS)
    if held(own):
        # A metric of anchors alone still needs a pass.
        return [_Need(own, name)] if units else []
    return [_Need(frozenset({unit}), name, part=True) for unit in units if unit in own]


def _by_value(bins: Iterable[frozenset[str]], needs: Sequence[_Need]) -> list[list[_Need]]:
    """Say what each bin serves, and put the one with the most valuable need first."""
    left, waiting = list(bins), list(needs)
    served: list[list[_Need]] = []
    while waiting:
        first = next(each for each in left if waiting[0].counters <= each)
        left.remove(first)
        served.append([need for need in waiting if need.counters <= first])
        waiting = [need for need in waiting if not need.counters <= first]
    return served


def _advanced(
    served: list[list[_Need]], held: Callable[[frozenset[str]], bool]
) -> list[list[_Need]]:
    """Move needs into earlier passes that have room for them."""
    for at in range(1, len(served)):
        for need in list(served[at]):
            for earlier in served[:at]:
                if held(
                    frozenset[str]().union(need.counters, *(each.counters for each in earlier))
                ):
                    served[at].remove(need)
                    earlier.append(need)
                    break
    return [each for each in served if each]


def _pass_of(needs: Sequence[_Need], order: Iterable[str], target: str, sums: IsSum) -> CounterPass:
    units = frozenset[str]().union(*(each.counters for each in needs))
    stitched = tuple(dict.fromkeys(need.metric for need in needs if need.part))
    return CounterPass(
        (*ANCHORS, *unpair(unit for unit in order if unit in units)),
        tuple(dict.fromkeys(need.metric for need in needs)),
        stitched,
        tuple(name for name in stitched if sums(name, target)),
    )
