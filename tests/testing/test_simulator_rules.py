"""Worked numbers for the simulator's rules, by hand or from hardware documents."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocperf.testing.simulator import GPUS, SCENARIOS, Access, Kernel, Launch, LdsAccess, simulate
from rocperf.testing.simulator.clock import copy_pieces, kernel_ns
from rocperf.testing.simulator.counters import Counter, counters_of, fits, split, values
from rocperf.testing.simulator.kernels import Registers, reported_registers
from rocperf.testing.simulator.recording import Recording
from rocperf.testing.simulator.rules import traffic
from rocperf.testing.simulator.scenarios import LDS_HEAVY, REGISTER_HEAVY, TINY_GRID

MI300X = GPUS["gfx942"]
_GRID, _GROUP = (65536, 1, 1), (256, 1, 1)


@pytest.mark.parametrize(
    ("gfx", "vgpr", "agpr", "sgpr", "lds", "workgroup", "resident"),
    [
        # Rows of the worked occupancy examples: number of workgroups that a unit holds.
        ("gfx90a", 65, 0, 32, 0, 256, 7),
        ("gfx90a", 122, 0, 76, 0, 256, 4),
        ("gfx90a", 32, 0, 112, 0, 256, 6),
        ("gfx90a", 96, 0, 80, 65536, 256, 1),
        ("gfx942", 100, 30, 48, 0, 256, 3),
        ("gfx942", 96, 0, 48, 0, 1024, 1),
        ("gfx942", 32, 0, 92, 0, 64, 28),
        ("gfx942", 64, 0, 48, 16385, 128, 3),
        ("gfx950", 32, 0, 48, 13654, 64, 11),
        ("gfx1201", 120, 0, 0, 0, 256, 6),
    ],
)
def test_resident_workgroups(
    gfx: str, vgpr: int, agpr: int, sgpr: int, lds: int, workgroup: int, resident: int
) -> None:
    kernel = Kernel("k()", vgpr=vgpr, agpr=agpr, sgpr=sgpr, lds=lds)

    assert Launch(kernel, (workgroup, 1, 1), (workgroup, 1, 1)).resident(GPUS[gfx]) == resident


@pytest.mark.parametrize(
    ("gfx", "vgpr", "agpr", "reported"),
    [
        ("gfx90a", 122, 0, Registers(124, 4, 16)),  # printed by a recorded MI250 kernel
        ("gfx942", 8, 0, Registers(8, 0, 16)),
        ("gfx942", 4, 0, Registers(4, 4, 16)),
        ("gfx950", 250, 0, Registers(128, 0, 16)),  # half of 256
        ("gfx1201", 41, 0, Registers(48, 0, 128)),
    ],
)
def test_reported_registers(gfx: str, vgpr: int, agpr: int, reported: Registers) -> None:
    assert reported_registers(Kernel("k()", vgpr=vgpr, agpr=agpr), GPUS[gfx]) == reported


@pytest.mark.parametrize(
    ("access", "active", "conflicts"),
    [
        (LdsAccess(4, x=1), 2, 0),  # 256 bytes at 128 a cycle
        (LdsAccess(4, x=2), 4, 2),  # two lanes of a phase on each bank
        (LdsAccess(4, x=0), 2, 0),  # one dword for all: a broadcast
        (LdsAccess(4, x=32), 64, 62),
        (LdsAccess(8, x=2), 4, 0),  # 512 bytes at 128 a cycle
    ],
)
def test_lds_cycles_of_one_wave(access: LdsAccess, active: int, conflicts: int) -> None:
    work = traffic(Launch(Kernel("k()", lds_accesses=(access,)), (64, 1, 1), (64, 1, 1)), MI300X)

    assert (work.lds_active, work.lds_conflicts) == (active, conflicts)


@pytest.mark.parametrize(
    ("access", "accesses", "lines"),
    [
        (Access("load", 4), 16, 4),
        (Access("load", 4, x=2), 64, 8),  # 512 bytes in segments of 64
        (Access("load", 4, x=32), 64, 64),
        (Access("load", 8), 64, 16),
        (Access("load", 4, repeat=3), 48, 12),
    ],
)
def test_l1_work_of_one_wave(access: Access, accesses: int, lines: int) -> None:
    work = traffic(Launch(Kernel("k()", accesses=(access,)), (64, 1, 1), (64, 1, 1)), MI300X)

    assert (work.accesses, work.lines) == (accesses, lines)


def test_a_partly_filled_workgroup_counts_whole_workgroups() -> None:
    launch = Launch(Kernel("k()"), (1000, 3, 1), (256, 2, 1))

    assert launch.workgroups == 8
    assert launch.waves_per_workgroup(MI300X) == 8


def test_unmeasured_widths_are_refused() -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        Access("load", 16)
    with pytest.raises(ValueError, match="16 bytes"):
        LdsAccess(16)


def test_unknown_counters_give_nothing() -> None:
    launch = Launch(Kernel("k()"), _GRID, _GROUP)

    assert [c.name for c, _ in values(launch, MI300X, 5000, ["NOPE", "SQ_WAVES"])] == ["SQ_WAVES"]


def test_instances_add_up_to_the_value() -> None:
    counter = counters_of("gfx942")["SQ_WAVES"]

    parts = split(counter, 1003.0)

    assert len(parts) == 32
    assert sum(parts) == 1003.0


def test_fractions_are_not_split() -> None:
    assert split(Counter("X", "SQ", "", 32, lambda _: 0, ()), 0.5) == [0.5]


@pytest.mark.parametrize(
    ("counters", "allowed"),
    [
        (["TCP_TOTAL_ACCESSES_sum", "TCP_TCC_READ_REQ_sum", "TCP_TCC_WRITE_REQ_sum"], True),
        (["TCC_HIT_sum", "TCC_MISS_sum", "TCC_REQ_sum", "TCC_READ_sum"], True),
        (["TCC_HIT_sum", "TCC_MISS_sum", "TCC_REQ_sum", "TCC_READ_sum", "TCC_WRITE_sum"], False),
        (["FETCH_SIZE", "TCC_EA0_RDREQ_sum", "TCC_BUBBLE_sum", "TCC_HIT_sum"], True),  # shared
        (["FETCH_SIZE", "WRITE_SIZE"], False),  # three and two of four
    ],
)
def test_block_limits(counters: list[str], allowed: bool) -> None:
    assert fits("gfx942", counters) is allowed


def test_measured_sizes_on_rdna4() -> None:
    """Reading 32 MiB is bytes/256 + 2 requests; of 16 MiB written, 6 stay in L2."""
    size = 32 << 20
    kernel = Kernel("k()", accesses=(Access("load", 4), Access("store", 4)))
    launch = Launch(kernel, (size // 4, 1, 1), _GROUP)

    found = values(launch, GPUS["gfx1201"], 5000, ["GL2C_EA_RDREQ", "GL2C_EA_WRREQ"])

    assert [v for _, v in found] == [size // 256 + 2, (size - (6 << 20)) // 256]


def test_fetch_size_is_in_kib_and_counts_each_line_once() -> None:
    kernel = Kernel("k()", code_lines=7, accesses=(Access("load", 4),))
    launch = Launch(kernel, (1 << 20, 1, 1), _GROUP)

    ((_, value),) = values(launch, MI300X, 5000, ["FETCH_SIZE"])

    assert value == 4096 + 8 * 8 * 64 / 1024


def test_pageable_copies_come_in_pieces_and_are_slower() -> None:
    (pinned,) = copy_pieces(96 << 20, MI300X, pinned=True)
    pageable = copy_pieces(100 << 20, MI300X, pinned=False)

    assert [size for size, _, _ in pageable] == [32 << 20] * 3 + [4 << 20]
    assert (96 << 20) / pinned[1] == pytest.approx(55.7, rel=0.01)
    assert (32 << 20) / pageable[0][1] == pytest.approx(55.7 / 3, rel=0.01)


@pytest.mark.parametrize(("kernel", "better"), [
    (REGISTER_HEAVY, {"vgpr": 64, "agpr": 0}),
    (LDS_HEAVY, {"lds": 8192}),
])  # fmt: skip
def test_more_waves_make_the_heavy_kernels_faster(kernel: Kernel, better: dict[str, int]) -> None:
    slow = kernel_ns(Launch(kernel, (1 << 20, 1, 1), _GROUP), MI300X)
    fast = kernel_ns(Launch(replace(kernel, **better), (1 << 20, 1, 1), _GROUP), MI300X)

    assert fast < 0.7 * slow


def test_more_workgroups_make_the_tiny_grid_faster() -> None:
    few = kernel_ns(Launch(TINY_GRID, (32 * 256, 1, 1), _GROUP), MI300X)
    many = kernel_ns(Launch(TINY_GRID, (320 * 256, 1, 1), _GROUP), MI300X)

    assert many < 3 * few


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenarios_are_well_formed(name: str) -> None:
    timing, counted = simulate(name), simulate(name, counted=True)

    for recording in (timing, counted):
        _well_formed(recording)
    assert len(counted.dispatches) == len(timing.dispatches)
    for slow, fast in zip(counted.dispatches, timing.dispatches, strict=True):
        assert slow.launch == fast.launch
        assert slow.end - slow.start > fast.end - fast.start
    ends = [d.end for d in counted.dispatches]
    starts = [d.start for d in counted.dispatches]
    assert all(a < b for a, b in zip(ends, starts[1:], strict=False)), "serialised"


def _well_formed(recording: Recording) -> None:
    spans = [*recording.calls, *recording.dispatches, *recording.copies, *recording.allocations]
    assert all(recording.init <= s.start < s.end <= recording.fini for s in spans)
    numbers = [c.correlation for c in recording.calls + recording.rccl]
    assert len(set(numbers)) == len(numbers)
    assert {d.correlation for d in recording.dispatches} <= set(numbers)
    assert {c.correlation for c in recording.copies} <= set(numbers)
    assert [d.number for d in recording.dispatches] == list(range(1, len(recording.dispatches) + 1))
    queues: dict[int, int] = {}
    for d in recording.dispatches:
        assert d.start >= queues.get(d.queue, 0), "one queue runs one kernel at a time"
        queues[d.queue] = d.end


def test_simulation_is_repeatable() -> None:
    assert simulate("demo") == simulate("demo")


def test_copies_overlap_kernels_only_in_the_overlapped_scenario() -> None:
    def overlap(name: str) -> int:
        recording = simulate(name)
        return sum(
            max(0, min(c.end, d.end) - max(c.start, d.start))
            for c in recording.copies
            for d in recording.dispatches
        )

    assert overlap("overlapped_copies") > 500_000
    assert overlap("pinned_copies") == 0
    assert overlap("pageable_copies") == 0
