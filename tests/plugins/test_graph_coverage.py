"""Kernels launched by graphs, on traces built by hand."""

from __future__ import annotations

from rocperf.model import Finding, Measure
from rocperf.profile import Profile
from rocperf.testing import AnalysisContract, TraceBuilder, us
from rocperf_analyses.graph_coverage import GraphCoverage, GraphOptions


def found(profile: Profile, **options: float) -> list[Finding]:
    return list(GraphCoverage(GraphOptions(**options)).run(profile))


def program(trace: TraceBuilder, *, inside: int, outside: int, made: int = 1) -> TraceBuilder:
    """One graph of kernels, then kernels of their own; graphs are made in 100 µs each."""
    for number in range(made):
        trace.call("hipGraphInstantiate", start=us(200 * number), duration=us(100))
    base = us(200 * made)
    trace.call("hipGraphLaunch", start=base, duration=us(9), correlation_id=1)
    for number in range(inside):
        trace.dispatch("in", start=base + us(20 + 10 * number), duration=us(9), correlation_id=1)
    base += us(100 + 10 * inside)
    for number in range(outside):
        key, start = number + 2, base + us(10 * number)
        trace.call("hipLaunchKernel", start=start, duration=us(4), correlation_id=key)
        trace.dispatch("out", start=start + us(6), duration=us(3), correlation_id=key)
    return trace


class TestGraphContract(AnalysisContract):
    analysis = GraphCoverage

    def flagged(self, trace: TraceBuilder) -> TraceBuilder:
        return program(trace, inside=5, outside=5, made=4)

    def healthy(self, trace: TraceBuilder) -> TraceBuilder:
        return program(trace, inside=8, outside=2)


def test_kernels_beside_graphs_are_counted() -> None:
    [finding] = found(program(TraceBuilder(), inside=6, outside=4).profile())
    assert finding.rule == "graph-coverage/outside"
    assert finding.title.startswith("4 of 10 kernels are launched beside the graphs")
    assert finding.saves_ns is None
    shares = [m.value for m in finding.evidence if isinstance(m, Measure)]
    assert shares[0] == 60.0


def test_graphs_made_again_cost_all_but_one() -> None:
    """Five of 100 µs for one launch."""
    [finding] = found(program(TraceBuilder(), inside=8, outside=0, made=5).profile())
    assert finding.rule == "graph-coverage/instantiate"
    assert finding.saves_ns == 400_000
    assert "hipGraphExecUpdate" in finding.advice


def test_a_program_without_graphs_is_none_of_its_business() -> None:
    trace = TraceBuilder()
    for number in range(9):
        trace.call("hipLaunchKernel", start=us(10 * number), duration=us(4), correlation_id=number)
        trace.dispatch("k", start=us(10 * number + 6), duration=us(3), correlation_id=number)
    assert found(trace.profile()) == []


def test_of_launches_that_were_not_recorded_nothing_is_said() -> None:
    trace = program(TraceBuilder(), inside=6, outside=0)
    for number in range(9):
        trace.dispatch("unseen", start=us(900 + 10 * number), duration=us(3))
    assert found(trace.profile()) == []
