"""The glossary: every word has a text and sources, and leads somewhere."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import rocperf.hardware
from rocperf.hardware import known_targets, target_facts
from rocperf.hardware.terms import find_term, plain_name, term_source, terms

HERE = Path(rocperf.hardware.__file__).parent
TOML: dict[str, Any] = tomllib.loads((HERE / "terms.toml").read_text(encoding="utf-8"))
GPUS: dict[str, Any] = tomllib.loads((HERE / "gpus.toml").read_text(encoding="utf-8"))
KEYS = {"group", "written", "also", "text", "caveat", "figures", "see", "source"}


def test_every_term_is_written_in_sentences_and_has_sources() -> None:
    known = set(TOML["sources"]) | set(GPUS["sources"])
    for name, row in TOML["term"].items():
        assert set(row) <= KEYS, name
        assert row["text"].endswith("."), name
        assert row["text"][0].isupper() or row["text"].startswith("rocprofiler"), name
        assert not row.get("caveat") or row["caveat"].endswith("."), name
        assert {key.strip() for key in row["source"].split(",")} <= known, name
        assert name == plain_name(row.get("written", name)), name


def test_every_source_is_used_and_none_is_told_twice() -> None:
    used = {key.strip() for row in TOML["term"].values() for key in row["source"].split(",")}
    assert set(TOML["sources"]) <= used
    assert set(TOML["sources"]) & set(GPUS["sources"]) == set()


def test_no_name_stands_for_two_terms() -> None:
    names = [
        plain_name(each)
        for name, row in TOML["term"].items()
        for each in (name, *row.get("also", ()))
    ]
    assert sorted(names) == sorted(set(names))


def test_every_figure_is_one_of_a_gpu() -> None:
    figures: set[str] = set()
    for target in known_targets():
        facts = target_facts(target)
        assert facts is not None
        figures |= set(facts.figures)
        figures |= {name for product in facts.products for name in product.figures}
    for term in terms().values():
        assert set(term.figures) <= figures, term.name


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("VGPR", "vgpr"),
        ("Shared Memory", "lds"),
        ("shared_memory", "lds"),
        ("wavefront", "wave"),
        ("warp", "wave"),
        ("XCD", "xcc"),
        ("TCP", "l1"),
        ("tcc", "l2"),
        ("CPX", "partition-mode"),
        ("thread block", "workgroup"),
        ("MALL", "infinity-cache"),
        ("AccVGPR", "agpr"),
    ],
)
def test_terms_are_found_by_any_of_their_names(asked: str, name: str) -> None:
    term = find_term(asked)
    assert term is not None
    assert term.name == name


def test_unknown_terms_are_none() -> None:
    assert find_term("tensor core") is None
    assert find_term("") is None


def test_sources_are_spelt_out() -> None:
    term = find_term("bank")
    assert term is not None
    assert "AMDGPU.td" in term_source(term)
    assert "CDNA4 GEMM kernels" in term_source(term)


def test_reading_them_loads_no_third_party() -> None:
    code = (
        "import sys; from rocperf.hardware.terms import terms; terms();"
        "print([m for m in ('duckdb', 'polars', 'pyarrow', 'textual', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
