"""Sums of levels: how rocprofv3 is taught them, and that they come back under their names."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rocperf.collect import accumulated, collect, command, prepare
from rocperf.collect.availability import Availability
from rocperf.collect.limits import ANCHORS
from rocperf.collect.locate import Profiler
from rocperf.collect.manifest import Record
from rocperf.profile import open_profile

from .small_profilers import COUNTERS, TRACE, profiler, request, write

SUM = "SQ_INST_LEVEL_LDS_ACCUM"


def knowing(version: tuple[int, ...] | None, *options: str) -> Profiler:
    return Profiler(Path("/opt/rocprofv3"), version, frozenset(options))


@pytest.mark.parametrize(
    ("told", "target", "can"),
    [
        (knowing((7, 0, 0), "--extra-counters"), "gfx942", True),
        (knowing((7, 13, 0), "--extra-counters"), "gfx90a", True),
        (knowing((7, 0, 0), "--extra-counters"), "gfx908", False),
        (knowing((7, 0, 0), "--pmc"), "gfx942", False),
        (knowing(None, "--extra-counters"), "gfx942", False),  # 6.4: other definitions
    ],
)
def test_which_releases_can_be_taught(told: Profiler, target: str, can: bool) -> None:
    assert accumulated.available(told, target) is can


def test_the_definitions() -> None:
    text = accumulated.definitions(["SQ_WAVES", SUM, SUM], "gfx942")

    assert text is not None
    (row,) = json.loads(text)["rocprofiler-sdk"]["counters"]
    assert row["name"] == SUM
    assert row["definitions"] == [
        {"architectures": ["gfx942"], "expression": "accumulate(SQ_INST_LEVEL_LDS,HIGH_RES)"}
    ]
    assert accumulated.definitions(["SQ_WAVES"], "gfx942") is None


def test_the_command_names_the_file_only_where_it_is_needed() -> None:
    told = knowing((7, 0, 0), "--extra-counters")

    with_sum = command.counting(told, Path("/raw/pass_2"), ["./app"], [*ANCHORS, SUM])
    without = command.counting(told, Path("/raw/pass_2"), ["./app"], ANCHORS)

    at = with_sum.index("--extra-counters")
    assert with_sum[at + 1] == "/raw/accumulated.yaml"
    assert SUM in with_sum
    assert "--extra-counters" not in without


def test_a_sum_is_there_when_its_level_is() -> None:
    taught = Availability([], "gfx942", accumulates=True)
    assert taught.has([SUM])
    taught.counters = frozenset({*ANCHORS, "SQ_INST_LEVEL_LDS"})
    assert taught.has([SUM])
    taught.counters = frozenset(ANCHORS)
    assert not taught.has([SUM])
    assert not Availability([], "gfx942").has([SUM])


def test_sums_come_back_under_their_names(machine: Callable[..., None], tmp_path: Path) -> None:
    counted = COUNTERS.format(waves=10)
    counted += counted.splitlines()[1].replace("SQ_WAVES", SUM).replace(",10,", ",999,") + "\n"
    copies = write(tmp_path, "counter_collection.csv", counted)
    traced = write(tmp_path, "kernel_trace.csv", TRACE.format(name="k", grid=640))
    path = profiler(
        tmp_path, traced,
        f'[ -s "$out/../accumulated.yaml" ] && {copies}',
    )  # fmt: skip
    plan = prepare(request(path))
    words = command.counting(plan.profiler, plan.raw.absolute() / "pass_2", ["./app"], [SUM])
    record = Record(2, "counters", "latency", words, (*ANCHORS, SUM), ("x",), "pass_2")
    plan = replace(plan, manifest=plan.manifest.with_pass(record))

    done = collect(plan, lambda event: None)

    assert done.passes[1].status == "complete"
    with open_profile(done.profile) as profile:
        rows = dict(profile.sql("SELECT counter, value FROM counter_values").iter_rows())
    assert rows == {"SQ_WAVES": 10, SUM: 999}
