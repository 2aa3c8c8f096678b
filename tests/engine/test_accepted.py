"""Findings that are accepted: where that is kept, what it changes, how it is taken back."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from rocperf.cli import main
from rocperf.engine import accepted
from rocperf.engine.accepted import Acceptance
from rocperf.errors import ConfigError
from rocperf.model import Finding, Subject
from rocperf.store import Store

PLUGIN = """
import rocperf

class Always(rocperf.Analysis[rocperf.Options]):
    id, title = "always", "Always something"

    def run(self, profile):
        yield rocperf.Finding(rule="always/half", subject=rocperf.Subject("kernel", "gemm(int*)"),
            title="half of it is lost", advice="Mend it.", saves_ns=500, reasoning="By hand.")

@rocperf.hookimpl
def rocperf_analyses(): return [Always]
"""
ODD = 'gemm<"a\\b", [x]>\n\x7f\u202e😀'


def finding(rule: str, name: str) -> Finding:
    return Finding(
        rule=rule,
        subject=Subject("kernel", name),
        title="t",
        advice="a",
        saves_ns=None,
        reasoning="r",
    )


def acceptance(rule: str, name: str, reason: str = "measured on purpose") -> Acceptance:
    return Acceptance(rule, "kernel", name, reason, "2026-01-31")


def test_what_is_added_is_read_back_and_taken_back(tmp_path: Path) -> None:
    path = tmp_path / ".rocperf.toml"
    kept = "# ours\n[other]\nx = 1\n"
    path.write_text(kept, encoding="utf-8")
    accepted.add(path, acceptance("a/b", ODD))
    accepted.add(path, acceptance("a/c", "plain"))
    found = accepted.read(path)
    assert found == (acceptance("a/b", ODD), acceptance("a/c", "plain"))
    assert accepted.covering(found, finding("a/b", ODD)) == found[0]
    assert accepted.covering(found, finding("a/b", "plain")) is None
    accepted.remove(path, finding("a/b", ODD))
    assert accepted.read(path) == (acceptance("a/c", "plain"),)
    accepted.remove(path, finding("a/c", "plain"))
    assert path.read_text(encoding="utf-8") == kept


def test_a_second_word_on_a_finding_replaces_the_first(tmp_path: Path) -> None:
    path = tmp_path / ".rocperf.toml"
    accepted.add(path, acceptance("a/b", "k", "first"))
    accepted.add(path, acceptance("a/b", "k", "second"))
    assert [each.reason for each in accepted.read(path)] == ["second"]


def test_a_reason_is_wanted(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="for a reason"):
        accepted.add(tmp_path / ".rocperf.toml", acceptance("a/b", "k", " "))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[accepted]]\nrule = 'a/b'\n", "entry 1 of accepted has no kind"),
        ("accepted = 3\n", "accepted is no list"),
        ("accepted = [3]\n", "entry 1 of accepted has no rule"),
        ("rule = \n", "line 1"),
    ],
)
def test_what_is_broken_is_named_and_left(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / ".rocperf.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=said):
        accepted.add(path, acceptance("a/b", "k"))
    assert path.read_text(encoding="utf-8") == text


def test_the_nearest_file_within_the_repository_counts(tmp_path: Path) -> None:
    inner = tmp_path / "repo" / "src"
    inner.mkdir(parents=True)
    (tmp_path / ".rocperf.toml").write_text("", encoding="utf-8")
    assert accepted.place(inner) == inner / ".rocperf.toml"
    (tmp_path / "repo" / ".git").mkdir()
    (tmp_path / "repo" / ".rocperf.toml").write_text("", encoding="utf-8")
    assert accepted.place(inner) == tmp_path / "repo" / ".rocperf.toml"


def test_an_accepted_finding_is_counted_listed_and_does_not_fail_a_gate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    profile = tmp_path / "p.rocperf"
    with Store.create(profile) as store:
        names = {"kernel_id": [1], "name": ["gemm(int*)"], "group_name": ["gemm(int*)"]}
        store.append("kernels", pl.DataFrame(names | {"short_name": ["gemm"], "role": ["compute"]}))
        run = {"run_id": [1], "role": ["timing"], "status": ["complete"]}
        store.append("runs", pl.DataFrame(run | {"start_ns": [0], "end_ns": [1000]}))
        event = {"run_id": [1], "dispatch_id": [1], "kernel_id": [1]}
        store.append("all_dispatches", pl.DataFrame(event | {"start_ns": [0], "end_ns": [1000]}))
        store.commit()
    plugin = tmp_path / "always.py"
    plugin.write_text(PLUGIN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    only = ["analyze", str(profile), "--plugin", str(plugin), "--only", "always", "--quiet"]
    assert main([*only, "--fail-on", "minor"]) == 1
    capsys.readouterr()
    main([*only, "--format", "json"])
    document = json.loads(capsys.readouterr().out)
    assert document["accepted"] == []
    (found,) = document["outcomes"][0]["findings"]
    accepted.add(
        tmp_path / ".rocperf.toml",
        acceptance(found["rule"], found["subject"]["name"], "read once"),
    )
    assert main([*only, "--fail-on", "minor"]) == 0
    out = capsys.readouterr().out
    assert "1 finding is accepted in .rocperf.toml: --all lists them" in out
    assert found["title"] not in out
    main([*only, "--all"])
    assert "read once (2026-01-31)" in capsys.readouterr().out
    main([*only, "--format", "json"])
    document = json.loads(capsys.readouterr().out)
    assert [each["reason"] for each in document["accepted"]] == ["read once"]
    assert document["profile"]["covered_ns"] == 0
