"""Copies of pageable memory and the four signs of it, on traces built by hand."""

from __future__ import annotations

import pytest

from rocperf.model import Finding
from rocperf.profile import Profile
from rocperf.testing import AnalysisContract, TraceBuilder, ms
from rocperf_analyses.pageable_copies import PageableCopies, PageableOptions

MIB = 1 << 20
HOST = 0x7F00_0000_0000


def found(profile: Profile, **options: float) -> list[Finding]:
    return list(PageableCopies(PageableOptions(**options)).run(profile))  # type: ignore[arg-type]


def copied(
    pieces: int = 1,
    *,
    took: float = 9.5,
    size: int = 64 * MIB,
    name: str = "hipMemcpyAsync",
    call: float = 0.05,
    trace: TraceBuilder | None = None,
    pinned: bool | None = None,
) -> TraceBuilder:
    """One call whose copies take `took` ms in all; with `pinned` its memory is known, or not."""
    trace = trace or TraceBuilder(product="AMD Instinct MI300X")
    trace.call(name, start=0, duration=ms(call), correlation_id=5, thread_id=7)
    for piece in range(pieces):
        each = ms(took) // pieces
        trace.copy("host_to_device", start=ms(0.01) + piece * each, duration=each,
                   size=size // pieces, correlation_id=5, src_address=HOST + piece * size // pieces,
                   dst_address=0x9000)  # fmt: skip
    if pinned is not None:
        trace.row("agents", agent_id=0, kind="CPU")
        address = HOST - 4096 if pinned else HOST + 2 * size
        trace.row("allocations", operation="alloc", agent_id=0, address=address, bytes=size + 8192,
                  start=0, duration=1)  # fmt: skip
    return trace


class TestPageableContract(AnalysisContract):
    analysis = PageableCopies

    def make(self) -> PageableCopies:
        return PageableCopies(PageableOptions(host_link=26.0))

    def flagged(self, trace: TraceBuilder) -> TraceBuilder:
        return copied(16, call=9.8, trace=trace)

    def healthy(self, trace: TraceBuilder) -> TraceBuilder:
        return copied(1, took=2.7, trace=trace)


def test_the_example_is_pageable_with_high_confidence() -> None:
    """The call takes 9.8 ms, 16 pieces of 4 MiB 9.5 ms: 7.1 GB/s, where pinned memory does 26."""
    [finding] = found(copied(16, call=9.8).profile(), host_link=26.0)
    assert finding.confidence == "high"
    assert "1 call became 16 copies" in finding.title
    assert "asynchronous calls waited" in finding.title
    assert "7.1 of 26 GB/s" in finding.title
    # 67,108,864 B at 26 GB/s take 2.581 ms.
    assert finding.saves_ns == pytest.approx(9_500_000 - 2_581_110, rel=1e-4)
    assert "hipHostMalloc" in finding.advice


@pytest.mark.parametrize(
    ("trace", "confidence"),
    [
        (copied(16, took=2.7, name="hipMemcpy", call=9.8), "medium"),  # b alone
        (copied(16, took=2.7, call=2.8), "high"),  # b and c
        (copied(1, took=2.7, call=2.8), "low"),  # c alone
        (copied(1, took=2.7, name="hipMemcpy", call=2.8), None),  # it waits by its name
        (copied(1, took=9.5), None),  # d alone is what memcpy-bandwidth tells
        (copied(1, took=2.7, pinned=False), "high"),  # a
        (copied(16, call=9.8, pinned=True), None),  # known to be pinned
    ],
)
def test_confidence_follows_the_signs(trace: TraceBuilder, confidence: str | None) -> None:
    given = [f.confidence for f in found(trace.profile(), host_link=26.0, min_share=0)]
    assert given == ([] if confidence is None else [confidence])


def test_suspicion_is_worded_as_such() -> None:
    [finding] = found(copied(1, took=2.7, call=2.8).profile(), host_link=26.0, min_share=0)
    assert finding.title.startswith("Suspected: copies")
    assert finding.doubts


def test_registered_memory_leaves_no_allocation_to_look_for() -> None:
    trace = copied(1, took=2.7, pinned=False).call("hipHostRegister", start=0, duration=9)
    assert found(trace.profile(), host_link=26.0, min_share=0) == []


def test_without_a_link_there_is_no_bound() -> None:
    trace = copied(16, call=9.8, trace=TraceBuilder("gfx1201", product="AMD Radeon RX 9070 XT"))
    [finding] = found(trace.profile())
    assert finding.saves_ns is None
    assert finding.confidence == "high"  # b and c


def test_small_copies_are_not_judged() -> None:
    assert found(copied(16, size=MIB - 16, call=9.8).profile(), host_link=26.0) == []
