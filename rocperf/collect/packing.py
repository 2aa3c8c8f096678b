"""Put sets into the fewest bins: first fit in several orders, then an exact search. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

#: Places tried by the exact search before the best packing so far is taken. A choice of ours: it
#: takes about half a second.
MOST_TRIES = 20_000

Set = frozenset[str]
Fits = Callable[[Set], bool]
Held = Callable[[int], bool]


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
    items = sorted(frozenset[str]().union(*groups))
    bit = {name: 1 << place for place, name in enumerate(items)}
    known: dict[int, bool] = {}

    def held(bits: int) -> bool:
        if bits not in known:
            known[bits] = fits(names(bits))
        return known[bits]

    def names(bits: int) -> Set:
        return frozenset(name for name in items if bits & bit[name])

    found = _pack(_maximal([sum(bit[name] for name in group) for group in groups]), held, least)
    return [names(each) for each in found]


def _pack(groups: Sequence[int], held: Held, least: int) -> list[int]:
    """Do so with sets as bits of a number, which are united and compared at once."""
    by_size = sorted(groups, key=int.bit_count, reverse=True)
    best = min((_first_fit(order, held) for order in (groups, by_size)), key=len)
    # Groups no two of which share a bin tell how many are needed, too.
    apart = _apart(by_size, held)
    least = max(least, len(apart))
    if len(best) <= least:
        return best
    rest = [group for group in by_size if group not in apart]
    return _Search(rest, held, best, least).run(apart)


def _maximal(groups: Sequence[int]) -> list[int]:
    """Leave out groups that another one holds."""
    distinct = list(dict.fromkeys(groups))
    return [a for a in distinct if not any(a != b and a & b == a for b in distinct)]


def _first_fit(groups: Sequence[int], held: Held) -> list[int]:
    bins: list[int] = []
    for group in groups:
        place = next((i for i, each in enumerate(bins) if held(each | group)), None)
        if place is None:
            bins.append(group)
        else:
            bins[place] |= group
    return bins


def _apart(groups: Sequence[int], held: Held) -> list[int]:
    """Find groups no two of which share a bin, greedily."""
    found: list[int] = []
    for group in groups:
        if not any(held(group | other) for other in found):
            found.append(group)
    return found


class _Search:
    """Tries every place of every group, those that lead to no fewer bins left out."""

    def __init__(self, groups: Sequence[int], held: Held, best: list[int], least: int) -> None:
        self._groups, self._held, self._best, self._least = groups, held, best, least
        self._tries = 0

    def run(self, bins: list[int]) -> list[int]:
        """Go on from bins that are needed anyway."""
        self._place(0, bins)
        return self._best

    def _place(self, index: int, bins: list[int]) -> None:
        self._tries += 1
        done = len(self._best) <= self._least or self._tries > MOST_TRIES
        if done or len(bins) >= len(self._best):
            return
        if index == len(self._groups):
            self._best = bins
            return
        group = self._groups[index]
        if any(group & each == group for each in bins):
            self._place(index + 1, bins)  # it costs nothing there
            return
        for i, each in enumerate(bins):
            if self._held(each | group):
                self._place(index + 1, [*bins[:i], each | group, *bins[i + 1 :]])
        self._place(index + 1, [*bins, group])
