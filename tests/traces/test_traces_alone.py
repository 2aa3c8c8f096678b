"""What analyses of traces alone say of recordings: read by a person and found right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rocperf import pipeline
from rocperf.ingest.load import ingest
from rocperf.model import Completed, RankedFinding, Severity, Skipped

#: The analyses that need no counters.
ALONE = (
    "allocation-churn", "copy-overlap", "graph-coverage", "hot-kernels", "launch-gaps",
    "pageable-copies", "redundant-copies", "scratch-reallocation", "small-copies",
    "stream-concurrency", "sync-stalls", "tiny-kernels", "warm-up",
)  # fmt: skip
#: By recording: rules found, and why that is right.
SAID: dict[str, set[str]] = {
    # 477 one-microsecond copies and 3,878 calls of hipMalloc and hipFree between 1,810 kernels;
    # 251 of 299 ms pass before the first copy.
    "rocprofv3_csv_mi300x_training": {
        "allocation-churn/loop", "hot-kernels/pareto", "launch-gaps/outside",
    },
    # 5,535 kernels of 2.7 µs for a token at a time; loading the model is before the first.
    "rocpd_gfx1201_llama": {
        "hot-kernels/pareto", "launch-gaps/outside", "launch-gaps/unknown",
        "tiny-kernels/launch-bound",
    },
    # A thousand transposes back to back; four calls became 48 copies.
    "rocpd_mi308x_copies": {"hot-kernels/pareto", "pageable-copies/staged"},
    # The host checks each product by itself: 7 of 8 s.
    "rocprof_v1_basic_row": {"launch-gaps/host"},
    "rocprof_v1_blocked_matmul_32": {"launch-gaps/host"},
    # One rank of eight, without calls: why it idles cannot be told.
    "rocprofv3_json_mi350x_rccl": {"hot-kernels/pareto", "launch-gaps/unknown"},
    # Scripts that compile, check and time kernels; no calls were recorded.
    "rocprofv3_csv_gfx950_wave": {"launch-gaps/unknown"},
    "rocprofv3_csv_mi325x_gemm": {"hot-kernels/pareto", "launch-gaps/unknown"},
    # Counter runs alone: what is said of them is which kernels are hot.
    "rocprofv3_csv_gfx950_attention": {"hot-kernels/pareto"},
    "mi300x_ubench/bank_conflict/conflict": set(),
}  # fmt: skip


@pytest.fixture(scope="module")
def analysed(
    recorded: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], pipeline.Result]:
    """Return what the analyses say of a recording; each is read once."""
    done: dict[str, pipeline.Result] = {}

    def result(name: str) -> pipeline.Result:
        if name not in done:
            target = tmp_path_factory.mktemp("profile") / "trace.rocperf"
            path = ingest([recorded(name)], target)
            done[name] = pipeline.analyze(path, pipeline.Selection(only=ALONE))
        return done[name]

    return result


def of(result: pipeline.Result, rule: str) -> list[RankedFinding]:
    return [each for each in result.findings if each.finding.rule == rule]


@pytest.mark.parametrize("name", SAID)
def test_it_says_what_a_person_found_right_and_nothing_else(
    analysed: Callable[[str], pipeline.Result], name: str
) -> None:
    result = analysed(name)
    assert {each.finding.rule for each in result.findings} == SAID[name]
    assert all(isinstance(o, Completed | Skipped) for o in result.outcomes)


def test_of_counter_runs_no_gap_is_told(analysed: Callable[[str], pipeline.Result]) -> None:
    for outcome in analysed("rocprofv3_csv_gfx950_attention").outcomes:
        if outcome.analysis != "hot-kernels":
            assert isinstance(outcome, Skipped), outcome


def test_the_training_step_allocates_in_its_loop(
    analysed: Callable[[str], pipeline.Result],
) -> None:
    """1,953 calls of hipMalloc (2.7 ms) and hipFree (12.9 ms), nearly all between kernels."""
    result = analysed("rocprofv3_csv_mi300x_training")
    [ranked] = of(result, "allocation-churn/loop")
    assert ranked.severity is Severity.MINOR
    assert ranked.finding.saves_ns is not None
    assert 14_000_000 < ranked.finding.saves_ns < 2_674_224 + 12_866_861


def test_the_transposes_copies_are_pageable_with_high_confidence(
    analysed: Callable[[str], pipeline.Result],
) -> None:
    result = analysed("rocpd_mi308x_copies")
    found = of(result, "pageable-copies/staged")
    assert len(found) == 2
    for ranked in found:
        assert "2 calls became 24 copies" in ranked.finding.title
        assert ranked.finding.confidence == "high"
        assert ranked.finding.saves_ns is None  # no source states the link of an MI308X
        assert ranked.severity is Severity.INFO
    assert result.covered_ns == 0


def test_of_the_decoders_launches_no_cause_is_known(
    analysed: Callable[[str], pipeline.Result],
) -> None:
    """Kernels idle 58.8 of 140.9 ms; 23 ms of it are gaps as short as a launch."""
    result = analysed("rocpd_gfx1201_llama")
    [tiny] = of(result, "tiny-kernels/launch-bound")
    assert tiny.finding.saves_ns == 23_184_524
    assert tiny.finding.confidence == "medium"
    [gaps] = of(result, "launch-gaps/unknown")
    assert gaps.finding.title.startswith("The GPU idles 35.5 ms in 71 gaps")
    assert gaps.finding.saves_ns is None
    assert gaps.severity is Severity.INFO
    assert gaps.finding.confidence == "low"
    assert gaps.finding.command is not None
