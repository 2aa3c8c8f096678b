"""The analysis of communication on traces built by hand and on a recording."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocperf import UnjudgedError
from rocperf.model import Finding, Measure
from rocperf.profile import Profile, open_profile
from rocperf.testing import AnalysisContract, TraceBuilder, ms, us
from rocperf_analyses.rccl_bandwidth import RcclBandwidth, RcclOptions

MI300X: dict[str, Any] = {"product": "AMD Instinct MI300X", "hive_id": 7}
NCCL = "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)"
GIB = 1 << 30


def found(profile: Profile, **options: Any) -> dict[str, Finding]:
    findings = list(RcclBandwidth(RcclOptions(**options)).run(profile))
    rules = {finding.rule.partition("/")[2]: finding for finding in findings}
    assert len(rules) == len(findings)
    return rules


def measure(finding: Finding, name: str) -> float:
    [value] = [m.value for m in finding.evidence if isinstance(m, Measure) and m.name == name]
    return float(value)


def talk(trace: TraceBuilder, start: int, duration: int, **columns: Any) -> None:
    trace.dispatch(NCCL, start=start, duration=duration, role="communication", **columns)


def rank(trace: TraceBuilder, run: int, host: str = "node", **columns: Any) -> None:
    """Add a process with a GPU of its own; its events carry its run."""
    keys: dict[str, Any] = {"run_id": run, "process_id": run, "role": "timing"}
    keys |= {"status": "complete", "hostname": host}
    trace.row("runs", start=0, duration=ms(1000), **keys)
    columns = {"agent_id": run, "kind": "GPU", "target": "gfx942", **MI300X, **columns}
    trace.row("agents", run_id=run, **columns)


class TestRcclContract(AnalysisContract):
    analysis = RcclBandwidth

    def flagged(self, trace: TraceBuilder) -> TraceBuilder:
        rank(trace, 3)
        for number in range(10):
            talk(trace, ms(100 * number), ms(30))
            talk(trace, ms(100 * number), ms(50), run_id=3, agent_id=3)
        return trace.dispatch("gemm", start=ms(40), duration=ms(900))

    def healthy(self, trace: TraceBuilder) -> TraceBuilder:
        talk(trace, ms(10), ms(50))
        return trace.dispatch("gemm", start=0, duration=ms(100))


def test_what_nothing_hides_is_counted_once() -> None:
    """Communication [0,100] [200,300], compute [80,220] ms: 40 of 200 hidden, 160 in the open."""
    trace = TraceBuilder()
    talk(trace, 0, ms(100))
    talk(trace, ms(200), ms(100))
    trace.dispatch("gemm", start=ms(80), duration=ms(140))
    finding = found(trace.profile())["exposed"]
    assert finding.saves_ns == ms(160)
    assert finding.title == (
        "RCCL runs 160 ms with no compute beside it; 20 % of the communication is hidden"
    )
    # Of 140 ms of compute 100 run in the open: no more can be put beside it.
    assert "could hide 100 ms" in finding.reasoning
    assert "bucket_cap_mb" in finding.advice


def test_with_little_compute_overlap_is_not_the_advice() -> None:
    trace = TraceBuilder()
    talk(trace, 0, ms(100))
    trace.dispatch("gemm", start=ms(100), duration=ms(10))
    finding = found(trace.profile())["exposed"]
    assert finding.advice.startswith("Only 10 ms of compute is there")
    assert any("one rank cannot tell" in doubt for doubt in finding.doubts)


def test_copies_and_fills_hide_nothing() -> None:
    trace = TraceBuilder()
    talk(trace, 0, ms(100))
    trace.dispatch("__amd_rocclr_copyBuffer", start=0, duration=ms(100), role="copy")
    trace.copy("host_to_device", start=0, duration=ms(100), size=GIB)
    assert found(trace.profile())["exposed"].saves_ns == ms(100)


def test_two_collectives_at_once_are_one_time() -> None:
    trace = TraceBuilder()
    for _ in range(2):
        talk(trace, 0, ms(100))
    assert found(trace.profile())["exposed"].saves_ns == ms(100)


def test_below_ten_percent_of_the_wall_it_is_left() -> None:
    trace = TraceBuilder().dispatch("gemm", start=0, duration=ms(901))
    talk(trace, ms(901), ms(99))
    assert found(trace.profile()) == {}
    assert set(found(trace.profile(), min_exposed=0.05)) == {"exposed"}


def test_without_rccl_there_is_nothing_to_say() -> None:
    assert found(TraceBuilder().dispatch("gemm", start=0, duration=ms(1)).profile()) == {}


def test_counter_runs_serialise() -> None:
    trace = TraceBuilder(timing=False)
    trace.dispatch(NCCL, start=0, duration=ms(1), role="communication", counters={"C": 1})
    with pytest.raises(UnjudgedError, match="timing run"):
        found(trace.profile())


def ranks(trace: TraceBuilder, durations: dict[int, list[int]]) -> None:
    for run, each in durations.items():
        if run != 1:
            rank(trace, run)
        for number, duration in enumerate(each):
            keys = {} if run == 1 else {"run_id": run, "agent_id": run}
            talk(trace, ms(100 * number), duration, **keys)


def test_the_rank_that_comes_last_is_named() -> None:
    """Rank 4 is in each of three collectives 10 ms, the others 10 to 40: they wait 60 and 40."""
    trace = TraceBuilder(**MI300X).dispatch("gemm", start=0, duration=ms(1000))
    ranks(
        trace,
        {1: [ms(30), ms(40), ms(20)], 3: [ms(20), ms(30), ms(20)], 4: [ms(10), ms(10), ms(10)]},
    )
    finding = found(trace.profile())["late-rank"]
    assert "3 ranks wait for each other up to 60 ms" in finding.title
    assert "GPU agent 4, run 4 enters last in 3 of 3 collectives" in finding.title
    assert finding.saves_ns == ms(60)
    assert measure(finding, "least time of all collectives") == 30.0


def test_waiting_is_not_counted_as_communication_again() -> None:
    trace = TraceBuilder(**MI300X).call("main", start=0, duration=ms(1000))
    ranks(trace, {1: [ms(300)], 3: [ms(50)]})
    rules = found(trace.profile(), min_exposed=0.01)
    assert rules["late-rank"].saves_ns == ms(250)
    assert rules["exposed"].saves_ns == ms(50)


def test_clocks_of_hosts_are_not_mixed() -> None:
    """Another host's clock is days away; durations alone are compared."""
    trace = TraceBuilder(**MI300X).dispatch("gemm", start=0, duration=ms(1000))
    talk(trace, 0, ms(300))
    rank(trace, 3, host="elsewhere")
    talk(trace, ms(86_400_000), ms(100), run_id=3, agent_id=3)
    assert found(trace.profile())["late-rank"].saves_ns == ms(200)


