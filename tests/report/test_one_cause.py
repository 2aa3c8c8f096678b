"""Findings with one root cause stand together on a screen."""

from __future__ import annotations

from rocperf.model import Finding, RankedFinding, Severity, Subject
from rocperf.report.terminal import one_cause


def ranked(
    rule: str, saves: int | None, *, kernel: str = "k", symptom: bool = False
) -> RankedFinding:
    finding = Finding(
        rule=rule,
        subject=Subject("kernel", kernel, {"kernel_id": 1}),
        title=rule,
        advice="a",
        saves_ns=saves,
        reasoning="r",
        symptom=symptom,
    )
    return RankedFinding(finding, Severity.MINOR, None)


def rules(*findings: RankedFinding) -> list[list[str]]:
    return [[each.finding.rule for each in group] for group in one_cause(findings)]


def test_a_symptom_goes_with_the_costliest_cause_of_its_kernel() -> None:
    waits = ranked("latency-bound/waiting", 90, symptom=True)
    vgpr, strided = ranked("occupancy/vgpr", 50), ranked("coalescing/uncoalesced", 40)
    assert rules(waits, vgpr, strided) == [
        ["occupancy/vgpr", "latency-bound/waiting"],
        ["coalescing/uncoalesced"],
    ]


def test_a_symptom_without_a_cause_stands_alone() -> None:
    waits = ranked("latency-bound/waiting", 90, symptom=True)
    other = ranked("occupancy/vgpr", 50, kernel="another")
    hint = ranked("register-spills/scratch", None)
    assert rules(waits, other, hint) == [
        ["latency-bound/waiting"],
        ["occupancy/vgpr"],
        ["register-spills/scratch"],
    ]


def test_two_symptoms_of_one_kernel_keep_their_rank() -> None:
    far = ranked("roofline/far", 95, symptom=True)
    waits = ranked("latency-bound/waiting", 90, symptom=True)
    cause = ranked("occupancy/vgpr", 50)
    assert rules(far, waits, cause) == [["occupancy/vgpr", "roofline/far", "latency-bound/waiting"]]
