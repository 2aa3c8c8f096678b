"""Findings and outcomes as plain dictionaries: for JSON, the cache and the worker."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rocperf.model import (
    Completed,
    Evidence,
    Failed,
    Finding,
    Measure,
    Outcome,
    Query,
    RankedFinding,
    Severity,
    Skipped,
    Subject,
)


def outcome_to_dict(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome in the layout of ``rocperf.findings/1``."""
    row: dict[str, Any] = {
        "analysis": outcome.analysis,
        "status": "completed",
        "findings": [],
        "missing": [],
        "command": None,
        "error": None,
    }
    match outcome:
        case Completed(findings=findings):
            row["findings"] = [_ranked_to_dict(each) for each in findings]
        case Skipped(missing=missing, command=command):
            row |= {"status": "skipped", "missing": list(missing), "command": command}
        case Failed(error=error):
            row |= {"status": "failed", "error": error}
    return row


def outcome_from_dict(row: Mapping[str, Any]) -> Outcome:
    """Rebuild an outcome from `outcome_to_dict`.

    Raises
    ------
    KeyError, ValueError, TypeError
        If the dictionary is not one.
    """
    name = str(row["analysis"])
    if row["status"] == "skipped":
        return Skipped(name, tuple(map(str, row["missing"])), row["command"])
    if row["status"] == "failed":
        return Failed(name, str(row["error"]))
    ranked = [
        RankedFinding(
            finding_from_dict(each), Severity[str(each["severity"]).upper()], each["share"]
        )
        for each in row["findings"]
    ]
    return Completed(name, tuple(ranked))


def finding_to_dict(finding: Finding) -> dict[str, Any]:
    """Return a finding, without severity."""
    subject = finding.subject
    return {
        "rule": finding.rule,
        "subject": {**subject.details, "kind": subject.kind, "name": subject.name},
        "title": finding.title,
        "advice": finding.advice,
        "saves_ns": finding.saves_ns,
        "reasoning": finding.reasoning,
        "confidence": finding.confidence,
        "doubts": list(finding.doubts),
        "evidence": [_evidence_to_dict(each) for each in finding.evidence],
        "command": finding.command,
    }


def finding_from_dict(row: Mapping[str, Any]) -> Finding:
    """Rebuild a finding from `finding_to_dict`."""
    details = {k: v for k, v in row["subject"].items() if k not in ("kind", "name")}
    return Finding(
        rule=str(row["rule"]),
        subject=Subject(str(row["subject"]["kind"]), str(row["subject"]["name"]), details),
        title=str(row["title"]),
        advice=str(row["advice"]),
        saves_ns=row["saves_ns"],
        reasoning=str(row["reasoning"]),
        confidence=row["confidence"],
        doubts=tuple(map(str, row["doubts"])),
        evidence=tuple(_evidence_from_dict(each) for each in row["evidence"]),
        command=row["command"],
    )


def _ranked_to_dict(ranked: RankedFinding) -> dict[str, Any]:
    more = {"severity": ranked.severity.word, "share": ranked.share}
    return finding_to_dict(ranked.finding) | more


def _evidence_to_dict(evidence: Evidence) -> dict[str, Any]:
    if isinstance(evidence, Query):
        return {
            "kind": "query",
            "label": evidence.label,
            "sql": evidence.sql,
            "params": {key: _plain(value) for key, value in evidence.params.items()},
        }
    return {
        "kind": "measure",
        "name": evidence.name,
        "value": _plain(evidence.value),
        "unit": evidence.unit,
        "limit": _plain(evidence.limit),
    }


def _evidence_from_dict(row: Mapping[str, Any]) -> Evidence:
    if row["kind"] == "query":
        return Query(str(row["label"]), str(row["sql"]), dict(row["params"]))
    return Measure(str(row["name"]), row["value"], str(row["unit"]), row["limit"])


def _plain(value: object) -> Any:
    """Reduce a value to what JSON can hold; a number that is none becomes its name."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)
