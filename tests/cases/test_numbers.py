"""Each written case of counters gives its number, or the reason why there is none.

The expected values are those of the cases' own text.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import rocperf
from rocperf.cli import main

Case = Callable[[str], Path]
Reading = Callable[..., Any]


@dataclass(frozen=True)
class Number:
    """What one metric of one kernel of a case must be: a value, or a state with a reason."""

    case: str
    metric: str
    value: float | None = None
    state: str = "value"
    reason: str = ""
    kernel: str = "k"


NUMBERS = [
    Number("K01", "valu-instructions", None, "not trustworthy", "STABLE_STD"),
    Number("K03", "fabric-read-bytes", None, "not trustworthy", "1000 - 700 - 600"),
    Number("K04", "memory-read-share", None, "not trustworthy", "207 is outside 0..100; stitched"),
    Number("K07", "wave-occupancy", None, "not trustworthy", "this GPU does not count it"),
    Number("K08", "mfma-cycles", None, "not applicable", "SQ_INSTS_MFMA is 0"),
    Number("K10/mi100", "l2-hit-rate", 50.0),
    Number("K10/mi210", "l2-hit-rate", 50.0),
    Number("K12", "l2-hit-rate", 100 * 910 / 1100),
    Number("K14", "valu-instructions", None, "value", "1 of 2 dispatches lack a counter"),
    Number("D01", "lds-conflicts-per-access", 1.0, kernel="case1"),
    Number("D01", "lds-conflict-rate", 3.125, kernel="case1"),
    Number("D01", "lds-conflict-rate", 0.0, kernel="case2"),
    Number("D01", "lds-conflict-rate", None, "not trustworthy", "1000 - 1200", "case3"),
    Number("D01", "lds-conflict-rate", None, "not applicable", "is 0", "case4"),
    Number("D01", "lds-conflict-rate", None, "not applicable", "is 0", "case5"),
    Number("D02", "lds-conflict-share", 50.0),
    Number("D02", "lds-conflict-rate", 3.125),
    Number("D02", "lds-conflicts-per-access", 1.0),
    Number("D03", "lds-conflict-kernel-share", None, "not trustworthy", "288.462 is outside"),
    Number("L01", "coalescing", 100.0, kernel="case1"),
    Number("L01", "coalescing", 25.0, kernel="case2"),
    Number("L01", "coalescing", None, "not trustworthy", "400 is outside 25..100", "case3"),
    Number("L01", "coalescing", None, "not applicable", "is 0", "case4"),
    Number("L01", "coalescing", None, "not applicable", "is 0", "case5"),
]


@pytest.mark.parametrize("right", NUMBERS, ids=lambda r: f"{r.case}-{r.kernel}-{r.metric}")
def test_the_number_is_right(right: Number, case: Case, read: Reading) -> None:
    done = read(case(right.case))
    assert done.code == 0, done.err
    with rocperf.open(done.path) as opened:
        found = opened.metrics([right.metric])
        names = dict(opened.sql("SELECT kernel_id, short_name FROM kernels").rows())
    (row,) = [row for row in found.to_dicts() if names[row["kernel_id"]] == right.kernel]
    assert row["state"] == right.state
    assert right.reason in (row["reason"] or "")
    if right.state != "value":
        assert row["value"] is None
    elif right.value is not None:
        assert row["value"] == pytest.approx(right.value)


def test_k01_gated_clocks_are_noted_and_give_no_finding(
    case: Case, read: Reading, capsys: pytest.CaptureFixture[str]
) -> None:
    done = read(case("K01"))
    assert done.ask("SELECT code FROM notes") == [("counters-gated",)]
    assert "STABLE_STD" in done.notes
    assert main(["analyze", str(done.path), "--all"]) == 0
    assert "cache-locality/" not in capsys.readouterr().out


def test_k11_the_mean_lies_between_the_least_and_the_most(case: Case, read: Reading) -> None:
    done = read(case("K11"))
    assert done.ask("SELECT min(value), avg(value), max(value) FROM counter_values") == [
        (10.0, 30.0, 60.0)
    ]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("O01/gfx942", ["mfma_c: 1 of 8 waves"]),
        ("O01/gfx908", ["mfma_c: 1 of 10 waves", "mfma_b: 2 of 10 waves"]),
    ],
)
def test_o01_registers_are_one_budget_or_two(
    name: str, said: list[str], case: Case, read: Reading, capsys: pytest.CaptureFixture[str]
) -> None:
    done = read(case(name))
    assert main(["analyze", str(done.path), "--only", "occupancy", "--all"]) == 0
    out = capsys.readouterr().out
    for words in said:
        assert words in out
    assert out.count("waves a SIMD fit") == len(said)


def test_h15_a_profile_in_use_is_said_and_works_afterwards(
    case: Case, read: Reading, capsys: pytest.CaptureFixture[str]
) -> None:
    done = read(case("V11"))
    holder = subprocess.Popen(
        [sys.executable, str(case("H15") / "lock.py"), str(done.path)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        assert main(["query", str(done.path), "SELECT 1"]) == 6
        assert f"PID {holder.pid}" in capsys.readouterr().err
    finally:
        holder.kill()
        holder.communicate()
    assert main(["query", str(done.path), "SELECT 1"]) == 0


def test_l03_other_counters_do_not_make_coalescing_0(
    case: Case, read: Reading, capsys: pytest.CaptureFixture[str]
) -> None:
    done = read(case("L03"))
    assert main(["analyze", str(done.path), "--only", "coalescing"]) == 0
    capsys.readouterr()
    assert main(["metrics", str(done.path), "--metric", "coalescing"]) == 4
    assert "coalescing: not available on gfx1151" in capsys.readouterr().err
    assert main(["metrics", str(done.path)]) == 4
    assert "none of the collected counters belongs to a metric" in capsys.readouterr().err


def test_v27_a_summary_alone_is_nothing_to_analyse(case: Case, read: Reading) -> None:
    done = read(case("V27/compute"))
    assert done.code == 4
    assert "nothing to analyse" in done.err
    assert "already" not in done.err


def test_u02_a_plugin_that_is_none_is_said_beside_the_findings_of_others(
    case: Case, read: Reading, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file of the case has no hook of ours; its message is raised by another one, too."""
    done = read(case("V27/rocprofv3"))
    plugin = case("U02/plugin_error.py")
    other = plugin.with_name("other.py")
    other.write_text('raise ValueError("closing tag [/nestedType] at [1, 2")\n')
    told = [argument for path in (plugin, other) for argument in ("--plugin", str(path))]
    assert main(["analyze", str(done.path), *told]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "plugin plugin_error: failed: it provides no analysis" in out
    assert "closing tag [/nestedType] at [1, 2" in out
    assert "launch-gaps/unknown" in out
