"""Copies beside kernels, on traces built by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocperf.model import Finding, Measure
from rocperf.profile import Profile
from rocperf.testing import AnalysisContract, TraceBuilder, us
from rocperf_analyses.copy_overlap import OVERLAP, CopyOverlap, OverlapOptions


def found(profile: Profile, **options: float) -> list[Finding]:
    return list(CopyOverlap(OverlapOptions(**options)).run(profile))  # type: ignore[arg-type]


def measure(finding: Finding, name: str) -> float:
    [value] = [m.value for m in finding.evidence if isinstance(m, Measure) and m.name == name]
    return float(value)


def example(**columns: str) -> TraceBuilder:
    """Copies [0, 100] [200, 300], kernels [80, 220] µs."""
    trace = TraceBuilder()
    for start in (0, 200):
        trace.copy("host_to_device", start=us(start), duration=us(100), size=1 << 20)
    return trace.dispatch("k", start=us(80), duration=us(140), **columns)


class TestOverlapContract(AnalysisContract):
    analysis = CopyOverlap

    def flagged(self, trace: TraceBuilder) -> TraceBuilder:
        for start in (0, 200, 400, 600):
            trace.copy("host_to_device", start=us(start), duration=us(100), size=1 << 20)
            trace.dispatch("k", start=us(start + 100), duration=us(100))
        return trace

    def healthy(self, trace: TraceBuilder) -> TraceBuilder:
        for start in (0, 200, 400, 600):
            trace.copy("host_to_device", start=us(start), duration=us(100), size=1 << 20)
            trace.dispatch("k", start=us(start + 60), duration=us(100))
        return trace


def test_the_example_overlaps_a_fifth() -> None:
    """20 and 20 of 200 µs; 160 are exposed, and 100 of the kernel's lie beside no copy."""
    assert found(example().profile(), min_calls=2) == []  # a fifth is hidden enough
    [finding] = found(example().profile(), min_calls=2, max_overlap=0.21)
    assert measure(finding, "copies' time beside kernels") == pytest.approx(20)
    assert measure(finding, "copies alone") == pytest.approx(0.160)
    assert finding.saves_ns == 100_000


def test_a_copy_made_by_a_kernel_is_a_copy() -> None:
    trace = TraceBuilder().copy("host_to_device", start=0, duration=us(10), size=1 << 20)
    trace.dispatch("__amd_rocclr_copyBuffer", start=us(20), duration=us(80), role="copy")
    trace.dispatch("k", start=us(100), duration=us(50))
    [finding] = found(trace.profile(), min_calls=2)
    assert measure(finding, "copies alone") == pytest.approx(0.090)
    assert finding.saves_ns == 50_000


def test_bringing_the_input_and_fetching_the_result_is_not_told() -> None:
    """Pieces of one staged copy are one call."""
    trace = TraceBuilder().dispatch("k", start=us(100), duration=us(100))
    for start in (0, 20, 40, 60, 210, 230):
        call = 1 if start < 100 else 2
        trace.copy("host_to_device", start=us(start), duration=us(20), size=9, correlation_id=call)
    assert found(trace.profile()) == []
    assert len(found(trace.profile(), min_calls=2)) == 1


def test_copies_that_hardly_count_are_left_alone() -> None:
    """9 of 109 µs are below a tenth."""
    trace = TraceBuilder().copy("host_to_device", start=0, duration=us(9), size=1 << 20)
    trace.dispatch("k", start=us(9), duration=us(100))
    assert found(trace.profile(), min_calls=1) == []


def test_a_copy_between_gpus_occupies_both() -> None:
    trace = TraceBuilder().copy(
        "device_to_device", start=0, duration=us(10), size=8, dst_agent_id=2
    )
    with trace.profile() as profile:
        assert profile.sql(OVERLAP)["agent_id"].sort().to_list() == [1, 2]


spans = st.lists(st.tuples(st.integers(0, 400), st.integers(1, 60)), min_size=1, max_size=8)


@settings(max_examples=25, deadline=None)
@given(spans, spans)
def test_the_parts_are_what_counting_microseconds_gives(
    copies: list[tuple[int, int]], kernels: list[tuple[int, int]]
) -> None:
    trace = TraceBuilder()
    for start, length in copies:
        trace.copy("device_to_host", start=us(start), duration=us(length), size=9)
    for start, length in kernels:
        trace.dispatch("k", start=us(start), duration=us(length))
    copied = {at for start, length in copies for at in range(start, start + length)}
    worked = {at for start, length in kernels for at in range(start, start + length)}
    with trace.profile() as profile:
        row = profile.sql(OVERLAP).row(0, named=True)
    assert row["copies_ns"] == 1000 * len(copied)
    assert row["kernels_ns"] == 1000 * len(worked)
    assert row["both_ns"] == 1000 * len(copied & worked)
    assert row["exposed_ns"] == 1000 * len(copied - worked)
