"""The table of cases has a row for each case, and each test that it names is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from .conftest import ROOT, cases_folder

ROW = re.compile(r"^\| ([A-Z]\d\d) \| (?:`([\w/]+\.py)::(\w+)`|(open)) \|$", re.MULTILINE)
# A case that gets a test leaves this list; none may be added.
OPEN = ["K05", "K19", "O05", "M06", "S01", "S02", "U04", "H20"]


def rows() -> list[tuple[str, str, str, str]]:
    return ROW.findall((Path(__file__).parent / "README.md").read_text(encoding="utf-8"))


def test_each_case_has_one_row() -> None:
    found = [row[0] for row in rows()]
    assert len(found) == len(set(found)) == 103
    text = cases_folder() / "cases.md"
    if text.is_file():
        assert found == re.findall(r"^### ([A-Z]\d\d): ", text.read_text(encoding="utf-8"), re.M)


def test_each_named_test_is_there() -> None:
    for case, file, name, _ in rows():
        if file:
            tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
            kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
            assert name in {n.name for n in tree.body if isinstance(n, kinds)}, case


def test_cases_without_a_test_are_those_that_are_known() -> None:
    assert [row[0] for row in rows() if row[3]] == OPEN
