"""Each sample trace gives what its ``expected.json`` says, and nothing else."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import rocperf
from rocperf import pipeline
from rocperf.ingest.load import ingest
from rocperf.model import Completed, Outcome, Skipped

SAMPLES = Path(__file__).parents[2] / "sample_traces"
NAMES = sorted(path.parent.name for path in SAMPLES.glob("*/expected.json"))


@dataclass(frozen=True)
class Analysed:
    path: Path
    outcomes: dict[str, Outcome]

    def findings(self) -> list[tuple[str, str, int | None]]:
        return [
            (each.finding.rule, each.finding.subject.name, each.finding.saves_ns)
            for outcome in self.outcomes.values()
            if isinstance(outcome, Completed)
            for each in outcome.findings
        ]

    def kernel_ns(self, name: str) -> int:
        with rocperf.open(self.path) as profile:
            total = profile.scalar(
                "SELECT sum(end_ns - start_ns)::BIGINT FROM dispatches JOIN kernels"
                " USING (kernel_id) WHERE starts_with(name, $name)",
                {"name": name},
            )
        return int(total)


@pytest.fixture(scope="module")
def analysed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Analysed]:
    """Analyse every sample once, as ``ingest`` and ``analyze`` do."""
    folder = tmp_path_factory.mktemp("samples")
    found: dict[str, Analysed] = {}
    for name in NAMES:
        path = ingest([SAMPLES / name], folder / f"{name}.rocperf")
        outcomes = pipeline.analyze(path).outcomes
        found[name] = Analysed(path, {each.analysis: each for each in outcomes})
    return found


def expected(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((SAMPLES / name / "expected.json").read_text())
    return content


def test_there_is_an_expectation_for_each_sample() -> None:
    folders = {path.parent.name for path in SAMPLES.glob("*/manifest.toml")}
    assert len(NAMES) == 26
    assert set(NAMES) == folders


@pytest.mark.parametrize("name", NAMES)
def test_exactly_the_expected_is_found(name: str, analysed: dict[str, Analysed]) -> None:
    wanted = {(each["rule"], each["subject"]) for each in expected(name)["findings"]}
    named = {analysis for key in ("silent", "unjudged") for analysis in expected(name)[key]}
    named |= {rule.partition("/")[0] for rule, _ in wanted}
    found = [each for each in analysed[name].findings() if each[0].partition("/")[0] in named]
    assert {(rule, subject) for rule, subject, _ in found} == wanted
    assert len(found) == len(wanted), "one finding a rule and subject"


@pytest.mark.parametrize("name", NAMES)
def test_what_cannot_be_judged_is_said_and_all_else_was_judged(
    name: str, analysed: dict[str, Analysed]
) -> None:
    outcomes = analysed[name].outcomes
    for analysis, lacks in expected(name)["unjudged"].items():
        outcome = outcomes[analysis]
        assert isinstance(outcome, Skipped), analysis
        assert any(each.startswith(lacks) for each in outcome.missing), outcome.missing
        assert outcome.command
    judged = [each["rule"].partition("/")[0] for each in expected(name)["findings"]]
    for analysis in (*expected(name)["silent"], *judged):
        assert isinstance(outcomes[analysis], Completed), analysis


@pytest.mark.parametrize(
    ("bad", "good"),
    [
        (("naive_transpose", "transpose_naive("), ("padded_transpose", "transpose_lds_padded(")),
        (
            ("lds_conflict_transpose", "transpose_lds_conflict("),
            ("padded_transpose", "transpose_lds_padded("),
        ),
    ],
)
def test_the_bound_is_not_below_what_the_mended_kernel_saves(
    bad: tuple[str, str], good: tuple[str, str], analysed: dict[str, Analysed]
) -> None:
    """The three transposes do the same work: their times tell what mending one brings."""
    slow = analysed[bad[0]].kernel_ns(bad[1])
    brings = slow - analysed[good[0]].kernel_ns(good[1])
    (saves,) = (
        saves for _, subject, saves in analysed[bad[0]].findings() if subject.startswith(bad[1])
    )
    assert saves is not None
    assert 0 < brings <= saves <= slow


def test_the_bound_of_pageable_copies_is_what_pinned_ones_save(
    analysed: dict[str, Analysed],
) -> None:
    def copied(name: str) -> dict[str, int]:
        with rocperf.open(analysed[name].path) as profile:
            rows = profile.sql(
                "SELECT direction, sum(end_ns - start_ns)::BIGINT FROM copies GROUP BY direction"
            ).rows()
        return {str(direction): int(ns) for direction, ns in rows}

    pageable, pinned = copied("pageable_copies"), copied("pinned_copies")
    saves = {
        subject: ns
        for rule, subject, ns in analysed["pageable_copies"].findings()
        if rule == "memcpy-bandwidth/slow"
    }
    for direction, subject in (
        ("host_to_device", "host to GPU, agent 0 to 1"),
        ("device_to_host", "GPU to host, agent 1 to 0"),
    ):
        bound = saves[subject]
        assert bound is not None
        brings = pageable[direction] - pinned[direction]
        # Of a link's achievable rate a pinned copy reaches nearly all.
        assert 0.9 * brings < bound < 1.2 * brings
