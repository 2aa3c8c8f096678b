"""What a profile lacks for an analysis, and why it was not collected."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocperf.metrics.catalogue import metric as catalogue_metric
from rocperf.profile import by_hand
from rocperf.schema import BY_NAME

if TYPE_CHECKING:
    from rocperf.model import Requires
    from rocperf.profile.opening import Profile

#: Characters of what was said of a pass that a reason keeps. A choice of ours: two lines.
LONGEST = 160

#: Names that a reason spells out; `rocperf explain` lists all that an analysis needs. A choice of
#: ours: two lines.
MOST_NAMES = 6

#: Stands for the target of a GPU that the trace does not describe.
UNKNOWN = "unknown"

_ASKED_IN_VAIN = """
SELECT counter, "pass", status, exit_code, message
FROM requested_counters JOIN passes USING ("pass")
WHERE NOT received ORDER BY "pass", counter
"""


@dataclass(frozen=True)
class Lack:
    """Something that is not there.

    Parameters
    ----------
    what
        Its name, or names.
    why
        The reason, where one is known; else empty.
    counters
        Whether it is counters that lack.
    """

    what: tuple[str, ...]
    why: str = ""
    counters: bool = False

    def __str__(self) -> str:
        few = self.what if len(self.what) <= MOST_NAMES else self.what[: MOST_NAMES - 2]
        more = f" and {len(self.what) - len(few)} more" if len(few) < len(self.what) else ""
        names = ("counters " if self.counters else "") + ", ".join(few) + more
        return f"{names} ({self.why})" if self.why else names


def missing(profile: Profile, requires: Requires) -> tuple[str, ...]:
    """Name what a profile lacks, one phrase each; empty when it has everything.

    Parameters
    ----------
    profile
        The profile.
    requires
        What an analysis needs.
    """
    lacking = [*_tables(profile, requires.tables)]
    lacking += _columns(profile, requires.columns, lacking)
    ask = _Counters(profile)
    lacking += _merged(lack for name in requires.metrics if (lack := ask.lacking(name)))
    texts = [str(each) for each in lacking]
    for group in requires.any_of:
        each = [
            _merged(lack for name in metrics if (lack := ask.lacking(name))) for metrics in group
        ]
        if all(each):
            texts.append(_alternatives(each))
    return tuple(texts)


def asked_in_vain(profile: Profile, requires: Requires) -> bool:
    """Tell whether a pass that did not come to its end was to bring what is missing."""
    if _timing_pass(profile) not in ("complete", None) and _empty(profile, requires.tables):
        return True
    ask = _Counters(profile)
    groups = [names for group in requires.any_of for names in group]
    wanted = [*requires.metrics, *(name for names in groups for name in names)]
    lacks = [lack for name in wanted if (lack := ask.lacking(name))]
    return any(ask.unfinished(name) for lack in lacks for name in lack.what)


def out_of_reach(profile: Profile, requires: Requires) -> bool:
    """Tell whether collecting again could not bring what is missing.

    No formula may exist for this GPU; or the program does nothing of the kind, since its timing
    run came to its end and recorded none.
    """
    ask = _Counters(profile)
    for group in ((requires.metrics,), *requires.any_of):
        if not any(all(map(ask.known, names)) for names in group):
            return True
    return _timing_pass(profile) == "complete" and bool(_empty(profile, requires.tables))


def _timing_pass(profile: Profile) -> str | None:
    status = profile.scalar("SELECT status FROM passes WHERE role = 'timing' ORDER BY \"pass\"")
    return None if status is None else str(status)


def _empty(profile: Profile, names: Iterable[str]) -> list[str]:
    query = "SELECT count(*) FROM (SELECT 1 FROM {} LIMIT 1)"
    return [name for name in names if not profile.scalar(query.format(BY_NAME[name].name))]


def held_back(profile: Profile) -> bool:
    """Tell whether passes were left out that only ``--allow-serialised`` runs."""
    return bool(
        profile.scalar(
            "SELECT count(*) FROM passes"
            " WHERE status = 'missing' AND contains(message, '--allow-serialised')"
        )
    )


def _tables(profile: Profile, names: Iterable[str]) -> list[Lack]:
    why = "the timing run recorded none" if _timing_pass(profile) == "complete" else ""
    return [
        Lack((f"rows in {name}",), by_hand.WHY.get(name, why)) for name in _empty(profile, names)
    ]


def _columns(profile: Profile, names: Iterable[str], lacking: Collection[Lack]) -> list[Lack]:
    found: list[Lack] = []
    empty = {what for lack in lacking for what in lack.what}
    for name in names:
        table, column = name.split(".")
        if f"rows in {table}" in empty:
            continue
        known = {c.name: c for c in BY_NAME[table].columns}[column]
        if not profile.scalar(f"SELECT count({known.name}) FROM {BY_NAME[table].name}"):
            doc = f"{known.doc[0].lower()}{known.doc[1:].rstrip('.')}"
            found.append(Lack((f"{name}, which no row has: {doc}",)))
    return found


class _Counters:
    """Which counters a profile has, and what became of those that were asked for."""

    def __init__(self, profile: Profile) -> None:
        rows = profile.sql("SELECT DISTINCT counter FROM counter_values WHERE value IS NOT NULL")
        self._have = frozenset(rows["counter"].to_list())
        known = sorted({gpu.target for gpu in profile.agents if gpu.target})
        self._targets: Sequence[str] = known or [UNKNOWN]
        self._why: dict[str, dict[str, None]] = {}
        self._unfinished: set[str] = set()
        for counter, number, status, code, message in profile.sql(_ASKED_IN_VAIN).iter_rows():
            name = str(counter).partition(":")[0]
            reasons = self._why.setdefault(name, {})
            reasons[_reason(int(number), str(status), code, message)] = None
            if status != "complete":
                self._unfinished.add(name)

    def unfinished(self, counter: str) -> bool:
        """Tell whether a pass that was to bring a counter did not come to its end."""
        return counter in self._unfinished

    def known(self, metric: str) -> bool:
        """Tell whether a metric has a formula on a GPU of the profile, as far as one is known."""
        return self._targets == [UNKNOWN] or bool(self._ways(metric))

    def _ways(self, metric: str) -> list[Collection[str]]:
        return [
            formula.expression.counters
            for target in self._targets
            for formula in catalogue_metric(metric).on(target)
        ]

    def lacking(self, metric: str) -> Lack | None:
        """Say what keeps a metric from being computed; None when nothing does."""
        ways = self._ways(metric)
        if not ways:
            where = f"not available on {', '.join(self._targets)}"
            return Lack((metric,), where if self._targets != [UNKNOWN] else "the GPU is not known")
        if any(set(names) <= self._have for names in ways):
            return None
        names = tuple(name for name in ways[0] if name not in self._have)
        reasons = dict.fromkeys(why for name in names for why in self._why.get(name, ()))
        why = f"unavailable: {'; '.join(reasons)}" if reasons else ""
        return Lack(names, why, counters=True)


def _merged(lacks: Iterable[Lack]) -> list[Lack]:
    """Join what lacks for one reason, so that it is said once."""
    groups: dict[tuple[bool, str], dict[str, None]] = {}
    for lack in lacks:
        key = (lack.counters, lack.why)
        groups.setdefault(key, {}).update(dict.fromkeys(lack.what))
    return [Lack(tuple(what), why, counters) for (counters, why), what in groups.items()]


def _alternatives(each: Sequence[Sequence[Lack]]) -> str:
    """Say what would do, and once why it is not there where that is the same of all."""
    reasons = {lack.why for lacks in each for lack in lacks}
    if len(reasons) > 1:
        return " or ".join(", ".join(map(str, lacks)) for lacks in each)
    texts = [", ".join(str(Lack(k.what, "", k.counters)) for k in lacks) for lacks in each]
    why = reasons.pop()
    return " or ".join(dict.fromkeys(texts)) + (f" ({why})" if why else "")


def _reason(number: int, status: str, code: int | None, message: str | None) -> str:
    """Say in a clause what became of a pass."""
    said = (message or "").partition("; ")[0][:LONGEST]
    if status == "complete":
        return f"asked for in pass {number}, which did not return them"
    if status == "interrupted":
        return f"pass {number} was interrupted"
    if status == "missing":
        return f"pass {number} was {said or 'not run'}"
    if code is not None and code < 0:
        return f"pass {number} ended by signal {-code}"
    return f"pass {number} failed: {said}" if said else f"pass {number} failed"
