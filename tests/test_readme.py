"""What the README shows works as shown."""

from __future__ import annotations

import re
from pathlib import Path

from rocperf.plugin import Plugins

README = Path(__file__).resolve().parent.parent / "README.md"

INSTALL = "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/rocperf demo"
TEST = ".venv/bin/pip install '.[test]' && .venv/bin/pytest"


def blocks(language: str) -> list[str]:
    """Return the code blocks of one language."""
    text = README.read_text(encoding="utf-8")
    found: list[str] = re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return found


def test_both_commands_stand_there_on_lines_of_their_own() -> None:
    shell = "".join(blocks("sh")).splitlines()
    assert INSTALL in shell
    assert TEST in shell


def test_the_picture_is_what_the_demo_prints() -> None:
    """The tutorial's output is kept current by a check; the README shows a part of it."""
    (picture,) = blocks("text")
    tutorial = README.parent / "docs" / "tutorials" / "first-profile.md"
    printed = tutorial.read_text(encoding="utf-8").splitlines()
    lines = [line for line in picture.splitlines() if line and not line.startswith("$ ")]
    assert len(lines) > 5
    assert [line for line in lines if line not in printed] == []


def test_the_plugin_has_twelve_lines_and_loads(tmp_path: Path) -> None:
    (code,) = blocks("python")
    assert len([line for line in code.splitlines() if line.strip()]) <= 12
    file = tmp_path / "short_kernels.py"
    file.write_text(code, encoding="utf-8")
    plugins = Plugins()
    plugins.add_file(file)
    (row,) = plugins.rows()
    assert row.error is None
    assert row.analyses == ("short-kernels",)


def test_every_analysis_that_ships_is_named_once() -> None:
    text = README.read_text(encoding="utf-8")
    table = text[text.index("| about | analyses |") : text.index("[What each of them asks]")]
    named = [name for row in table.splitlines()[2:] for name in row.split("|")[2:3]]
    listed = [name.strip() for cell in named for name in cell.split(",") if name.strip()]
    rows = Plugins.installed().rows()
    shipped = [name for row in rows if row.origin == "rocperf" for name in row.analyses]
    assert sorted(listed) == sorted(shipped)
