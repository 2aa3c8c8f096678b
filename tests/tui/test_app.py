"""The screen, driven by keys at two sizes."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from textual.widgets import DataTable, Input, Static, TabbedContent

from rocperf.model import Completed, Finding, Measure, RankedFinding, Severity, Skipped, Subject
from rocperf.store import Store
from rocperf.tui import ViewApp

HOSTILE = "[@click=app.quit]gemm[/] \x1b[31m<int>"


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    """Return a profile of two kernels, one with a hostile name."""
    path = tmp_path / "p.rocperf"
    with Store.create(path) as store:
        names = [HOSTILE, "copy"]
        kernels = {"kernel_id": [1, 2], "name": names, "group_name": names, "short_name": names}
        store.append("kernels", pl.DataFrame(kernels | {"role": ["compute", "compute"]}))
        store.append(
            "runs", pl.DataFrame({"run_id": [1], "role": ["timing"], "status": ["complete"]})
        )
        rows = {
            "run_id": [1, 1],
            "dispatch_id": [1, 2],
            "kernel_id": [1, 2],
            "start_ns": [0, 3000],
            "end_ns": [3000, 4000],
        }
        store.append("all_dispatches", pl.DataFrame(rows))
        store.commit()
    return path


def outcomes() -> tuple[Completed, Skipped]:
    finding = Finding(
        rule="coalescing/uncoalesced",
        subject=Subject("kernel", HOSTILE),
        title=f"{HOSTILE} touches 64 lines",
        advice="Index with threadIdx.x last.",
        saves_ns=2000,
        reasoning="Traffic falls.",
        evidence=(Measure("lines", 64.0, "lines", limit=24.0),),
    )
    ranked = RankedFinding(finding, Severity.CRITICAL, 0.5)
    return Completed("coalescing", (ranked,)), Skipped(
        "occupancy", ("registers",), "rocperf collect"
    )


@pytest.mark.parametrize("size", [(80, 24), (160, 48)])
async def test_findings_detail_kernels_and_what_was_not_judged(
    profile: Path, size: tuple[int, int]
) -> None:
    app = ViewApp(profile, None, outcomes)
    async with app.run_test(size=size) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        table = app.query_one("#findings", DataTable)
        assert [str(cell) for cell in table.get_row_at(0)][:3] == [
            "critical",
            "2.00 µs 50.0 %",
            "coalescing/uncoalesced",
        ]
        detail = str(app.query_one("#detail-text", Static).content)
        assert "[@click=app.quit]gemm[/] \\x1b[31m<int> touches 64 lines" in detail
        assert "(limit 24)" in detail
        await pilot.press("2")
        assert app.query_one("#tabs", TabbedContent).active == "kernels-tab"
        kernels = app.query_one("#kernels", DataTable)
        assert [str(cell) for cell in kernels.get_row_at(0)][:3] == ["3.00 µs", "75.0 %", "1"]
        await pilot.press("3")
        assert "occupancy: needs registers" in str(app.query_one("#unjudged", Static).content)


async def test_the_search_filters_and_takes_brackets(profile: Path) -> None:
    app = ViewApp(profile, outcomes(), outcomes)
    async with app.run_test(size=(80, 24)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.press("2", "slash")
        app.query_one("#search", Input).value = "[@cl"
        await pilot.pause()
        assert app.query_one("#kernels", DataTable).row_count == 1
        app.query_one("#search", Input).value = "nothing of this"
        await pilot.pause()
        assert app.query_one("#kernels", DataTable).row_count == 0
        await pilot.press("escape")
        assert app.query_one("#kernels", DataTable).row_count == 2


async def test_a_failing_analysis_is_said_on_the_screen(profile: Path) -> None:
    def load() -> tuple[Completed, ...]:
        raise ValueError("broken [bold]")

    app = ViewApp(profile, None, load)
    async with app.run_test(size=(80, 24)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert "ValueError: broken [bold]" in str(app.query_one("#detail-text", Static).content)
