"""Which counter runs a collection needs on this machine: metrics, the hardware, ROCm's word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rocperf.collect import passes
from rocperf.collect.availability import Availability
from rocperf.collect.limits import ANCHORS
from rocperf.collect.passes import CounterPass
from rocperf.metrics import catalogue

#: Plans that ROCm may refuse before the last one is tried as it is. A choice of ours: each
#: refusal tells of one block at least, and few have counters in one plan.
MOST_PLANS = 8


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
            found.append(f"{target} has no counters for {', '.join(self.unmeasurable)}")
        if self.unlisted:
            names = ", ".join(self.unlisted)
            found.append(f"this ROCm lists no counters for {names}: {self.told} was asked")
        return tuple(found)


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
    absent = passes.unmeasurable(metrics, target)
    lost = passes.unmeasurable(metrics, target, counters_of=counters_of)
    unlisted = tuple(name for name in lost if name not in absent)
    return Chosen(planned, ask.told, absent, unlisted)
