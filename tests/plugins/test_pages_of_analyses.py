"""Each analysis that ships has a page that says what people need, in step with the code."""

from __future__ import annotations

import dataclasses
import re
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from rocperf.plugin import AnalysisType

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = DOCS / "explanation" / "analyses"
SECTIONS = [
    "What it asks",
    "Why it costs",
    "How it is measured",
    "How to fix",
    "False alarms",
]
SHIPPED: dict[str, AnalysisType] = {
    kind.id: kind
    for point in entry_points(group="rocperf")
    if point.value.startswith("rocperf_analyses.")
    for kind in point.load().rocperf_analyses()
}


def _sections(text: str) -> dict[str, str]:
    parts = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_pages_are_those_of_the_shipped_analyses() -> None:
    named = {path.stem for path in PAGES.glob("*.md")} - {"recorded-traces"}
    assert named == set(SHIPPED)
    assert len(named) > 30


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_page_has_its_sections_and_is_linked_from_the_reference(name: str) -> None:
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {name}\n\n{SHIPPED[name].title}.")
    sections = _sections(text)
    assert list(sections) == SECTIONS
    # A sentence is the least that such a section can say, and the first is a question.
    assert all(len(body.split()) >= 8 for body in sections.values())
    assert sections.pop("What it asks").rstrip().endswith("?")
    assert all("." in body for body in sections.values())
    reference = (DOCS / "reference" / "analyses.md").read_text(encoding="utf-8")
    assert f"(../explanation/analyses/{name}.md)" in reference


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_page_states_every_option_with_its_default(name: str) -> None:
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    stated = dict(re.findall(r"`([\w-]+\.\w+)=([^`\s]+)`", text))
    real = {
        f"{name}.{f.name}": f"{f.default}" for f in dataclasses.fields(SHIPPED[name].options_type)
    }
    assert stated == real


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_page_names_every_metric_that_decides(name: str) -> None:
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"metrics\.md#([\w-]+)\)", text))
    mentioned = {each for each in SHIPPED[name].requires.metrics if each in linked}
    # Operations by type are a dozen metrics of one kind, named by their kind.
    kinds = {each for each in SHIPPED[name].requires.metrics if "flops" in each or "fabric" in each}
    assert set(SHIPPED[name].requires.metrics) == mentioned | kinds


def test_table_of_recorded_traces_has_a_row_for_each_analysis_and_explains_its_letters() -> None:
    text = (PAGES / "recorded-traces.md").read_text(encoding="utf-8")
    traces = re.findall(r"^\d+\. `", text, flags=re.MULTILINE)
    rows = re.findall(r"^\| \[([\w-]+)\]\(\1\.md\) \|(.*)\|$", text, flags=re.MULTILINE)
    assert [name for name, _ in rows] == sorted(SHIPPED)
    explained = set(re.findall(r"^\| ([a-z]{1,2}) \| \w", text, flags=re.MULTILINE))
    for _, row in rows:
        cells = [cell.strip() for cell in row.split("|")]
        assert len(cells) == len(traces)
        for cell in cells:
            assert cell == "·" or cell.isdigit() or set(cell.split(", ")) <= explained
