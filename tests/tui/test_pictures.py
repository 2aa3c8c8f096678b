"""Pictures of the screens: SVG at two sizes and in two themes, and the one that README shows."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from textual.pilot import Pilot

from rocperf import pipeline
from rocperf.ingest.load import ingest
from rocperf.model import Outcome
from rocperf.tui import ViewApp

ROOT = Path(__file__).parents[2]
PICTURES = Path(__file__).parent / "pictures"
LOOKS = [((80, 24), "textual-dark"), ((160, 48), "textual-light")]


@pytest.fixture(autouse=True)
def colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw in colour, whatever the tests run in."""
    monkeypatch.delenv("NO_COLOR", raising=False)


async def settled(pilot: Pilot[None]) -> None:
    for _ in range(4):
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()
    await pilot.pause(0.3)


def check(app: ViewApp, path: Path) -> None:
    """Hold what the screen looks like against a file.

    With ROCPERF_UPDATE_SNAPSHOTS set it writes the file instead: look at it before you commit.
    """
    # The id of a picture is made of its content, and no part of how it looks.
    svg = re.sub(r"terminal-\d+", "terminal", app.export_screenshot())
    # A picture loads nothing from elsewhere: it takes the font that the reader has.
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    svg = "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"
    if os.environ.get("ROCPERF_UPDATE_SNAPSHOTS"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(svg, encoding="utf-8")
    assert svg == path.read_text(encoding="utf-8")


@pytest.mark.parametrize(("size", "theme"), LOOKS)
@pytest.mark.parametrize(
    ("name", "keys"), [("findings", "1"), ("kernels", "2"), ("timeline", "5"), ("runs", "7")]
)
async def test_each_screen_looks_so(
    profile: Path,
    outcomes: tuple[Outcome, ...],
    size: tuple[int, int],
    theme: str,
    name: str,
    keys: str,
) -> None:
    app = ViewApp(profile, outcomes, lambda _: ())
    app.theme = theme
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        await pilot.press(keys)
        await settled(pilot)
        check(app, PICTURES / f"{name}-{size[0]}x{size[1]}-{theme}.svg")


@pytest.mark.parametrize("keys", "123567")
async def test_each_screen_is_drawn_without_colour(
    profile: Path, outcomes: tuple[Outcome, ...], keys: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = ViewApp(profile, outcomes, lambda _: ())
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press(keys)
        await settled(pilot)
        found = {
            colour.get_truecolor()
            for widget in app.screen.query("*")
            if widget.is_on_screen and widget.size.area and not widget.children
            for strip in widget.render_lines(widget.size.region)
            for segment in strip
            if segment.style
            for colour in (segment.style.color, segment.style.bgcolor)
            if colour
        }
        assert found
        assert all(red == green == blue for red, green, blue in found)


async def test_the_picture_of_the_readme_is_of_a_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = ingest([ROOT / "sample_traces" / "pageable_copies"], tmp_path / "app.rocperf")
    outcomes = pipeline.analyze(path).outcomes
    app = ViewApp(path, outcomes, lambda _: ())
    async with app.run_test(size=(120, 30)) as pilot:
        await settled(pilot)
        check(app, ROOT / "docs" / "images" / "findings.svg")


def test_the_readme_shows_it() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "](docs/images/findings.svg)" in text
