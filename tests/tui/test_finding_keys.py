"""What keys do with the finding under the cursor, and the screen of queries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import DataTable, Input, Static, TextArea

from rocperf.engine import accepted
from rocperf.errors import RocperfError
from rocperf.model import Measure, Outcome
from rocperf.report.pages import page_of
from rocperf.tui import ViewApp, rows
from rocperf.tui.screens.page import PageScreen
from rocperf.tui.screens.query import QueryScreen
from rocperf.tui.widgets.detail import bar
from rocperf.tui.widgets.grid import GridRows


@pytest.fixture
def app(
    profile: Path, outcomes: tuple[Outcome, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ViewApp:
    monkeypatch.chdir(tmp_path)
    return ViewApp(profile, None, lambda _: outcomes)


async def settled(pilot: Pilot[None]) -> None:
    await pilot.app.workers.wait_for_complete()
    for _ in range(3):
        await pilot.pause()


def labels(app: App[None]) -> list[str]:
    table = app.screen.query_one("#findings", DataTable)
    return [str(table.get_row_at(i)[0]).strip() for i in range(table.row_count)]


def text_of(app: App[None], selector: str) -> str:
    return str(app.screen.query_one(selector, Static).content)


async def test_a_finding_is_accepted_for_a_reason_and_taken_back(
    app: ViewApp, tmp_path: Path, hostile: str
) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("a")
        await pilot.pause()
        await pilot.press(*"it is so", "enter")
        await settled(pilot)
        (kept,) = accepted.read(tmp_path / ".rocperf.toml")
        assert (kept.rule, kept.subject) == ("coalescing/uncoalesced", hostile)
        assert kept.reason == "it is so"
        # It goes to the end; the one that was second is now under the cursor.
        assert labels(app) == ["!   minor", "i   info", "accepted"]
        await pilot.press("G")
        await pilot.pause()
        assert f"accepted ({kept.date}): it is so" in text_of(app, "#detail-text")
        await pilot.press("a")
        await settled(pilot)
        assert accepted.read(tmp_path / ".rocperf.toml") == ()
        assert labels(app)[0] == "!!! critical"


async def test_escape_accepts_nothing(app: ViewApp, tmp_path: Path) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("a")
        await pilot.pause()
        await pilot.press("x", "escape")
        await settled(pilot)
        assert not (tmp_path / ".rocperf.toml").exists()
        assert "accepted" not in labels(app)


async def test_a_broken_file_is_said_and_hides_no_finding(app: ViewApp, tmp_path: Path) -> None:
    (tmp_path / ".rocperf.toml").write_text("[[accepted]]\n", encoding="utf-8")
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert len(labels(app)) == 3
        assert "entry 1 of accepted has no rule" in str(next(iter(app._notifications)).message)


async def test_the_filter_leaves_the_severer(app: ViewApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        seen = []
        for _ in range(4):
            await pilot.press("f")
            await pilot.pause()
            seen.append(len(labels(app)))
        assert seen == [2, 1, 1, 3]  # minor, major, critical and worse, then all again


async def test_the_next_command_is_copied(app: ViewApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("c")
        assert app.clipboard == "rocperf collect --for coalescing -- ./app"


async def test_the_page_of_an_analysis_is_rendered_in_place(app: ViewApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("e")
        await settled(pilot)
        assert isinstance(app.screen, PageScreen)
        await pilot.press("j", "q")
        await pilot.pause()
        assert not isinstance(app.screen, PageScreen)


def test_only_ids_have_pages() -> None:
    assert page_of("coalescing")
    assert page_of("no-such-analysis") is None
    assert page_of("../../../README") is None


async def test_the_rows_of_a_finding_open_as_a_query(app: ViewApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("r")
        await settled(pilot)
        assert isinstance(app.screen, QueryScreen)
        # The query of this finding asks for a column that is not there: the screen says so.
        assert "kernel" in text_of(app, "#query-note")
        await pilot.press("escape")
        await pilot.pause()
        assert not isinstance(app.screen, QueryScreen)


async def ask(pilot: Pilot[None], sql: str) -> None:
    pilot.app.screen.query_one("#sql", TextArea).text = sql
    await pilot.press("ctrl+r")
    await settled(pilot)


async def test_a_query_shows_rows_letter_by_letter_and_is_remembered(app: ViewApp) -> None:
    async with app.run_test(size=(160, 48)) as pilot:
        await settled(pilot)
        await pilot.press("4")
        await settled(pilot)
        await ask(pilot, "SELECT kernel_id, name FROM kernels ORDER BY kernel_id")
        assert text_of(app, "#query-note") == "3 rows"
        table = app.screen.query_one(GridRows)
        first = table.get_row_at(0)
        assert first == ["1", "[@click=app.quit]gemm[/] \\x1b[31m<int>\\u202e"]
        assert len(str(table.get_row_at(1)[1])) == rows.MOST_CHARACTERS
        await ask(pilot, "SELECT nothing FROM kernels")
        assert "the query failed" in text_of(app, "#query-note")
        await ask(pilot, "SELECT 1; SELECT 2")
        assert "2 statements where one query belongs" in text_of(app, "#query-note")
        await pilot.press("f7", "f7")
        assert "kernel_id, name" in app.screen.query_one("#sql", TextArea).text


async def test_all_rows_go_to_a_file(app: ViewApp, tmp_path: Path) -> None:
    async with app.run_test(size=(160, 48)) as pilot:
        await settled(pilot)
        await pilot.press("4")
        await settled(pilot)
        await ask(pilot, "SELECT 1 AS n")
        await pilot.press("ctrl+s")
        await pilot.pause()
        app.screen.query_one("#asked", Input).value = str(tmp_path / "out.csv")
        await pilot.press("enter")
        await settled(pilot)
        assert (tmp_path / "out.csv").read_text(encoding="utf-8") == "n\n1\n"
        assert text_of(app, "#query-note").startswith("1 row written to")


def test_files_hold_no_formulas_and_replace_nothing(profile: Path, tmp_path: Path) -> None:
    sql = "SELECT '=1+1' AS a, '@x' AS b, 'a=b' AS c, -1 AS d, NULL AS e"
    target = tmp_path / "out.csv"
    assert rows.export(rows.Place(profile), sql, {}, target) == f"1 row written to {target}"
    assert target.read_text(encoding="utf-8") == "a,b,c,d,e\n'=1+1,'@x,a=b,-1,\n"
    with pytest.raises(RocperfError, match="already exists"):
        rows.export(rows.Place(profile), sql, {}, target)
    with pytest.raises(RocperfError, match="neither"):
        rows.export(rows.Place(profile), sql, {}, tmp_path / "out.xls")
    rows.export(rows.Place(profile), sql, {}, tmp_path / "out.parquet")
    assert pl.read_parquet(tmp_path / "out.parquet")["a"].to_list() == ["=1+1"]


def test_cells_are_text_of_one_width_where_they_are_numbers() -> None:
    frame = pl.DataFrame(
        {"n": [1, None, 100], "x": [0.5, None, float("nan")], "t": ["a", None, ""]}
    )
    cells = rows.cells_of(frame)
    assert cells["n"].to_list() == ["  1", "  –", "100"]
    assert [cell.strip() for cell in cells["x"].to_list()] == ["0.5", "–", "nan"]
    assert cells["t"].to_list() == ["a", "–", ""]


def test_a_bar_is_full_up_to_the_value_and_marks_the_limit() -> None:
    # 30 cells: a value of half the limit fills 15 of them, and the limit is the last cell.
    assert bar(Measure("m", 20.0, "%", limit=40.0)) == "█" * 15 + "·" * 14 + "│"
    # A limit of half the value stands in the middle of a full bar: 29 / 2 rounds to 14.
    assert bar(Measure("m", 40.0, "%", limit=20.0)) == "█" * 14 + "│" + "█" * 15
    assert bar(Measure("m", 3.0, "%")) == ""
    assert bar(Measure("m", "text", "%", limit=3.0)) == ""
    assert bar(Measure("m", float("nan"), "%", limit=3.0)) == ""


async def test_no_line_of_a_query_holds_a_control_character(
    app: ViewApp, drawn: Callable[[App[None]], list[str]]
) -> None:
    async with app.run_test(size=(160, 48)) as pilot:
        await settled(pilot)
        await pilot.press("4")
        await settled(pilot)
        await ask(pilot, "SELECT name, name AS again FROM kernels")
        assert not [c for line in drawn(app) for c in line if c < " " or c == "\u202e"]


def test_names_of_columns_are_shown_letter_by_letter() -> None:
    assert rows.cells_of(pl.DataFrame({"a\x1b[31m": [1]})).columns == ["a\\x1b[31m"]
