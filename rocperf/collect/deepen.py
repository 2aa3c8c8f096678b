"""Further counter runs of a collection that is there: more metrics, of some kernels only."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rocperf.collect import regions
from rocperf.collect.availability import Availability
from rocperf.collect.counting import Chosen, choose
from rocperf.collect.locate import Profiler
from rocperf.collect.manifest import Manifest
from rocperf.collect.records import counter_record
from rocperf.collect.request import Request
from rocperf.errors import NothingError
from rocperf.metrics import catalogue


def deepened(
    request: Request, before: Manifest, profiler: Profiler, raw: Path, ask: Availability
) -> tuple[Manifest, Chosen]:
    """Add the passes that bring more of some kernels.

    Parameters
    ----------
    request
        Its `deepen` names the kernels, its `metrics` what to bring of them.
    before
        The collection as it is.
    raw
        Its raw folder.
    ask
        What is known of the counters of this machine.

    Returns
    -------
    tuple
        The manifest with passes that are not run yet, numbered on from the last; what they are.

    Raises
    ------
    NothingError
        If no kernel is named, or everything is there.
    """
    kernels = regions.pattern(request.deepen or (), before.options.get("kernels"))
    if kernels is None:
        raise NothingError(
            f"no finding names a kernel of {request.resume}, so there is nothing to look deeper at",
            hint="choose kernels yourself: rocperf collect --kernels REGEX ./app",
        )
    had = measured(before, kernels, request.metrics)
    wanted = [
        name
        for name in request.metrics
        if name not in had and catalogue.metric(name).on(before.target)
    ]
    chosen = choose(wanted, before.target, ask)
    if not chosen.passes:
        raise NothingError(
            f"{request.resume} holds every metric that can be measured on {before.target} of the"
            " kernels that findings name",
            hint="rocperf collect --kernels REGEX ./app measures others",
        )
    last = max(each.number for each in before.passes)
    after = before
    for number, each in enumerate(chosen.passes, last + 1):
        after = after.with_pass(counter_record(request, profiler, raw, number, each, kernels))
    return after, chosen


def measured(before: Manifest, kernels: str, metrics: Iterable[str]) -> frozenset[str]:
    """Name the metrics that complete passes brought of the kernels that a filter lets through.

    A metric is there when one pass brought all its counters, or when every pass that was to bring
    them is complete. A pass with another filter may have left kernels out.

    Parameters
    ----------
    before
        The collection.
    kernels
        The filter.
    metrics
        Ids to choose from.
    """
    own = before.options.get("kernels")
    whole: set[str] = set()
    lacking: set[str] = set()
    received: list[frozenset[str]] = []
    for each in before.passes:
        filtered = each.kernels or own
        if filtered is not None and filtered not in (kernels, own):
            continue
        received.append(frozenset(each.received))
        # What a complete pass did not return, another would not return either.
        (whole if each.complete else lacking).update(each.metrics)

    def came_at_once(metric: str) -> bool:
        ways = [each.expression.counters for each in catalogue.metric(metric).on(before.target)]
        return any(way and here.issuperset(way) for way in ways for here in received)

    return frozenset(m for m in metrics if came_at_once(m)) | (whole - lacking)
