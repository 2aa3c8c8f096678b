"""Small kernels one after the other, on traces built by hand."""

from __future__ import annotations

from rocperf.model import Finding
from rocperf.profile import Profile
from rocperf.testing import AnalysisContract, TraceBuilder, us
from rocperf_analyses.stream_concurrency import ConcurrencyOptions, StreamConcurrency


def found(profile: Profile, **options: float) -> list[Finding]:
    return list(StreamConcurrency(ConcurrencyOptions(**options)).run(profile))


def pair(
    trace: TraceBuilder, groups: int, *, apart: float = 100, names: str = "ab", streams: int = 1
) -> TraceBuilder:
    """Ten launches of 100 µs that begin `apart` µs after one another, two kernels in turn."""
    for number in range(10):
        trace.dispatch(names[number % len(names)], start=us(apart * number), duration=us(100),
                       grid_size=groups * 256, workgroup_size=256,
                       stream_id=number % streams)  # fmt: skip
    return trace


class TestConcurrencyContract(AnalysisContract):
    analysis = StreamConcurrency

    def flagged(self, trace: TraceBuilder) -> TraceBuilder:
        return pair(trace, 76)

    def healthy(self, trace: TraceBuilder) -> TraceBuilder:
        return pair(trace, 304)


def test_what_the_empty_units_could_do_is_the_bound() -> None:
    """76 of 304 units are a quarter: 1000 µs could be 250."""
    [finding] = found(pair(TraceBuilder(), 76).profile())
    assert finding.saves_ns == 750_000
    assert "on one stream" in finding.title
    assert finding.confidence == "low"


def test_streams_that_do_not_overlap_are_named() -> None:
    [finding] = found(pair(TraceBuilder(), 76, streams=2).profile())
    assert "on 2 streams that hardly overlap" in finding.title


def test_kernels_that_run_side_by_side_are_well() -> None:
    assert found(pair(TraceBuilder(), 76, apart=80, streams=2).profile()) == []


def test_one_kernel_alone_is_left_to_its_grid() -> None:
    assert found(pair(TraceBuilder(), 76, names="a").profile()) == []


def test_half_of_the_units_is_enough() -> None:
    assert found(pair(TraceBuilder(), 152).profile()) == []
    assert len(found(pair(TraceBuilder(), 151).profile())) == 1
