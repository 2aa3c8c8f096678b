"""What is said of analyses that could not judge."""

from __future__ import annotations

from rocperf.model import Skipped
from rocperf.report.unjudged import unjudged_lines

COLLECT = "rocperf collect --for {} -- ./app"
LANES = "active-lanes (not available on gfx1201)"


def skipped(name: str, *missing: str) -> Skipped:
    return Skipped(name, missing, COLLECT.format(name))


def text(*outcomes: Skipped, verbose: bool = False) -> str:
    return " ".join(" ".join(unjudged_lines(outcomes, 80, verbose=verbose)).split())


def test_analyses_that_a_gpu_has_no_counters_for_are_one_line() -> None:
    outcomes = (
        skipped("divergence", LANES),
        skipped("tail-effect", "counters SQ_WAVES", "busy-cus (not available on gfx1201)"),
    )
    short = text(*outcomes)
    assert short == (
        "Could not be judged: divergence, tail-effect: needs counters that gfx1201 does not have "
        "(-v names them)"
    )
    assert "active-lanes" in text(*outcomes, verbose=True)


def test_an_analysis_with_another_way_is_told_how_to_be_judged() -> None:
    either = "conflicts (not available on gfx1201) or counters SQ_INSTS_LDS"
    said = text(skipped("lds-bank-conflicts", either))
    assert either in said
    assert "rocperf collect --for lds-bank-conflicts -- ./app" in said
