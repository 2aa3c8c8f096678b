"""Put sets into the fewest bins: first fit in several orders, then an exact search. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

#: Places tried by the exact search before the best packing so far is taken. A choice of ours: it
#: takes about a second.
MOST_TRIES = 20_000

Set = frozenset[str]
Fits = Callable[[Set], bool]


def pack(groups: Sequence[Set], fits: Fits, least: int = 1) -> list[Set]:
    """Unite groups into the fewest bins that fit.

    The number of bins is the least possible whenever the search ends within `MOST_TRIES` places.
    However large the task, no two bins fit into one. With slots by block, that makes at most
    1 + 2 L bins, where L is, added up over the blocks, the slots that all groups would take, each
    for itself, over the slots that the block has.

    Parameters
    ----------
    groups
        Each fits by itself and must not be parted.
    fits
        Whether a bin can hold a set; what it holds, it holds every part of.
    least
        A number of bins known to be needed; the search ends there.

    Returns
    -------
    list
        What each bin holds.
    """
    known: dict[Set, bool] = {}

    def held(items: Set) -> bool:
        if items not in known:
            known[items] = fits(items)
        return known[items]

    maximal = _maximal(groups)
    by_size = sorted(maximal, key=len, reverse=True)
    best = min((_first_fit(order, held) for order in (maximal, by_size)), key=len)
    # Groups that share no bin with each other tell how many are needed, too.
    apart = _apart(by_size, held)
    if len(best) <= max(least, len(apart)):
        return best
    rest = [group for group in by_size if group not in apart]
    return _Search(rest, held, best, max(least, len(apart))).run(apart)


def _maximal(groups: Sequence[Set]) -> list[Set]:
    """Leave out groups that another one holds."""
    distinct = list(dict.fromkeys(groups))
    return [each for each in distinct if not any(each < other for other in distinct)]


def _first_fit(groups: Sequence[Set], held: Fits) -> list[Set]:
    bins: list[Set] = []
    for group in groups:
        place = next((i for i, each in enumerate(bins) if held(each | group)), None)
        if place is None:
            bins.append(group)
        else:
            bins[place] |= group
    return bins


def _apart(groups: Sequence[Set], held: Fits) -> list[Set]:
    """Find groups no two of which share a bin, greedily."""
    found: list[Set] = []
    for group in groups:
        if not any(held(group | other) for other in found):
            found.append(group)
    return found


class _Search:
    """Tries every place of every group, those that lead to no fewer bins left out."""

    def __init__(self, groups: Sequence[Set], held: Fits, best: list[Set], least: int) -> None:
        self._groups, self._held, self._best, self._least = groups, held, best, least
        self._tries = 0

    def run(self, bins: list[Set]) -> list[Set]:
        """Go on from bins that are needed anyway."""
        self._place(0, bins)
        return self._best

    def _place(self, index: int, bins: list[Set]) -> None:
        self._tries += 1
        done = len(self._best) <= self._least or self._tries > MOST_TRIES
        if done or len(bins) >= len(self._best):
            return
        if index == len(self._groups):
            self._best = bins
            return
        group = self._groups[index]
        if any(group <= each for each in bins):
            self._place(index + 1, bins)  # it costs nothing there
            return
        for i, each in enumerate(bins):
            if self._held(each | group):
                self._place(index + 1, [*bins[:i], each | group, *bins[i + 1 :]])
        self._place(index + 1, [*bins, group])
