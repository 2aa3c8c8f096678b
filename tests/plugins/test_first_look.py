"""What a first look at every kernel brings, and what takes further runs."""

from __future__ import annotations

from pathlib import Path

import pytest

import rocperf
from rocperf import PluginError, Requires, pipeline
from rocperf.plugin.foreign import describe, standin
from rocperf.plugin.loading import check
from rocperf.profile import Profile

FILE = """
import rocperf
class Deep(rocperf.Analysis[rocperf.Options]):
    id, title = "deep", "Deep"
    requires = rocperf.Requires(
        metrics=("waves",), optional=("tlb-hit-rate",), deep=("tlb-hit-rate",)
    )
    def run(self, profile): return ()
@rocperf.hookimpl
def rocperf_analyses(): return [Deep]
"""


def analysis(needs: Requires) -> type[rocperf.Analysis[rocperf.Options]]:
    class One(rocperf.Analysis[rocperf.Options]):
        id = "one"
        title = "One"
        requires = needs

        def run(self, profile: Profile) -> tuple[()]:
            return ()

    return One


def test_a_first_look_leaves_deep_metrics_out() -> None:
    needs = Requires(
        metrics=("waves",),
        any_of=((("coalescing",), ("lines-per-vmem", "l1-lines")),),
        optional=("tlb-hit-rate",),
        deep=("l1-lines", "tlb-hit-rate"),
    )
    assert needs.first_look() == ("waves", "coalescing", "lines-per-vmem")
    assert needs.every_metric() == (*needs.first_look(), "l1-lines", "tlb-hit-rate")


def test_they_are_asked_for_where_the_analysis_is_named(tmp_path: Path) -> None:
    path = tmp_path / "deep.py"
    path.write_text(FILE, encoding="utf-8")
    first = pipeline.metrics_needed(pipeline.Selection(files=(path,)))
    named = pipeline.metrics_needed(pipeline.Selection(files=(path,), only=("deep",)))
    assert "waves" in first
    assert "tlb-hit-rate" not in first
    assert named == ("waves", "tlb-hit-rate")
    assert pipeline.metrics_needed(
        pipeline.Selection(files=(path,), only=("deep",)), deep=False
    ) == ("waves",)


def test_a_metric_is_deep_only_if_it_is_required() -> None:
    check(analysis(Requires(optional=("waves",), deep=("waves",))))
    with pytest.raises(PluginError, match="'waves' as deep"):
        check(analysis(Requires(deep=("waves",))))


def test_an_analysis_of_another_process_keeps_it() -> None:
    needs = Requires(optional=("waves",), deep=("waves",))
    assert standin(describe(analysis(needs))).requires == needs
