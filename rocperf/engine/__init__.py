"""Ask every analysis its question, each on its own: one failure spoils no other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rocperf.engine.cache import Cache
from rocperf.engine.grade import grade, outcome_of
from rocperf.engine.outcomes import outcome_from_dict, outcome_to_dict
from rocperf.engine.stopping import Stop
from rocperf.errors import PluginError, UnjudgedError
from rocperf.model import Failed, Outcome, Skipped
from rocperf.plugin import Analysis
from rocperf.plugin.loading import Address
from rocperf.plugin.wire import finding_from_dict, finding_to_dict
from rocperf.plugin.worker import LIMIT_S, Worker
from rocperf.profile import Profile

__all__ = [
    "LIMIT_S",
    "Stop",
    "analyze",
    "finding_from_dict",
    "finding_to_dict",
    "grade",
    "outcome_from_dict",
    "outcome_to_dict",
]


def analyze(
    profile: Profile,
    analyses: Mapping[str, Analysis[Any]],
    *,
    external: Mapping[str, Address] | None = None,
    limit_s: float = LIMIT_S,
    on_outcome: Callable[[Outcome], None] | None = None,
    stop: Stop | None = None,
) -> list[Outcome]:
    """Run analyses over a profile.

    Parameters
    ----------
    profile
        An open profile.
    analyses
        Configured analyses by id.
    external
        Which of them run in a worker process, and how it loads each.
    limit_s
        Time limit of each external analysis, seconds.
    on_outcome
        Told of each outcome as it is ready.
    stop
        Asked from another thread to end the work.

    Returns
    -------
    list
        One outcome per analysis, in order. What an external analysis found is not cached: its
        code may change while its version does not.

    Raises
    ------
    InterruptedRunError
        If `stop` was asked for: then no outcome is kept.
    """
    external = external or {}
    cache = Cache.beside(profile)
    outcomes: list[Outcome] = []
    stop = stop or Stop()
    profile.ask_together(
        name for each in analyses.values() for name in each.requires.every_metric()
    )
    with (
        Worker(limit_s) as worker,
        stop.watching(profile.interrupt),
        stop.watching(worker.interrupt),
    ):
        for name, analysis in analyses.items():
            address = external.get(name)
            outcome = cache.find(analysis) if address is None else None
            if outcome is None:
                outcome = _ask(profile, name, analysis, address, worker)
                stop.check()  # what was interrupted reads as failed
                if address is None:
                    cache.keep(analysis, outcome)
            outcomes.append(outcome)
            if on_outcome is not None:
                on_outcome(outcome)
    cache.save()
    return outcomes


def _ask(
    profile: Profile,
    name: str,
    analysis: Analysis[Any],
    address: Address | None,
    worker: Worker,
) -> Outcome:
    try:
        if missing := profile.missing(analysis.requires):
            return Skipped(name, missing, profile.command_for(name, analysis.requires))
        if address is None:
            return outcome_of(name, analysis.run(profile), profile)
        if profile.path is None:
            raise PluginError("it runs in another process, which cannot see a profile in memory")
        found = worker.run(address, name, analysis.options, profile.path, profile.region)
        return outcome_of(name, found, profile)
    except UnjudgedError as error:
        return Skipped(name, (error.message,), error.hint or profile.command_for(name))
    except KeyboardInterrupt:
        raise  # only the user makes one here: plugins that could are in the worker
    except BaseException as error:  # noqa: BLE001  # a panic in polars is no Exception
        return Failed(name, _reason(error))


def _reason(error: BaseException) -> str:
    lines = str(error).splitlines() or ["no message"]
    text = lines[0] if isinstance(error, PluginError) else f"{type(error).__name__}: {lines[0]}"
    return text[:500]
