"""Balance of channels and engines, on traces built by hand and on recordings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocperf import UnjudgedError, engine
from rocperf.model import Finding, Skipped
from rocperf.profile import Profile, open_profile
from rocperf.testing import AnalysisContract, TraceBuilder, ms
from rocperf_analyses.channel_imbalance import ChannelImbalance, ImbalanceOptions


def add(trace: TraceBuilder, values: list[float], counter: str = "TCC_REQ") -> TraceBuilder:
    """Add one launch of 1 ms, and the values of a counter's instances."""
    trace.dispatch("k", start=0, duration=ms(1), counters={counter: sum(values)})
    for instance, value in enumerate(values):
        trace.row(
            "counter_instances",
            run_id=2,
            dispatch_id=1,
            counter=counter,
            instance=instance,
            value=value,
        )
    return trace


def found(profile: Profile, **options: float) -> list[Finding]:
    return list(ChannelImbalance(ImbalanceOptions(**options)).run(profile))


def one(values: list[float], counter: str = "TCC_REQ") -> list[Finding]:
    return found(add(TraceBuilder(), values, counter).profile())


class TestImbalanceContract(AnalysisContract):
    analysis = ChannelImbalance

    def flagged(self, trace: TraceBuilder) -> TraceBuilder:
        return add(trace, [64_000.0, *[0.0] * 15])

    def healthy(self, trace: TraceBuilder) -> TraceBuilder:
        return add(trace, [4_000.0] * 16)


def test_one_channel_in_four() -> None:
    """4 of 16 channels take all: four times the mean, and even requests a quarter of the time."""
    [finding] = one([16_000.0] * 4 + [0.0] * 12)
    assert finding.rule == "channel-imbalance/channels"
    assert "the busiest of 16 L2 channels has 4 times the requests of the mean" in finding.title
    assert finding.saves_ns == ms(0.75)
    assert "pad each row" in finding.advice


@pytest.mark.parametrize(
    ("counter", "rule"),
    [("TCC_EA0_RDREQ", "memory"), ("TCC_EA_RDREQ_sum", "memory"), ("TCC_REQ", "channels")],
)
def test_what_is_counted(counter: str, rule: str) -> None:
    [finding] = one([16_000.0] * 4 + [0.0] * 12, counter)
    assert finding.rule == f"channel-imbalance/{rule}"


def test_other_counters_do_not_tell() -> None:
    """That hits are uneven is no fault: the busiest channel may be the one that serves most."""
    with pytest.raises(UnjudgedError, match="counts of single L2 channels"):
        one([16_000.0] * 4 + [0.0] * 12, "TCC_HIT")


@pytest.mark.parametrize(
    ("values", "flagged"),
    [
        ([1490.0, 1000.0, 1000.0, 510.0], False),
        ([1510.0, 1000.0, 1000.0, 490.0], True),
        ([900.0, 10.0, 10.0, 10.0], False),
    ],
    ids=["even enough", "uneven", "too few to tell"],
)
def test_limits(values: list[float], flagged: bool) -> None:
    assert bool(one(values)) is flagged


def test_engines_without_any_work_are_a_matter_of_the_grid() -> None:
    assert one([9000.0, 0.0, 0.0, 0.0], "SQ_BUSY_CYCLES") == []
    [finding] = one([9000.0, 1000.0, 1000.0, 1000.0], "SQ_BUSY_CYCLES")
    assert finding.rule == "channel-imbalance/engines"
    assert "3 times the cycles with a wave" in finding.title


def test_a_kernel_is_told_of_its_worst_counter() -> None:
    trace = add(TraceBuilder(), [16_000.0] * 4 + [0.0] * 12)
    for instance, value in enumerate([9_000.0, *[1_000.0] * 15]):
        trace.row(
            "counter_instances",
            run_id=2,
            dispatch_id=1,
            counter="TCC_EA0_RDREQ",
            instance=instance,
            value=value,
        )
    [finding] = found(trace.profile())
    assert finding.rule == "channel-imbalance/memory"


def test_without_instances_it_is_skipped() -> None:
    trace = TraceBuilder().dispatch("k", start=0, duration=ms(1), counters={"TCC_REQ_sum": 1e6})
    analyses = {"channel-imbalance": ChannelImbalance(ImbalanceOptions())}
    [outcome] = engine.analyze(trace.profile(), analyses)
    assert isinstance(outcome, Skipped)
    assert outcome.command is not None
    assert "--pmc TCC_REQ --output-format json" in outcome.command


@settings(max_examples=15, deadline=None)
@given(st.lists(st.floats(1, 1e6), min_size=2, max_size=8))
def test_it_saves_less_than_it_takes(values: list[float]) -> None:
    for finding in one(values):
        assert finding.saves_ns is not None
        assert ms(1) // 3 - 1 <= finding.saves_ns < ms(1)


@pytest.mark.parametrize(
    "folder",
    ["compute_vcopy/MI200", "compute_vcopy/MI300X_A1_rocpd", "compute_gemm_mi325x/swizzle"],
)
def test_recorded_copies_and_products_are_even(
    ingested: Callable[[str], Path], folder: str
) -> None:
    with open_profile(ingested(folder)) as profile:
        assert found(profile) == []
