"""What every analysis must keep to, as tests to inherit."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar

from rocperf.engine import analyze, finding_from_dict, finding_to_dict
from rocperf.model import Completed, Failed, Finding, Measure, Query
from rocperf.plugin import Analysis, AnalysisType
from rocperf.plugin.loading import check
from rocperf.profile import Profile
from rocperf.testing.builder import TraceBuilder, ms


class AnalysisContract(ABC):
    """Tests of an analysis: inherit, name it, and build one trace that it must flag.

    Attributes
    ----------
    analysis
        The class under test.

    Examples
    --------
    >>> class TestMyAnalysis(AnalysisContract):  # doctest: +SKIP
    ...     analysis = MyAnalysis
    ...
    ...     def flagged(self, trace):
    ...         return trace.dispatch("slow", start=0, duration=ms(5))
    ...
    ...     def healthy(self, trace):
    ...         return trace.dispatch("fast", start=0, duration=ms(1))
    """

    analysis: ClassVar[AnalysisType]

    @abstractmethod
    def flagged(self, trace: TraceBuilder) -> TraceBuilder:
        """Add what the analysis must report."""

    @abstractmethod
    def healthy(self, trace: TraceBuilder) -> TraceBuilder:
        """Add what it looks at and must not report."""

    def make(self) -> Analysis[Any]:
        """Return the analysis with its defaults."""
        return self.analysis(self.analysis.options_type())

    def findings(self, profile: Profile) -> list[Finding]:
        """Return what it finds, as the engine asks it."""
        [outcome] = analyze(profile, {self.analysis.id: self.make()})
        assert isinstance(outcome, Completed), outcome
        return [ranked.finding for ranked in outcome.findings]

    def test_what_it_needs_exists(self) -> None:
        """Tables, columns and metrics are known, options are plain."""
        check(self.analysis)

    def test_options_say_what_they_mean(self) -> None:
        """Every option has a help text, and the defaults are within their bounds."""
        self.make()
        for field in dataclasses.fields(self.analysis.options_type):
            assert field.metadata.get("help"), f"option {field.name} has no help"

    def test_it_flags_what_it_must(self) -> None:
        """Findings are whole: rule, reasons, evidence, and a bound that can be true."""
        with self.flagged(TraceBuilder()).profile() as profile:
            found = self.findings(profile)
            assert found, "nothing was reported"
            whole = profile.wall_ns or profile.kernel_ns
            for finding in found:
                _assert_whole(finding, whole)
                for query in finding.evidence:
                    if isinstance(query, Query):
                        rows = profile.sql(query.sql, query.params)
                        assert rows.height, f"no row shows {finding.rule}: {query.label}"

    def test_it_says_a_thing_once(self) -> None:
        """It yields one finding per subject and rule."""
        with self.flagged(TraceBuilder()).profile() as profile:
            keys = [(f.rule, f.subject.kind, f.subject.name) for f in self.make().run(profile)]
        assert len(keys) == len(set(keys))

    def test_it_is_silent_on_what_is_well(self) -> None:
        """What must not be reported is not, and it does look."""
        with self.healthy(TraceBuilder()).profile() as profile:
            assert self.findings(profile) == []

    def test_it_survives_an_empty_profile(self) -> None:
        """With nothing to look at it is skipped or finds nothing."""
        with TraceBuilder().profile() as profile:
            [outcome] = analyze(profile, {self.analysis.id: self.make()})
            assert not isinstance(outcome, Failed), outcome
            assert not isinstance(outcome, Completed) or outcome.findings == ()

    def test_the_clock_does_not_matter(self) -> None:
        """The same events later give the same findings."""
        with self.flagged(TraceBuilder()).profile() as profile:
            early = self.findings(profile)
        with self.flagged(TraceBuilder(origin=ms(86_400_000))).profile() as profile:
            assert self.findings(profile) == early

    def test_findings_survive_the_trip(self) -> None:
        """They are plain values: what comes out of the worker process is what went in."""
        with self.flagged(TraceBuilder()).profile() as profile:
            for finding in self.findings(profile):
                assert finding_from_dict(finding_to_dict(finding)) == finding


def _assert_whole(finding: Finding, whole_ns: int | None) -> None:
    for name in ("title", "advice", "reasoning"):
        assert getattr(finding, name).strip(), f"{finding.rule} has no {name}"
    assert finding.subject.name, f"{finding.rule} is about nothing"
    if finding.saves_ns is not None:
        assert whole_ns is not None, f"{finding.rule} saves time of a profile without times"
        assert finding.saves_ns <= whole_ns, f"{finding.rule} saves more time than there is"
    assert any(isinstance(each, Query) for each in finding.evidence), "no query shows it"
    for each in finding.evidence:
        if isinstance(each, Measure) and not isinstance(each.value, str):
            assert math.isfinite(each.value), f"{each.name} is {each.value}"
