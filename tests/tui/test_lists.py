"""Lists: each answers on any profile, what they say is worked by hand, and their keys."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Static

from rocperf.model import Outcome
from rocperf.store import Store
from rocperf.tui import ViewApp, lists, rows
from rocperf.tui.lists import Question
from rocperf.tui.screens.lists import ListsScreen
from rocperf.tui.screens.query import QueryScreen
from rocperf.tui.widgets.grid import GridRows

MEGA = 1_000_000
EVERY = (*lists.COPIES, *lists.RUNS, *lists.KERNEL)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """Three copies to one GPU: two at once, 0 to 100 and 50 to 150 ms, and one without a size."""
    path = tmp_path / "c.rocperf"
    with Store.create(path) as store:
        run = {"run_id": [1], "pass": [1], "role": ["timing"], "status": ["complete"]}
        store.append("runs", pl.DataFrame(run | {"start_ns": [0], "end_ns": [2_000_000]}))
        copy = {"run_id": [1] * 3, "direction": ["host_to_device"] * 3, "src_agent_id": [0] * 3}
        size = {"dst_agent_id": [1, 1, 2], "bytes": [1500 * MEGA, 3000 * MEGA, None]}
        store.append(
            "copies",
            pl.DataFrame(
                copy
                | size
                | {"start_ns": [0, 50 * MEGA, 500 * MEGA]}
                | {"end_ns": [100 * MEGA, 150 * MEGA, 600 * MEGA]}
            ),
        )
        asked = {"pass": [1, 1], "counter": ["SQ_WAVES", "TCC_HIT"], "received": [True, False]}
        store.append("requested_counters", pl.DataFrame(asked))
        store.commit()
    return path


def answer(path: Path, question: Question) -> list[list[str]]:
    found = rows.ask(rows.Place(path), question.sql, {"kernel": 1})
    return [[cell.strip() for cell in row] for row in found.cells.iter_rows()]


@pytest.mark.parametrize("question", EVERY, ids=lambda each: each.title)
def test_each_answers_on_a_profile_with_nothing_in_it(question: Question, tmp_path: Path) -> None:
    path = tmp_path / "e.rocperf"
    with Store.create(path) as store:
        store.commit()
    found = answer(path, question)
    # Where there can be no row, the list says why.
    assert bool(found) != bool(question.empty)


def test_copies_at_once_share_their_link(copied: Path) -> None:
    found = answer(copied, lists.COPIES[0])
    # 4500 MB in the 150 ms in which at least one ran: 30 GB/s. Without a size there is no rate.
    assert found == [
        ["host_to_device", "0", "1", "1", "2", "4,500", "150", "30"],
        ["host_to_device", "0", "2", "1", "1", "–", "100", "–"],
    ]
    assert [row[:3] for row in answer(copied, lists.COPIES[1])] == [
        ["host_to_device", "16 MiB and more", "2"],
        ["host_to_device", "unknown", "1"],
    ]


def test_a_counter_that_never_came_stands_first(copied: Path) -> None:
    assert [row[:4] for row in answer(copied, lists.RUNS[1])] == [
        ["1", "TCC_HIT", "never came", "0"],
        ["1", "SQ_WAVES", "came", "0"],
    ]


def test_times_of_a_kernel(profile: Path) -> None:
    # Its dispatches take 2000 and 1000 ns; between the two, 95 % is 1950.
    spread = next(each for each in lists.KERNEL if each.title == "Spread of times")
    assert answer(profile, spread) == [["2", "1", "1.5", "1.5", "1.95", "2"]]
    durations = next(each for each in lists.KERNEL if each.title == "Durations")
    assert [row[:2] for row in answer(profile, durations)] == [["1", "1"], ["1.938", "1"]]


async def settled(pilot: Pilot[None]) -> None:
    for _ in range(4):
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()


def note(app: App[None]) -> str:
    return str(app.screen.query_one("#lists-note", Static).content)


@pytest.mark.parametrize("size", [(80, 24), (160, 48)])
async def test_keys_go_through_the_lists_and_back(
    copied: Path, size: tuple[int, int], outcomes: tuple[Outcome, ...]
) -> None:
    app = ViewApp(copied, outcomes, lambda _: ())
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        await pilot.press("6")
        await settled(pilot)
        assert isinstance(app.screen, ListsScreen)
        assert note(app) == "2 rows"
        await pilot.press("tab", "tab")
        await settled(pilot)
        assert note(app).startswith("No kernel of RCCL ran")
        await pilot.press("shift+tab")
        await settled(pilot)
        assert app.screen.query_one(GridRows).row_count == 2
        await pilot.press("s")
        await settled(pilot)
        assert isinstance(app.screen, QueryScreen)
        await pilot.press("escape")
        await pilot.pause()
        await pilot.press("q")
        await pilot.pause()
        await pilot.press("7")
        await settled(pilot)
        assert note(app) == "1 row"
        await pilot.press("q")
        await pilot.pause()
        assert app.is_running


async def test_a_kernel_leads_to_its_dispatches(
    profile: Path, outcomes: tuple[Outcome, ...]
) -> None:
    app = ViewApp(profile, outcomes, lambda _: ())
    async with app.run_test(size=(160, 48)) as pilot:
        await settled(pilot)
        await pilot.press("2")
        await settled(pilot)
        await pilot.press("d")
        await settled(pilot)
        assert isinstance(app.screen, ListsScreen)
        title = str(app.screen.query_one("#lists-title", Static).content)
        assert title == "[@click=app.quit]gemm[/] \\x1b[31m<int>\\u202e"
        first = [str(cell).strip() for cell in app.screen.query_one(GridRows).get_row_at(0)]
        assert first[:2] == ["1", "1"]
        assert first[5] == "2"  # 2000 ns, the longest of two
        assert note(app) == "2 rows"
