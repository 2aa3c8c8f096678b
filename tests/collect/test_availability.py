"""What ROCm says of counters, by its module and its tool, and what holds when neither answers."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from rocperf.collect import availability
from rocperf.collect.availability import Answer, Availability, Bindings, Tool, find_tool
from rocperf.collect.counting import choose
from rocperf.collect.doctor_checks import checks
from rocperf.collect.limits import ANCHORS
from rocperf.testing.standin import install, install_bindings

from .conftest import Run

L1 = [f"TCP_{n}" for n in range(5)]


def script(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


class Says:
    """A source that holds so many counters of the L1 and counts what it is asked."""

    told = "a source of the test"

    def __init__(self, most: int, *, silent_after: int = 99, lists: Sequence[str] = ()) -> None:
        self.asked: list[list[tuple[str, ...]]] = []
        self._most, self._left, self._lists = most, silent_after, frozenset(lists)

    def ask(self, sets: Sequence[Sequence[str]]) -> Answer | None:
        self.asked.append([tuple(each) for each in sets])
        self._left -= 1
        if self._left < 0:
            return None
        held = [sum(name.startswith("TCP") for name in each) <= self._most for each in sets]
        return Answer(self._lists or None, tuple(held))


def test_rocm_itself_is_believed_more_than_the_table() -> None:
    ask = Availability([Says(2)], "gfx942")

    assert ask.fits(L1[:4])  # the table holds four
    assert not ask.confirm([L1[:4]])
    assert not ask.fits(L1[:4])
    assert ask.fits(L1[:2])
    assert ask.told == "a source of the test"


def test_one_refusal_tells_of_every_set_of_that_block() -> None:
    source = Says(2)
    ask = Availability([source], "gfx942")

    ask.confirm([("SQ_A", "SQ_B", *L1[:4])])

    assert ask.fits(L1[1:3])
    assert not ask.fits(L1[1:4])
    assert ask.fits([f"SQ_{n}" for n in range(8)])
    assert len(source.asked) == 2


def test_what_is_part_of_a_held_set_is_not_asked_again() -> None:
    source = Says(4)
    ask = Availability([source], "gfx942")

    assert ask.confirm([L1[:4]])
    assert ask.confirm([L1[:3], L1[1:2]])

    assert source.asked == [[tuple(L1[:4])], [ANCHORS]]


@pytest.mark.parametrize("sources", [[], [Says(1, silent_after=0)]])
def test_without_answers_the_table_decides(sources: list[Says]) -> None:
    ask = Availability(sources, "gfx942")

    assert ask.confirm([L1[:4]])
    assert ask.fits(L1[:4])
    assert not ask.fits(L1)
    assert ask.has(["ANYTHING"])
    assert ask.told == "rocperf's own table of limits"


def test_one_that_stops_to_answer_is_followed_by_the_next() -> None:
    first, second = Says(1, silent_after=1), Says(3)
    ask = Availability([first, second], "gfx942")

    ask.confirm([ANCHORS])
    assert ask.confirm([L1[:3]])

    assert [len(each.asked) for each in (first, second)] == [2, 1]


def test_a_plan_is_made_again_until_rocm_holds_it() -> None:
    source = Says(2)

    chosen = choose(
        ("coalescing", "lines-per-vmem", "l2-bytes-per-vmem"), "gfx942",
        Availability([source], "gfx942"),
    )  # fmt: skip

    # Four counters of the L1 in all, two of them in each pass.
    assert len(chosen.passes) == 2
    assert all(sum(c.startswith("TCP") for c in each.counters) <= 2 for each in chosen.passes)
    assert not any(each.stitched for each in chosen.passes)
    assert chosen.told == "a source of the test"


def test_metrics_whose_counters_rocm_does_not_list_are_named() -> None:
    lists = (*ANCHORS, "SQ_LDS_BANK_CONFLICT", "SQ_INSTS_LDS")
    ask = Availability([Says(4, lists=lists)], "gfx942")

    chosen = choose(("lds-conflict-share", "lds-conflicts-per-instruction"), "gfx942", ask)

    assert [each.metrics for each in chosen.passes] == [("lds-conflicts-per-instruction",)]
    assert chosen.unlisted == ("lds-conflict-share",)
    assert chosen.warnings("gfx942") == (
        "this ROCm lists no counters for lds-conflict-share: a source of the test was asked",
    )


def test_a_list_without_what_every_gpu_has_is_not_believed() -> None:
    ask = Availability([Says(4, lists=("TCP_0",))], "gfx942")

    ask.confirm([ANCHORS])

    assert ask.counters is None


# -- the module ------------------------------------------------------------------------------


@pytest.fixture
def rocm(tmp_path: Path) -> Path:
    path = install(tmp_path / "rocm" / "bin")
    install_bindings(path)
    return path


def test_the_module_is_asked_in_a_process_of_its_own(
    rocm: Path, machine: Callable[..., None]
) -> None:
    bindings = availability.find_bindings(rocm, "gfx942")
    assert bindings is not None

    answer = bindings.ask([ANCHORS, [*ANCHORS, "NO_SUCH"], [f"SQ_INSTS_{n}" for n in ("VALU",)]])

    assert answer is not None
    assert answer.fits == (True, None, True)
    assert answer.counters is not None
    assert {*ANCHORS, "SQ_LDS_IDX_ACTIVE"} <= answer.counters
    assert "GL2C_HIT" not in answer.counters
    assert bindings.__class__(**{**vars(bindings), "target": "gfx90a"}).ask([ANCHORS]) is None
    assert "avail" not in sys.modules


def test_collecting_plans_with_the_module(rocm: Path, run: Run) -> None:
    plan = run.plan(rocprofv3=str(rocm))

    assert plan.checked_by == "ROCm's Python module avail"
    found = {check.name: check for check in checks(str(rocm))}
    assert found["counters"].state == "ok"
    assert "avail.py" in found["counters"].found


@pytest.mark.parametrize(
    "module",
    [
        "import os; os.abort()",
        "import time; time.sleep(60)",
        "raise RuntimeError('no GPU')",
        "print('hello')",
    ],
)
def test_a_module_that_does_not_work_means_unknown(
    rocm: Path, run: Run, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    (rocm.parent / "rocprofv3_avail_module" / "avail.py").write_text(module)
    monkeypatch.setattr(availability, "PROBE_S", 1.0)
    started = time.monotonic()

    plan = run.plan(rocprofv3=str(rocm))

    assert time.monotonic() - started < 20
    assert plan.checked_by == "rocperf's own table of limits"
    assert len(plan.passes) == 2


def test_where_releases_put_it(tmp_path: Path) -> None:
    rocprofv3 = script(tmp_path / "rocm" / "bin" / "rocprofv3", "exit 0")
    later = tmp_path / "rocm" / "lib" / "python3.12" / "site-packages" / "rocprofv3" / "avail.py"
    later.parent.mkdir(parents=True)
    later.touch()
    assert availability.find_bindings(rocprofv3) is None  # a module without its library

    library = tmp_path / "rocm" / "lib" / "rocprofiler-sdk" / "librocprofv3-list-avail.so.1"
    library.parent.mkdir(parents=True)
    library.touch()

    found = availability.find_bindings(rocprofv3)
    assert found is not None
    assert (found.folder, found.package) == (later.parent.parent, "rocprofv3.avail")
    assert found.library == library


def test_an_answer_of_another_kind_means_unknown() -> None:
    for text in ("", "[]", "{}", '{"counters": 3, "fits": []}', "Traceback"):

        def run(
            command: Sequence[str], seconds: float, said: str = text
        ) -> tuple[int | None, str, str]:
            return 0, said, ""

        bindings = Bindings(Path(), "avail", Path(), Path(), "gfx942", run)
        assert bindings.ask([ANCHORS]) is None


# -- the tool --------------------------------------------------------------------------------


def test_the_tool_is_beside_it_or_where_a_link_leads(tmp_path: Path) -> None:
    real = script(tmp_path / "rocm" / "bin" / "rocprofv3", "exit 0")
    tool = script(tmp_path / "rocm" / "bin" / "rocprofv3-avail", "exit 0")
    link = tmp_path / "rocprofv3"
    link.symlink_to(real)

    assert find_tool(real) == tool
    assert find_tool(link) == tool
    assert find_tool(tmp_path / "other" / "rocprofv3") is None


LISTS = (
    "GPU:0\nName:gfx942\n\nCounter_Name        :\tSQ_WAVES\nBlock               :\tSQ\n\n"
    "Counter_Name: GRBM_GUI_ACTIVE\n\nGPU:1\nName:gfx90a\n\nCounter_Name        :\tTCP_9\n"
)


def test_the_tool_lists_and_checks(tmp_path: Path) -> None:
    tool = script(
        tmp_path / "rocprofv3-avail",
        f"[ \"$1\" = info ] && {{ cat <<'X'\n{LISTS}\nX\nexit 0; }}\n"
        'case "$*" in *NO_SUCH*) echo "Fatal error: Invalid counter name NO_SUCH" >&2; exit 1;;\n'
        '*TCP_3*) echo "Fatal error: $* not collected on agent gfx942" >&2; exit 1;; esac\n'
        'echo "Following input counters can be collected together on GPU:0"',
    )

    answer = Tool(tool, "gfx942").ask([["SQ_WAVES"], ["TCP_3"], ["NO_SUCH"]])

    assert answer == Answer(frozenset({"SQ_WAVES", "GRBM_GUI_ACTIVE"}), (True, False, None))
    other = Tool(tool, "gfx90a").ask([])
    assert other is not None
    assert other.counters == frozenset({"TCP_9"})


@pytest.mark.parametrize("body", ["exit 1", "echo nonsense", "sleep 60"])
def test_a_tool_that_does_not_work_means_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    monkeypatch.setattr(availability, "PROBE_S", 0.5)

    assert Tool(script(tmp_path / "rocprofv3-avail", body), "gfx942").ask([ANCHORS]) is None


def test_the_module_comes_before_the_tool(rocm: Path) -> None:
    script(rocm.parent / "rocprofv3-avail", "echo can be collected together")

    ask = availability.find(rocm, "gfx942")

    assert [type(each) for each in ask._sources] == [Bindings, Tool]


def test_names_are_arguments_and_never_text_of_a_shell() -> None:
    seen: list[Sequence[str]] = []

    def run(command: Sequence[str], seconds: float) -> tuple[int | None, str, str]:
        seen.append(command)
        return None, "", ""

    Bindings(Path("m"), "avail", Path("l"), Path("r"), "gfx942", run).ask([["A;B", "$(C)"]])

    assert json.loads(seen[0][-1]) == [["A;B", "$(C)"]]
    assert seen[0][:2] == [sys.executable, "-I"]
