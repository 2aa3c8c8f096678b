"""The timeline: what it asks, with numbers worked by hand, and its keys."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Static

from rocperf.model import Outcome, Subject
from rocperf.profile import open_profile
from rocperf.store import Store
from rocperf.tui import ViewApp, timeline
from rocperf.tui.screens.timeline import TimelineScreen
from rocperf.tui.timeline import Window
from rocperf.tui.widgets.picture import Picture


@pytest.fixture
def busy_profile(tmp_path: Path) -> Path:
    """Two queues, a copy, a range and a call of one process, 0 to 1000 ns; another process."""
    path = tmp_path / "t.rocperf"
    with Store.create(path) as store:
        names = {"kernel_id": [1, 2], "name": ["a()", "b()"], "group_name": ["a()", "b()"]}
        roles = {"short_name": ["a", "b"], "role": ["compute"] * 2}
        store.append("kernels", pl.DataFrame(names | roles))
        runs = {"run_id": [1, 2], "process_id": [1, 2], "role": ["timing"] * 2}
        ends = {"status": ["complete"] * 2, "start_ns": [0, 0], "end_ns": [1000, 10]}
        store.append("runs", pl.DataFrame(runs | ends))
        rows = {
            "run_id": [1, 1, 1, 1, 2],
            "dispatch_id": [1, 2, 3, 4, 1],
            "kernel_id": [1, 1, 2, 1, 2],
            "agent_id": [1] * 5,
            "queue_id": [1, 1, 2, 1, 9],
            "start_ns": [0, 150, 0, 900, 0],
            "end_ns": [100, 250, 1000, 800, 10],  # the fourth ends before it starts
        }
        store.append("all_dispatches", pl.DataFrame(rows))
        copy = {"run_id": [1], "direction": ["host_to_device"], "bytes": [64]}
        place = {"src_agent_id": [0], "dst_agent_id": [1], "start_ns": [300], "end_ns": [420]}
        store.append("copies", pl.DataFrame(copy | place))
        mark = {"run_id": [1], "kind": ["range"], "message": ["\x1b[31mstep"], "thread_id": [7]}
        store.append("markers", pl.DataFrame(mark | {"start_ns": [0], "end_ns": [500]}))
        call = {"run_id": [1], "domain": ["hip"], "name": ["hipMemcpy"], "thread_id": [7]}
        store.append("api_calls", pl.DataFrame(call | {"start_ns": [290], "end_ns": [430]}))
        store.commit()
    return path


def test_lanes_are_those_of_the_process_that_ran_longest(busy_profile: Path) -> None:
    with open_profile(busy_profile) as profile:
        extent = timeline.extent_of(profile)
    assert extent is not None
    assert (extent.run, extent.first_ns, extent.last_ns) == (1, 0, 1000)
    assert [(lane.name, lane.events) for lane in extent.lanes] == [
        ("GPU 1 queue 1", 2),
        ("GPU 1 queue 2", 1),
        ("copy host to GPU 0-1", 1),
        ("ranges 7", 1),
        ("hip 7", 1),
    ]


def test_cells_are_as_full_as_events_fill_them(busy_profile: Path) -> None:
    with open_profile(busy_profile) as profile:
        found = timeline.busy(profile, 1, Window(0, 100, 10))
        part = timeline.busy(profile, 1, Window(200, 50, 4))
    # 0 to 100 fills the first cell and ends where the second begins; 150 to 250 half of two.
    assert found["GPU 1 queue 1"] == {0: 1.0, 1: 0.5, 2: 0.5}
    assert found["GPU 1 queue 2"] == dict.fromkeys(range(10), 1.0)
    assert found["copy host to GPU 0-1"] == {3: 1.0, 4: 0.2}
    # From 200 on, 50 a cell: the second dispatch fills one, the copy 300 to 400 two.
    assert part["GPU 1 queue 1"] == {0: 1.0}
    assert part["copy host to GPU 0-1"] == {2: 1.0, 3: 1.0}


def test_windows_keep_what_is_under_the_cursor() -> None:
    window = Window(1000, 100, 10)
    assert window.zoomed(0.5, 4) == Window(1200, 50, 10)  # 1400 stays at cell 4
    assert window.zoomed(2.0, 4) == Window(600, 200, 10)
    assert window.zoomed(0.001, 0).step_ns == 1
    assert window.moved(-3) == Window(700, 100, 10)
    extent = timeline.Extent(1, (), 1000, 2001)
    assert timeline.whole(extent, 10) == Window(1000, 101, 10)


@pytest.mark.parametrize(
    ("subject", "place"),
    [
        (Subject("kernel", "b()"), ("GPU 1 queue 2", 0, 1000)),
        (Subject("copy", "c", {"direction": "host_to_device"}), ("copy host to GPU 0-1", 300, 420)),
        (Subject("gpu", "GPU 1"), ("GPU 1 queue 2", 0, 1000)),
        (Subject("kernel", "gone()"), None),
        (Subject("profile", "p"), None),
    ],
)
def test_a_finding_has_a_place(
    busy_profile: Path, subject: Subject, place: tuple[str, int, int] | None
) -> None:
    with open_profile(busy_profile) as profile:
        assert timeline.place_of(profile, 1, subject) == place


async def settled(pilot: Pilot[None]) -> None:
    for _ in range(4):
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()


def under(app: App[None]) -> str:
    return str(app.screen.query_one("#under-text", Static).content)


@pytest.mark.parametrize("size", [(80, 24), (160, 48)])
async def test_keys_move_and_zoom(
    busy_profile: Path, size: tuple[int, int], drawn: Callable[[App[None]], list[str]]
) -> None:
    app = ViewApp(busy_profile, (), lambda _: ())
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        await pilot.press("5")
        await settled(pilot)
        assert isinstance(app.screen, TimelineScreen)
        assert "1 event, the longest:\n     100 ns from      0 ns  a" in under(app)
        lines = drawn(app)
        assert lines[1].startswith("> GPU 1 queue 1         █")
        assert lines[2].startswith("  GPU 1 queue 2         █")
        await pilot.press("j", "j", "j")
        await settled(pilot)
        assert "\\x1b[31mstep" in under(app)
        before = app.screen.query_one(Picture).view
        await pilot.press("plus", "plus", "L")
        await settled(pilot)
        after = app.screen.query_one(Picture).view
        assert after.step_ns < before.step_ns
        assert after.from_ns > before.from_ns
        await pilot.press("0")
        await settled(pilot)
        assert app.screen.query_one(Picture).view == before
        assert await pilot.click("#picture", offset=(30, 3))
        await settled(pilot)
        assert app.screen.query_one(Picture).lane_name == "copy host to GPU 0-1"
        assert not [c for line in drawn(app) for c in line if c < " "]
        await pilot.press("q")
        await pilot.pause()
        assert app.is_running
        assert not isinstance(app.screen, TimelineScreen)


async def test_a_finding_leads_to_its_place_and_back(
    profile: Path, outcomes: tuple[Outcome, ...]
) -> None:
    app = ViewApp(profile, None, lambda _: outcomes)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("t")
        await settled(pilot)
        picture = app.screen.query_one(Picture)
        start, end = picture.span
        assert start <= 1000 <= end  # the middle of its longest dispatch, 0 to 2000 ns
        assert "2.00 µs from      0 ns" in under(app)
        await pilot.press("q")
        await pilot.pause()
        assert app.focused is app.screen.query_one("#findings")


async def test_a_profile_without_times_says_so(tmp_path: Path) -> None:
    path = tmp_path / "e.rocperf"
    with Store.create(path) as store:
        store.commit()
    app = ViewApp(path, (), lambda _: ())
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("5")
        await settled(pilot)
        assert "Nothing here has a time" in under(app)
        await pilot.press("plus", "j", "l", "0", "q")
        assert app.is_running


async def test_the_palette_holds_what_keys_do(busy_profile: Path) -> None:
    app = ViewApp(busy_profile, (), lambda _: ())
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        listed = {each.title for each in app.get_system_commands(app.screen)}
        assert {"Query", "Timeline", "Copies", "Runs", "Accept", "Explain", "Theme"} <= listed
        (timeline_command,) = (
            each for each in app.get_system_commands(app.screen) if each.help == "key 5"
        )
        await timeline_command.callback()
        await settled(pilot)
        assert isinstance(app.screen, TimelineScreen)
