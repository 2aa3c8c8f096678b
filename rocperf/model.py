"""The nouns of rocperf. Frozen values, no I/O, standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal

#: Shares of wall time from which a finding is minor, major or critical. A choice of ours:
#: below 2 % nobody acts, above 25 % nothing else matters.
SEVERITY_BOUNDS = (0.02, 0.10, 0.25)

Confidence = Literal["low", "medium", "high"]


class Severity(IntEnum):
    """How much of the wall time fixing a finding could save at most."""

    INFO = 0
    MINOR = 1
    MAJOR = 2
    CRITICAL = 3

    @classmethod
    def from_share(cls, share: float) -> Severity:
        """Grade a share of wall time, so that every analysis means the same.

        Parameters
        ----------
        share
            Time that fixing the finding could save, over wall time; 0 to 1.
        """
        return cls(sum(share >= bound for bound in SEVERITY_BOUNDS))

    @property
    def word(self) -> str:
        """The lower-case name, as printed and written to JSON."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Subject:
    """What a finding is about.

    Parameters
    ----------
    kind
        ``kernel``, ``copy``, ``gpu``, ``process`` or ``profile``.
    name
        Full name: the kernel's, or one made for people such as ``host to GPU 0``.
    details
        Keys that select its rows, such as ``{"kernel_id": 3}``.
    """

    kind: str
    name: str
    details: Mapping[str, str | int | float | bool | None] = field(
        default_factory=dict[str, "str | int | float | bool | None"]
    )


@dataclass(frozen=True, slots=True)
class Measure:
    """Evidence: one number, its unit, and the limit it was held against."""

    name: str
    value: float | int | str
    unit: str = ""
    limit: float | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """Evidence: the SQL whose rows show it, so that a reader can ask it again."""

    label: str
    sql: str
    params: Mapping[str, object] = field(default_factory=dict[str, object])


Evidence = Measure | Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing worth knowing about a profile.

    Parameters
    ----------
    rule
        Stable id, ``<analysis id>/<what>``, such as ``occupancy/vgpr``.
    subject
        What it is about; one finding per subject and rule.
    title
        One sentence with the decisive number.
    advice
        A concrete edit, at HIP or compiler level.
    saves_ns
        Upper bound of the wall or kernel time that fixing it could save, nanoseconds;
        None when it cannot be bounded.
    reasoning
        How the bound follows, or why there is none.
    confidence
        ``low``, ``medium`` or ``high``.
    doubts
        What lowers the confidence, one sentence each.
    command
        The command to run next, if there is one.
    symptom
        Whether it says what is seen, not why: where another finding about the same subject names
        a cause, a screen tells it as a part of that one.
    """

    rule: str
    subject: Subject
    title: str
    advice: str
    saves_ns: int | None
    reasoning: str
    confidence: Confidence = "high"
    doubts: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    command: str | None = None
    symptom: bool = False


@dataclass(frozen=True, slots=True)
class RankedFinding:
    """A finding with the severity that the engine gave it.

    Parameters
    ----------
    finding
        As the analysis yielded it.
    severity
        From the share of wall time that fixing it could save at most.
    share
        That share, 0 to 1; None when the saving has no bound or the wall time is unknown.
    """

    finding: Finding
    severity: Severity
    share: float | None


@dataclass(frozen=True)
class Requires:
    """What an analysis needs before it can judge.

    Parameters
    ----------
    tables
        Names of tables that must have rows.
    columns
        Columns, each ``table.column``, that must hold at least one value.
    metrics
        Ids of metrics that must be collected.
    any_of
        Groups of alternatives: of each group, one set of metrics must be collected whole.
    optional
        Metrics that sharpen the answer; planned for, never missed.
    deep
        Those of the metrics above that a first look at every kernel leaves out, because they
        take further runs of the program: they come with ``collect --for`` and ``--deepen``.
    """

    tables: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    any_of: tuple[tuple[tuple[str, ...], ...], ...] = ()
    optional: tuple[str, ...] = ()
    deep: tuple[str, ...] = ()

    def every_metric(self) -> tuple[str, ...]:
        """Name every metric mentioned, most needed first, once each."""
        groups = [metric for group in self.any_of for each in group for metric in each]
        return tuple(dict.fromkeys((*self.metrics, *groups, *self.optional)))

    def first_look(self) -> tuple[str, ...]:
        """Name the metrics that a first look at every kernel brings, most needed first."""
        return tuple(metric for metric in self.every_metric() if metric not in self.deep)


@dataclass(frozen=True, slots=True)
class Completed:
    """An analysis looked and answered."""

    analysis: str
    findings: tuple[RankedFinding, ...]


@dataclass(frozen=True, slots=True)
class Skipped:
    """An analysis could not judge.

    Parameters
    ----------
    missing
        What the profile lacks, one phrase each.
    command
        The command that would collect it; None when nothing would.
    """

    analysis: str
    missing: tuple[str, ...]
    command: str | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """An analysis raised, hung, exited or returned garbage."""

    analysis: str
    error: str


Outcome = Completed | Skipped | Failed
