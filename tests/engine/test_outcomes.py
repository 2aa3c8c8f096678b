"""Severity, order, the cache, and outcomes as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rocperf
from rocperf import Finding, Measure, Query, Requires, Subject, UnjudgedError, engine, option
from rocperf.engine.cache import code_of
from rocperf.engine.grade import grade
from rocperf.model import Completed, Confidence, Failed, Outcome, RankedFinding, Severity, Skipped
from rocperf.plugin import Analysis
from rocperf.profile import Profile, open_profile
from rocperf.testing import TraceBuilder, us


def finding(**values: Any) -> Finding:
    whole: dict[str, Any] = {
        "rule": "asked/x",
        "subject": Subject("kernel", "k", {"kernel_id": 1}),
        "title": "t",
        "advice": "a",
        "saves_ns": None,
        "reasoning": "r",
    }
    return Finding(**(whole | values))


@dataclass(frozen=True)
class AskedOptions(rocperf.Options):
    """Options of `Asked`."""

    least: int = option(1, help="Anything.")


class Asked(Analysis[AskedOptions]):
    """Yield what it was given, and count how often it is asked."""

    id = "asked"
    title = "Asked"
    found: tuple[Any, ...] = ()
    times = 0

    def run(self, profile: Profile) -> Iterator[Finding]:
        """Yield what it was given."""
        type(self).times += 1
        for each in self.found:
            if isinstance(each, BaseException):
                raise each
            yield each


def asked(*found: Any, least: int = 1, requires: Requires | None = None) -> Analysis[Any]:
    body = {"found": found, "requires": requires or Requires(), "id": "asked", "title": "Asked"}
    kind: type[Asked] = type("Given", (Asked,), body)
    return kind(AskedOptions(least))


@pytest.fixture
def profile(trace: TraceBuilder) -> Profile:
    return trace.dispatch("k", start=0, duration=1000).profile()


def outcome_of(profile: Profile, analysis: Analysis[Any]) -> Outcome:
    [outcome] = engine.analyze(profile, {"asked": analysis})
    return outcome


@pytest.mark.parametrize(
    ("saves", "severity"),
    [
        (None, Severity.INFO),
        (0, Severity.INFO),
        (19, Severity.INFO),
        (20, Severity.MINOR),
        (99, Severity.MINOR),
        (100, Severity.MAJOR),
        (249, Severity.MAJOR),
        (250, Severity.CRITICAL),
        (1000, Severity.CRITICAL),
        (5000, Severity.CRITICAL),
    ],
)
def test_severity_is_the_share_of_the_time(saves: int | None, severity: Severity) -> None:
    """2, 10 and 25 % of 1000 ns are the bounds."""
    ranked = grade(finding(saves_ns=saves), 1000)
    assert ranked.severity is severity
    assert ranked.share == (None if saves is None else min(saves / 1000, 1.0))


@pytest.mark.parametrize("time_ns", [None, 0])
def test_without_a_time_nothing_has_a_share(time_ns: int | None) -> None:
    assert grade(finding(saves_ns=5), time_ns) == RankedFinding(
        finding(saves_ns=5), Severity.INFO, None
    )


def test_wall_time_counts_when_there_is_a_timing_run() -> None:
    trace = TraceBuilder().dispatch("k", start=0, duration=100).call("f", start=0, duration=1000)
    outcome = outcome_of(trace.profile(), asked(finding(saves_ns=100)))
    assert isinstance(outcome, Completed)
    assert outcome.findings[0].share == 0.1


def test_kernel_time_counts_when_counter_runs_stand_in() -> None:
    trace = TraceBuilder(timing=False).dispatch("k", start=0, duration=100)
    trace.dispatch("k", start=900, duration=100)
    outcome = outcome_of(trace.profile(), asked(finding(saves_ns=100)))
    assert isinstance(outcome, Completed)
    assert outcome.findings[0].share == 0.5


def test_of_a_subject_and_rule_the_worst_is_kept(profile: Profile) -> None:
    other = finding(subject=Subject("kernel", "other"), saves_ns=5)
    outcome = outcome_of(
        profile, asked(finding(saves_ns=10), finding(saves_ns=500), finding(saves_ns=None), other)
    )
    assert isinstance(outcome, Completed)
    assert [ranked.finding.saves_ns for ranked in outcome.findings] == [500, 5]


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        ("text", "a str, not a finding"),
        (RuntimeError("boom\nand more"), "RuntimeError: boom"),
        (SystemExit(3), "SystemExit: 3"),
        (GeneratorExit(), "GeneratorExit"),
        (MemoryError(), "MemoryError"),
    ],
)
def test_a_failure_is_a_value(profile: Profile, found: object, reason: str) -> None:
    outcome = outcome_of(profile, asked(finding(), found))
    assert isinstance(outcome, Failed)
    assert reason in outcome.error
    assert "\n" not in outcome.error


def test_ctrl_c_is_the_users(profile: Profile) -> None:
    with pytest.raises(KeyboardInterrupt):
        outcome_of(profile, asked(KeyboardInterrupt()))


def test_what_lacks_is_said_with_the_command(profile: Profile) -> None:
    outcome = outcome_of(profile, asked(finding(), requires=Requires(tables=("copies",))))
    assert isinstance(outcome, Skipped)
    assert outcome.missing == ("rows in copies",)
    assert outcome.command == "rocperf collect --for asked -- ./app"


def test_what_cannot_be_judged_is_skipped_with_the_reason(profile: Profile) -> None:
    outcome = outcome_of(profile, asked(UnjudgedError("the clocks were gated")))
    assert outcome == Skipped(
        "asked", ("the clocks were gated",), "rocperf collect --for asked -- ./app"
    )


def test_an_analysis_may_name_a_command_that_is_not_ours(profile: Profile) -> None:
    hint = "rocprofv3 --kfd-trace -- ./app"
    outcome = outcome_of(profile, asked(UnjudgedError("no events", hint=hint)))
    assert outcome == Skipped("asked", ("no events",), hint)


def test_a_need_that_does_not_exist_fails_alone(profile: Profile) -> None:
    outcome = outcome_of(profile, asked(requires=Requires(tables=("nonsense",))))
    assert isinstance(outcome, Failed)
    assert "nonsense" in outcome.error


def test_a_kept_outcome_is_not_asked_again(tmp_path: Path) -> None:
    path = TraceBuilder().dispatch("k", start=0, duration=us(1)).save(tmp_path / "p.rocperf")
    analysis = asked(finding(saves_ns=7))
    for _ in range(2):
        with open_profile(path) as profile:
            outcome = outcome_of(profile, analysis)
    assert type(analysis).times == 1  # type: ignore[attr-defined]  # Asked counts
    assert isinstance(outcome, Completed)
    assert outcome.findings[0].finding == finding(saves_ns=7)
    with open_profile(path) as profile:
        outcome_of(profile, asked(finding(saves_ns=8), least=2))  # other options: asked again
        [kept] = engine.analyze(profile, {"asked": analysis})
    assert kept == outcome
    TraceBuilder().dispatch("k", start=0, duration=us(1)).save(path)  # another generation
    with open_profile(path) as profile:
        outcome_of(profile, analysis)
    assert type(analysis).times == 2  # type: ignore[attr-defined]


def test_an_outcome_of_other_code_is_not_used(tmp_path: Path) -> None:
    path = TraceBuilder().dispatch("k", start=0, duration=us(1)).save(tmp_path / "p.rocperf")
    analysis = asked(finding(saves_ns=7))
    for _ in range(2):
        with open_profile(path) as profile:
            outcome_of(profile, analysis)
    assert type(analysis).times == 1  # type: ignore[attr-defined]  # Asked counts
    kept = tmp_path / "p.rocperf.findings.json"
    held = kept.read_text(encoding="utf-8")
    [key] = json.loads(held)["outcomes"]
    code = json.loads(key)[2]
    assert len(code) == 16
    kept.write_text(held.replace(code, "0" * len(code)), encoding="utf-8")
    with open_profile(path) as profile:
        outcome_of(profile, analysis)
    assert type(analysis).times == 2  # type: ignore[attr-defined]


def test_code_is_told_apart_by_what_is_in_its_folder(tmp_path: Path) -> None:
    module = tmp_path / "question.py"
    module.write_text("LIMIT = 1\n", encoding="utf-8")
    before = code_of.__wrapped__(str(tmp_path))
    assert code_of.__wrapped__(str(tmp_path)) == before
    module.write_text("LIMIT = 100\n", encoding="utf-8")
    assert code_of.__wrapped__(str(tmp_path)) != before


@pytest.mark.parametrize("text", ["", "{", "[]", '{"profile": 1}', "\x00", '{"outcomes": 5}'])
def test_a_damaged_cache_is_no_cache(tmp_path: Path, text: str) -> None:
    path = TraceBuilder().dispatch("k", start=0, duration=us(1)).save(tmp_path / "p.rocperf")
    cache = tmp_path / "p.rocperf.findings.json"
    cache.write_text(text, encoding="utf-8")
    with open_profile(path) as profile:
        assert isinstance(outcome_of(profile, asked(finding())), Completed)
    held = json.loads(cache.read_text(encoding="utf-8"))
    key = next(iter(held["outcomes"]))
    held["outcomes"][key]["findings"] = [{"rule": 5}]
    cache.write_text(json.dumps(held), encoding="utf-8")
    with open_profile(path) as profile:
        outcome = outcome_of(profile, asked(finding()))
    assert isinstance(outcome, Completed)
    assert outcome.findings[0].finding == finding()


def test_failures_are_not_kept(tmp_path: Path) -> None:
    path = TraceBuilder().dispatch("k", start=0, duration=us(1)).save(tmp_path / "p.rocperf")
    with open_profile(path) as profile:
        outcome_of(profile, asked(ValueError("once")))
    assert not (tmp_path / "p.rocperf.findings.json").exists()


def test_the_layout_of_a_finding_is_the_documented_one() -> None:
    whole = finding(
        saves_ns=12,
        doubts=("one",),
        evidence=(Measure("m", 1.5, "%", limit=10), Query("q", "SELECT $n", {"n": 3})),
        command="rocperf collect",
    )
    outcome = Completed("asked", (RankedFinding(whole, Severity.MAJOR, 0.12),))
    assert engine.outcome_to_dict(outcome) == {
        "analysis": "asked",
        "status": "completed",
        "findings": [
            {
                "rule": "asked/x",
                "severity": "major",
                "share": 0.12,
                "subject": {"kind": "kernel", "name": "k", "kernel_id": 1},
                "title": "t",
                "advice": "a",
                "saves_ns": 12,
                "confidence": "high",
                "evidence": [
                    {"kind": "measure", "name": "m", "value": 1.5, "unit": "%", "limit": 10},
                    {"kind": "query", "label": "q", "sql": "SELECT $n", "params": {"n": 3}},
                ],
                "reasoning": "r",
                "doubts": ["one"],
                "command": "rocperf collect",
                "symptom": False,
            }
        ],
        "missing": [],
        "command": None,
        "error": None,
    }


texts = st.text(max_size=20)
plain = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
evidence = st.builds(
    Measure, texts, numbers, texts, st.none() | st.floats(allow_nan=False, allow_infinity=False)
) | st.builds(Query, texts, texts, st.dictionaries(texts, plain, max_size=3))
keys = texts.filter(lambda key: key not in ("kind", "name"))
confidences: list[Confidence] = ["low", "medium", "high"]
findings = st.builds(
    Finding,
    rule=texts,
    subject=st.builds(Subject, texts, texts, st.dictionaries(keys, plain, max_size=3)),
    title=texts,
    advice=texts,
    saves_ns=st.none() | st.integers(0, 2**62),
    reasoning=texts,
    confidence=st.sampled_from(confidences),
    doubts=st.lists(texts, max_size=2).map(tuple),
    evidence=st.lists(evidence, max_size=3).map(tuple),
    command=st.none() | texts,
)
ranked = st.builds(RankedFinding, findings, st.sampled_from(Severity), st.none() | st.floats(0, 1))
outcomes = (
    st.builds(Completed, texts, st.lists(ranked, max_size=3).map(tuple))
    | st.builds(Skipped, texts, st.lists(texts, max_size=3).map(tuple), st.none() | texts)
    | st.builds(Failed, texts, texts)
)


@given(outcomes)
def test_outcomes_survive_json(outcome: Outcome) -> None:
    text = json.dumps(engine.outcome_to_dict(outcome), allow_nan=False)
    assert engine.outcome_from_dict(json.loads(text)) == outcome


@given(st.integers(0, 10**15), st.integers(1, 10**15))
def test_no_share_is_above_one_and_more_is_never_less_severe(saves: int, time_ns: int) -> None:
    less, more = (
        grade(finding(saves_ns=saves), time_ns),
        grade(finding(saves_ns=saves + 1), time_ns),
    )
    assert less.share is not None
    assert 0 <= less.share <= 1
    assert less.severity <= more.severity


def test_numbers_that_are_none_are_named() -> None:
    row = engine.finding_to_dict(finding(evidence=(Measure("m", float("nan"), "%"),)))
    assert row["evidence"][0]["value"] == "nan"
