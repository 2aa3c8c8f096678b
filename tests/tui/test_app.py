"""The screen, driven by keys at two sizes."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import DataTable, Input, Static, TabbedContent, TabPane
from textual_fastdatatable import DataTable as FastDataTable

from rocperf.engine import Stop
from rocperf.errors import InputError
from rocperf.model import Completed, Outcome, Skipped
from rocperf.tui import ViewApp

SIZES = [(80, 24), (160, 48)]
Opened = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


@pytest.fixture
def opened(profile: Path, outcomes: tuple[Outcome, ...]) -> Opened:
    """Return what opens the screen at a size and waits until both threads have reported."""

    @asynccontextmanager
    async def start(
        size: tuple[int, int] = (80, 24), app: ViewApp | None = None
    ) -> AsyncIterator[Pilot[None]]:
        app = app or ViewApp(profile, None, lambda _: outcomes)
        async with app.run_test(size=size) as pilot:
            await app.workers.wait_for_complete()
            await pilot.pause()
            await pilot.pause()
            yield pilot

    return start


def text_of(app: App[None], pane: str) -> str:
    return str(app.screen.query_one(f"#{pane}-text", Static).content)


def kernels_of(app: App[None]) -> list[list[str]]:
    table = app.screen.query_one("#kernels", FastDataTable)
    return [[cell.strip() for cell in table.get_row_at(i)] for i in range(table.row_count)]


def tab_of(app: App[None]) -> str:
    return app.screen.query_one("#tabs", TabbedContent).active


@pytest.mark.parametrize("size", SIZES)
async def test_findings_are_ranked_and_the_first_is_shown_in_full(
    opened: Opened, size: tuple[int, int]
) -> None:
    async with opened(size) as pilot:
        table = pilot.app.screen.query_one("#findings", DataTable)
        rows = [[str(cell) for cell in table.get_row_at(i)] for i in range(table.row_count)]
        assert [row[:2] for row in rows] == [
            ["!!! critical", "4.00 µs 50.0 %"],
            ["!   minor", "200 ns 2.5 %"],
            ["i   info", "–"],
        ]
        assert rows[1][2:] == ["copy", "coalescing/uncoalesced", "copy touches 64 lines"]
        detail = text_of(pilot.app, "detail")
        assert "!!! CRITICAL · saves at most 4.00 µs, 50.0 % of wall · high confidence" in detail
        assert "[@click=app.quit]gemm[/] \\x1b[31m<int>\\u202e touches 64 lines" in detail
        assert "lines per access  64 lines (limit 24)" in detail
        assert "dispatches        12,345\n" in detail
        assert "counters: SELECT * FROM counters WHERE kernel = $name\n  $name = '[b]x'" in detail
        assert "Next: $ rocperf collect --for coalescing -- ./app" in detail


async def test_the_detail_follows_the_cursor_and_names_doubts(opened: Opened) -> None:
    async with opened() as pilot:
        await pilot.press("j", "j")
        detail = text_of(pilot.app, "detail")
        assert "saving not bounded · low confidence" in detail
        assert "Nothing bounds it.\n  doubt: One dispatch." in detail
        assert len(detail) < 3000  # the name of 10 kB is cut
        await pilot.press("k", "up")
        assert "CRITICAL" in text_of(pilot.app, "detail")
        await pilot.press("G")
        assert "not bounded" in text_of(pilot.app, "detail")
        await pilot.press("g")
        assert "CRITICAL" in text_of(pilot.app, "detail")


@pytest.mark.parametrize("size", SIZES)
async def test_kernels_are_listed_by_time(
    opened: Opened, size: tuple[int, int], hostile: str
) -> None:
    async with opened(size) as pilot:
        await pilot.press("2")
        await pilot.pause()
        assert tab_of(pilot.app) == "kernels-tab"
        rows = kernels_of(pilot.app)
        # By hand: 2000 + 1000 of 4000 ns; 1000 of 4000; one whose end lies before its start.
        assert [row[:4] for row in rows] == [
            ["3.00 µs", "75.0 %", "2", "1.50 µs"],
            ["1.00 µs", "25.0 %", "1", "1.00 µs"],
            ["–", "–", "1", "–"],
        ]
        assert rows[0][4] == "[@click=app.quit]gemm[/] \\x1b[31m<int>\\u202e"
        assert rows[2][4].endswith("…")
        await pilot.press("j")
        assert text_of(pilot.app, "kernel-name") == "copy(float*, float const*)"
        await pilot.press("G")
        assert len(text_of(pilot.app, "kernel-name")) > 10_000
        assert isinstance(pilot.app.focused, FastDataTable)


async def test_a_click_on_a_hostile_name_does_nothing(opened: Opened) -> None:
    async with opened((160, 48)) as pilot:
        await pilot.press("2")
        await pilot.pause()
        assert await pilot.click("#kernels", offset=(50, 1))
        await pilot.press("1")
        await pilot.pause()
        assert await pilot.click("#findings", offset=(33, 1))
        assert await pilot.click("#detail-text", offset=(10, 2))
        assert pilot.app.is_running
        assert pilot.app.return_code is None


async def test_what_was_not_judged_says_what_to_run_and_notes_follow(opened: Opened) -> None:
    async with opened() as pilot:
        await pilot.press("3")
        text = text_of(pilot.app, "unjudged")
        assert (
            "occupancy: needs rows in agents; [i]registers\n    $ rocperf collect -- ./app" in text
        )
        assert "mine: failed: ZeroDivisionError: [/] division\\x1b[0m" in text
        assert "warning: 2 rows of [bold]x.csv have\\x07 no end (2 records)" in text
        # What is only told can be read, too, after what is odd.
        assert text.endswith("\ninfo: y.csv only sums up what is read elsewhere\n")


async def test_the_search_filters_findings_and_kernels_and_takes_brackets(opened: Opened) -> None:
    async with opened() as pilot:
        app = pilot.app
        await pilot.press("slash")
        app.screen.query_one("#search", Input).value = "[@CL"
        await pilot.pause()
        assert app.screen.query_one("#findings", DataTable).row_count == 1
        assert len(kernels_of(app)) == 1
        await pilot.press("enter")
        assert app.focused is app.screen.query_one("#findings")
        app.screen.query_one("#search", Input).value = "nothing of this.*"
        await pilot.pause()
        assert text_of(app, "detail") == "Nothing matches the search."
        assert text_of(app, "kernel-name") == "Nothing matches the search."
        assert kernels_of(app) == []
        await pilot.press("escape")
        await pilot.pause()
        assert len(kernels_of(app)) == 3
        assert app.screen.query_one("#findings", DataTable).row_count == 3
        assert "CRITICAL" in text_of(app, "detail")


async def test_letters_typed_into_the_search_are_text(opened: Opened) -> None:
    async with opened() as pilot:
        await pilot.press("slash", "q", "j", "2", "question_mark")
        assert pilot.app.screen.query_one("#search", Input).value == "qj2?"
        assert pilot.app.is_running


async def test_tab_goes_round_in_both_directions(opened: Opened) -> None:
    async with opened() as pilot:
        seen = [tab_of(pilot.app)]
        for key in ("tab", "tab", "tab", "shift+tab"):
            await pilot.press(key)
            await pilot.pause()
            seen.append(tab_of(pilot.app))
        assert seen == [
            "findings-tab",
            "kernels-tab",
            "unjudged-tab",
            "findings-tab",
            "unjudged-tab",
        ]


async def test_a_late_word_of_focus_does_not_call_back_to_the_tab_left(opened: Opened) -> None:
    async with opened() as pilot:
        await pilot.press("3")
        await pilot.pause()
        left = pilot.app.screen.query_one("#findings-tab", TabPane)
        left.post_message(TabPane.Focused(left))
        await pilot.pause()
        assert tab_of(pilot.app) == "unjudged-tab"


async def test_q_goes_back_and_then_quits(opened: Opened) -> None:
    async with opened() as pilot:
        app = pilot.app
        await pilot.press("enter")
        assert app.focused is app.screen.query_one("#detail")
        await pilot.press("q")
        assert app.focused is app.screen.query_one("#findings")
        await pilot.press("question_mark")
        assert "from 25 %" in text_of(app, "help")
        await pilot.press("q")
        assert not app.screen.query("#help")
        assert app.is_running
        await pilot.press("q")
        await pilot.pause()
        assert app.return_code == 0


async def test_keys_work_while_the_analyses_run(
    opened: Opened, profile: Path, outcomes: tuple[Outcome, ...]
) -> None:
    go = threading.Event()

    def load(stop: Stop) -> tuple[Outcome, ...]:
        del stop
        assert go.wait(60)
        return outcomes

    app = ViewApp(profile, None, load)
    async with app.run_test(size=(80, 24)) as pilot:
        try:
            for _ in range(100):
                await pilot.pause(0.05)
                if app.screen.query("#kernels"):
                    break
            assert len(kernels_of(app)) == 3
            assert text_of(app, "detail") == "Analysing…"
            await pilot.press("slash", "c", "o", "p", "y", "enter")
            assert text_of(app, "detail") == "Analysing…"
        finally:
            go.set()
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert "copy touches 64 lines" in text_of(app, "detail")
        assert app.screen.query_one("#findings", DataTable).row_count == 1


async def test_leaving_ends_the_analyses(profile: Path) -> None:
    begun, ended = threading.Event(), threading.Event()

    def load(stop: Stop) -> tuple[Outcome, ...]:
        begun.set()
        for _ in range(600):
            if stop.asked:
                ended.set()
                break
            time.sleep(0.1)
        return ()

    app = ViewApp(profile, None, load)
    async with app.run_test(size=(80, 24)) as pilot:
        assert begun.wait(30)
        await pilot.press("q")
        await pilot.pause()
    assert app.return_code == 0
    assert ended.wait(5)


async def test_given_outcomes_are_not_computed_again(
    opened: Opened, profile: Path, outcomes: tuple[Outcome, ...]
) -> None:
    def load(stop: Stop) -> tuple[Outcome, ...]:
        del stop
        raise AssertionError("called")

    async with opened(app=ViewApp(profile, outcomes, load)) as pilot:
        assert "CRITICAL" in text_of(pilot.app, "detail")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((Completed("coalescing", ()),), "Nothing to report."),
        ((Skipped("occupancy", ("registers",)),), "No analysis could judge this profile."),
    ],
)
async def test_no_finding_is_not_the_same_as_no_judgement(
    opened: Opened, profile: Path, given: tuple[Outcome, ...], said: str
) -> None:
    async with opened(app=ViewApp(profile, given, lambda _: given)) as pilot:
        assert text_of(pilot.app, "detail").startswith(said)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("broken [bold]"), "ValueError: broken [bold]"),
        (InputError("x.py is [red] broken\x1b", hint="mend it"), "x.py is [red] broken\\x1b. mend"),
    ],
)
async def test_analyses_that_cannot_run_are_said_and_kernels_are_still_shown(
    opened: Opened, profile: Path, error: Exception, said: str
) -> None:
    def load(stop: Stop) -> tuple[Outcome, ...]:
        del stop
        raise error

    async with opened(app=ViewApp(profile, None, load)) as pilot:
        assert said in text_of(pilot.app, "detail")
        assert said in text_of(pilot.app, "unjudged")
        assert len(kernels_of(pilot.app)) == 3


async def test_a_profile_that_cannot_be_read_is_said(
    opened: Opened, tmp_path: Path, outcomes: tuple[Outcome, ...]
) -> None:
    path = tmp_path / "[@click=app.quit]gone.rocperf"
    async with opened((160, 48), app=ViewApp(path, None, lambda _: outcomes)) as pilot:
        summary = str(pilot.app.screen.query_one("#summary", Static).content)
        assert "there is no file" in summary
        assert "[@click=app.quit]gone.rocperf" in summary
        assert "there is no file" in text_of(pilot.app, "kernel-name")
        assert "CRITICAL" in text_of(pilot.app, "detail")
        await pilot.click("Header", offset=(80, 0))
        assert pilot.app.return_code is None


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("keys", ["1", "2", "3", "question_mark", "slash"])
async def test_what_is_drawn(
    opened: Opened, size: tuple[int, int], keys: str, snapshot: Callable[[App[None], str], None]
) -> None:
    async with opened(size) as pilot:
        await pilot.press(keys)
        await pilot.pause(0.3)
        snapshot(pilot.app, f"{keys}-{size[0]}x{size[1]}")


async def test_without_colour_nothing_is_lost(
    opened: Opened,
    profile: Path,
    outcomes: tuple[Outcome, ...],
    monkeypatch: pytest.MonkeyPatch,
    snapshot: Callable[[App[None], str], None],
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with opened(app=ViewApp(profile, None, lambda _: outcomes)) as pilot:
        strips = [
            line
            for widget in pilot.app.screen.query("#findings, #detail")
            for line in widget.render_lines(widget.size.region)
        ]
        colours = {
            colour.get_truecolor()
            for strip in strips
            for segment in strip
            if segment.style
            for colour in (segment.style.color, segment.style.bgcolor)
            if colour
        }
        assert colours
        assert all(red == green == blue for red, green, blue in colours)
        await pilot.press("1")
        await pilot.pause(0.3)
        snapshot(pilot.app, "1-80x24")


async def test_no_line_of_the_screen_holds_a_control_character(
    opened: Opened, drawn: Callable[[App[None]], list[str]]
) -> None:
    async with opened((160, 48)) as pilot:
        for key in ("1", "j", "j", "2", "j", "j", "3"):
            await pilot.press(key)
            await pilot.pause()
            assert not [c for line in drawn(pilot.app) for c in line if c < " " or c == "\u202e"]
