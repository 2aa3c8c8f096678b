"""Severity: what fixing a finding could save at most, held against the wall time."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from rocperf.errors import PluginError
from rocperf.model import Completed, Finding, RankedFinding, Severity
from rocperf.plugin.wire import MOST_FINDINGS
from rocperf.profile import Profile


def outcome_of(name: str, findings: Iterable[Finding], profile: Profile) -> Completed:
    """Grade what an analysis yielded: one finding per subject and rule, the worst first.

    Raises
    ------
    PluginError
        If it yielded something else than findings, or too many.
    """
    time_ns = profile.kernel_ns if profile.serialised else profile.wall_ns or profile.kernel_ns
    best: dict[tuple[str, str, str], RankedFinding] = {}
    for number, finding in enumerate(islice(findings, MOST_FINDINGS + 1)):
        if number == MOST_FINDINGS:
            raise PluginError(f"it yields more than {MOST_FINDINGS:,} findings")
        ranked = grade(_checked(name, finding), time_ns)
        key = (finding.rule, finding.subject.kind, finding.subject.name)
        if key not in best or _order(ranked) < _order(best[key]):
            best[key] = ranked
    return Completed(name, tuple(sorted(best.values(), key=_order)))


def grade(finding: Finding, time_ns: int | None) -> RankedFinding:
    """Give a finding its severity.

    Parameters
    ----------
    finding
        As yielded.
    time_ns
        Wall time, or summed kernel time where only counter runs exist; None when unknown.
    """
    if finding.saves_ns is None or not time_ns:
        return RankedFinding(finding, Severity.INFO, None)
    share = min(finding.saves_ns / time_ns, 1.0)
    return RankedFinding(finding, Severity.from_share(share), share)


def _order(ranked: RankedFinding) -> tuple[int, int, str, str]:
    finding = ranked.finding
    return (-ranked.severity, -(finding.saves_ns or 0), finding.rule, finding.subject.name)


def _checked(name: str, finding: object) -> Finding:
    if not isinstance(finding, Finding):
        raise PluginError(f"it yielded a {type(finding).__name__}, not a finding")
    prefix, _, what = finding.rule.partition("/")
    if prefix != name or not what:
        raise PluginError(f"its rule {finding.rule!r} must be {name}/ and a word")
    saves = finding.saves_ns
    if saves is not None and (type(saves) is not int or saves < 0):
        raise PluginError(f"{finding.rule}: saves_ns must be a whole number from 0, or None")
    return finding
