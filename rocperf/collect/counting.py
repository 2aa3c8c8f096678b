"""Which counter runs a collection needs on this machine: metrics, the hardware, ROCm's word."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rocperf.collect import passes
from rocperf.collect.availability import Availability
from rocperf.collect.limits import ANCHORS
from rocperf.collect.passes import CounterPass
from rocperf.metrics import catalogue

#: Plans that ROCm may refuse before the last one is tried as it is. A choice of ours: each
#: refusal tells of one block at least, and few have counters in one plan.
MOST_PLANS = 8
#: Metrics that a warning names. A choice of ours.
MOST_NAMED = 8


@dataclass(frozen=True)
class Chosen:
    """The counter runs.

    Parameters
    ----------
    passes
        The one with the most valuable metric first.
    told
        What told whether counters fit into one run.
    unmeasurable
        Metrics for which no formula of the target exists.
    unlisted
        Metrics whose counters ROCm does not list on this machine.
    """

    passes: tuple[CounterPass, ...] = ()
    told: str = ""
    unmeasurable: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()

    def warnings(self, target: str) -> tuple[str, ...]:
        """Say what is asked for and will not come."""
        found: list[str] = []
        if self.unmeasurable:
            found.append(f"{target} has no counters for {_some(self.unmeasurable)}")
        if self.unlisted:
            names = _some(self.unlisted)
            found.append(f"this ROCm lists no counters for {names}: {self.told} was asked")
        summed = dict.fromkeys(name for each in self.passes for name in each.summed)
        if summed:
            found.append(
                f"{_some(summed)}: added up over several runs, and trusted when"
                f" {' and '.join(ANCHORS)} agree"
            )
        stitched = dict.fromkeys(n for p in self.passes for n in p.stitched if n not in summed)
        if stitched:
            found.append(
                f"{_some(stitched)}: needs more counters than one run can hold; stitched"
                " together from several runs, and marked so"
            )
        return tuple(found)


def _some(names: Iterable[str]) -> str:
    """List names, and how many more there are."""
    each = tuple(names)
    more = f" and {len(each) - MOST_NAMED} more" if len(each) > MOST_NAMED else ""
    return ", ".join(each[:MOST_NAMED]) + more


def choose(metrics: Sequence[str], target: str, ask: Availability) -> Chosen:
    """Plan the counter runs.

    Parameters
    ----------
    metrics
        Ids, most valuable first.
    target
        gfx target.
    ask
        What is known of the counters of this machine.
    """
    if not metrics:
        return Chosen()
    ask.confirm([ANCHORS])

    def counters_of(name: str, target: str) -> tuple[str, ...]:
        ways = (each.expression.counters for each in catalogue.metric(name).on(target))
        return next((counters for counters in ways if ask.has(counters)), ())

    planned: tuple[CounterPass, ...] = ()
    for _ in range(MOST_PLANS):
        planned = passes.plan(metrics, target, counters_of=counters_of, check=ask.fits)
        if ask.confirm([each.counters for each in planned]):
            break
    absent = tuple(m for m in dict.fromkeys(metrics) if not catalogue.metric(m).on(target))
    lost = passes.unmeasurable(metrics, target, counters_of=counters_of)
    unlisted = tuple(m for m in lost if m not in absent and catalogue.counters_of(m, target))
    return Chosen(planned, ask.told, absent, unlisted)
