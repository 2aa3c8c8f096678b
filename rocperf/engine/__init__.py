"""Ask every analysis its question, each on its own: one failure spoils no other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rocperf.engine.cache import Cache
from rocperf.engine.grade import outcome_of
from rocperf.engine.wire import finding_from_dict, finding_to_dict, outcome_to_dict
from rocperf.engine.worker import Worker
from rocperf.model import Failed, Outcome, Skipped
from rocperf.plugin import Analysis
from rocperf.profile import Profile

__all__ = ["LIMIT_S", "analyze", "finding_from_dict", "finding_to_dict", "outcome_to_dict"]

#: Seconds after which an analysis that is not ours is ended. A choice of ours.
LIMIT_S = 60.0


def analyze(
    profile: Profile,
    analyses: Mapping[str, Analysis[Any]],
    *,
    external: Mapping[str, tuple[str, str]] | None = None,
    limit_s: float = LIMIT_S,
    on_outcome: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
    """Run analyses over a profile.

    Parameters
    ----------
    profile
        An open profile.
    analyses
        Configured analyses by id.
    external
        Which of them run outside this process, and how a worker loads each.
    limit_s
        Time limit of each external analysis, seconds.
    on_outcome
        Told of each outcome as it is ready.

    Returns
    -------
    list
        One outcome per analysis, in order.
    """
    external = external or {}
    cache = Cache.beside(profile)
    outcomes: list[Outcome] = []
    with Worker(profile.path, limit_s) as worker:
        for name, analysis in analyses.items():
            outcome = cache.find(analysis) if name not in external else None
            if outcome is None:
                outcome = _ask(profile, name, analysis, external.get(name), worker)
                if name not in external:
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
    address: tuple[str, str] | None,
    worker: Worker,
) -> Outcome:
    try:
        if missing := profile.missing(analysis.requires):
            return Skipped(name, missing, profile.command_for(name))
        if address is not None:
            return outcome_of(name, worker.run(address, name, analysis.options), profile)
        return outcome_of(name, analysis.run(profile), profile)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # the boundary to code not ours
        text = str(error) or "no message"
        return Failed(name, f"{type(error).__name__}: {text.splitlines()[0]}"[:500])