@pytest.mark.parametrize("other", [[ms(10)], [ms(10), ms(10), ms(10)]])
def test_ranks_that_ran_something_else_are_not_compared(other: list[int]) -> None:
    trace = TraceBuilder(**MI300X).call("main", start=0, duration=ms(1000))
    ranks(trace, {1: [ms(200), ms(200)], 3: other})
    rules = found(trace.profile())
    assert set(rules) == {"exposed"}
    assert any("ran different kernels" in doubt for doubt in rules["exposed"].doubts)


def collective(
    trace: TraceBuilder, name: str, ns: int, arguments: dict[str, str], start: int = 0
) -> None:
    trace.call(name, start=start, duration=us(5), domain="rccl", args=json.dumps(arguments))
    talk(trace, start + us(10), ns)


def eight(trace: TraceBuilder) -> TraceBuilder:
    """Add the seven other GPUs of the hive, which a trace of one rank lists, too."""
    for agent in range(2, 9):
        trace.row("agents", agent_id=agent, kind="GPU", target="gfx942", **MI300X)
    return trace


ALL_REDUCE = {"count": str(GIB // 4), "datatype": "7", "op": "0"}


def test_bus_bandwidth_of_an_all_reduce() -> None:
    """8 ranks, 1 GiB in 5970.6 µs: 179.84 GB/s, and 7/4 of it, 314.7, over the links."""
    trace = eight(TraceBuilder(**MI300X))
    collective(trace, "ncclAllReduce", 5_970_600, ALL_REDUCE)
    assert "slow" not in found(trace.profile(), ranks=8)  # 7 links of 45 GB/s carry 315
    finding = found(trace.profile(), ranks=8, min_efficiency=1.0)["slow"]
    assert measure(finding, "algorithm bandwidth") == pytest.approx(179.84, abs=0.01)
    assert measure(finding, "bus bandwidth") == pytest.approx(314.7, abs=0.05)


def test_a_slow_all_reduce_is_held_against_the_mesh() -> None:
    """1 GiB in 20 ms: 53.7 and 94.0 GB/s. At 315 the 1.879 GB of the bus take 5.97 ms."""
    trace = eight(TraceBuilder(**MI300X))
    collective(trace, "ncclAllReduce", ms(20), ALL_REDUCE)
    finding = found(trace.profile(), ranks=8)["slow"]
    assert (
        finding.title
        == ("1 call of ncclAllReduce reach 94 GB/s of bus bandwidth; the links carry 315")
        or "94 GB/s" in finding.title
    )
    assert finding.saves_ns == pytest.approx(20_000_000 - 5_965_232, rel=1e-4)
    assert any("come late" in doubt for doubt in finding.doubts)


@pytest.mark.parametrize(
    ("name", "arguments", "payload", "bus"),
    [
        # 8 ranks, each 32 MiB of floats (8 Mi values): 256 MiB in all, 7/8 of it over the links.
        ("ncclAllGather", {"sendcount": "8388608", "datatype": "ncclFloat32"}, 268.4, 234.9),
        ("ncclReduceScatter", {"recvcount": "16777216", "datatype": "ncclBfloat16"}, 268.4, 234.9),
        ("ncclAllToAll", {"count": "4194304", "datatype": "8"}, 268.4, 234.9),
        # 256 MiB of bytes, 7/4 of it over the links.
        ("ncclAllReduce", {"count": "268435456", "datatype": "ncclUint8"}, 268.4, 469.8),
    ],
)
def test_each_function_counts_its_own_bytes(
    name: str, arguments: dict[str, str], payload: float, bus: float
) -> None:
    trace = eight(TraceBuilder(**MI300X))
    collective(trace, name, ms(1), arguments)
    finding = found(trace.profile(), ranks=8, links=1000.0)["slow"]
    assert measure(finding, "algorithm bandwidth") == pytest.approx(payload, abs=0.1)
    assert measure(finding, "bus bandwidth") == pytest.approx(bus, abs=0.1)


def test_small_collectives_are_latency() -> None:
    trace = eight(TraceBuilder(**MI300X))
    for number in range(10):
        small = {"count": str((63 << 20) // 4), "datatype": "7"}
        collective(trace, "ncclAllReduce", ms(10), small, start=ms(20 * number))
    assert "slow" not in found(trace.profile(), ranks=8)


def test_of_two_ranks_the_shorter_time_is_the_transfer() -> None:
    """Rank 1 is there 30 ms, of which it waits 10: 64 MiB go in 20 ms. Two ranks: factor 1."""
    trace = TraceBuilder(**MI300X)
    collective(trace, "ncclAllReduce", ms(30), {"count": str(16 << 20), "datatype": "7"})
    rank(trace, 3)
    talk(trace, 0, ms(20), run_id=3, agent_id=3)
    row = {"domain": "rccl", "name": "ncclAllReduce", "run_id": 3}
    arguments = json.dumps({"count": str(16 << 20), "datatype": "7"})
    trace.row("api_calls", start=0, duration=us(5), args=arguments, **row)
    trace.row("agents", agent_id=3, kind="GPU", target="gfx942", **MI300X)
    finding = found(trace.profile(), links=45.0)["slow"]
    assert measure(finding, "bus bandwidth") == pytest.approx(67_108_864 / 20e6, rel=1e-3)


def test_fused_calls_have_no_kernel_of_their_own() -> None:
    trace = eight(TraceBuilder(**MI300X))
    collective(trace, "ncclAllReduce", ms(20), ALL_REDUCE)
    arguments = json.dumps(ALL_REDUCE)
    trace.call("ncclAllReduce", start=us(6), duration=us(1), domain="rccl", args=arguments)
    assert "slow" not in found(trace.profile(), ranks=8)


@pytest.mark.parametrize("arguments", [{}, {"count": "x", "datatype": "7"}, {"count": "8"}])
def test_without_sizes_no_rate_is_told(arguments: dict[str, str]) -> None:
    trace = eight(TraceBuilder(**MI300X))
    collective(trace, "ncclAllReduce", ms(20), arguments)
    assert "slow" not in found(trace.profile(), ranks=8)


def test_where_the_topology_is_not_known_no_rate_is_judged() -> None:
    alone = TraceBuilder(**MI300X)  # eight ranks do not fit into a hive of one
    collective(alone, "ncclAllReduce", ms(20), ALL_REDUCE)
    assert "slow" not in found(alone.profile(), ranks=8)
    assert "slow" in found(alone.profile(), ranks=8, links=315.0)
    unknown = eight(TraceBuilder("gfx950", product="AMD Instinct MI350X", hive_id=7))
    collective(unknown, "ncclAllReduce", ms(20), ALL_REDUCE)
    assert "slow" not in found(unknown.profile(), ranks=8)  # no source says what it achieves


spans = st.lists(
    st.tuples(st.booleans(), st.integers(0, ms(5)), st.integers(1, ms(5))), min_size=1, max_size=8
)


@settings(max_examples=20, deadline=None)
@given(spans)
def test_the_open_time_is_what_interval_arithmetic_says(rows: list[tuple[bool, int, int]]) -> None:
    trace = TraceBuilder()
    edges = sorted({at for _, start, length in rows for at in (start, start + length)})
    expected = 0
    for first, last in pairwise(edges):
        running = {kind for kind, s, n in rows if s <= first and s + n >= last}
        expected += (last - first) * (running == {True})
    for communicates, start, duration in rows:
        if communicates:
            talk(trace, start, duration)
        else:
            trace.dispatch("gemm", start=start, duration=duration)
    rules = found(trace.profile(), min_exposed=0.0)
    if "exposed" in rules:
        assert rules["exposed"].saves_ns == expected
    else:
        assert expected == 0


def test_the_recorded_rank_communicates_in_the_open(ingested: Callable[[str], Path]) -> None:
    """1310 kernels of RCCL, 4,158,756,678 ns; beside compute 196 ms of it."""
    with open_profile(ingested("rocprofv3_json_mi350x_rccl")) as profile:
        rules = found(profile)
    assert set(rules) == {"exposed"}
    finding = rules["exposed"]
    assert measure(finding, "communication") == pytest.approx(4158.756678)
    assert measure(finding, "of it beside compute") == pytest.approx(196.046994)
    assert finding.saves_ns == 4_158_756_678 - 196_046_994
    assert finding.confidence == "medium"
    assert any("one rank cannot tell" in doubt for doubt in finding.doubts)
    assert "Only 62.6 ms of compute" in finding.advice
