"""Findings as plain dictionaries: for JSON, the cache and the worker; checked when read back."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, cast

from rocperf.model import Confidence, Evidence, Finding, Measure, Query, Subject

#: Findings that one analysis may return. A choice of ours: nobody reads more, and a plugin that
#: yields without end must not fill the memory.
MOST_FINDINGS = 10_000


def finding_to_dict(finding: Finding) -> dict[str, Any]:
    """Return a finding, without severity."""
    subject = finding.subject
    details = {str(key): _plain(value) for key, value in subject.details.items()}
    return {
        "rule": finding.rule,
        "subject": {**details, "kind": subject.kind, "name": subject.name},
        "title": finding.title,
        "advice": finding.advice,
        "saves_ns": finding.saves_ns,
        "reasoning": finding.reasoning,
        "confidence": finding.confidence,
        "doubts": list(finding.doubts),
        "evidence": [_evidence_to_dict(each) for each in finding.evidence],
        "command": finding.command,
        "symptom": finding.symptom,
    }


def finding_from_dict(row: Mapping[str, Any]) -> Finding:
    """Rebuild a finding from `finding_to_dict`.

    Raises
    ------
    KeyError, TypeError, ValueError, AttributeError
        If the dictionary is not one.
    """
    subject = row["subject"]
    details = {key: value for key, value in subject.items() if key not in ("kind", "name")}
    return Finding(
        rule=_text(row, "rule"),
        subject=Subject(_text(subject, "kind"), _text(subject, "name"), details),
        title=_text(row, "title"),
        advice=_text(row, "advice"),
        saves_ns=_saving(row["saves_ns"]),
        reasoning=_text(row, "reasoning"),
        confidence=_confidence(row["confidence"]),
        doubts=tuple(_texts(row, "doubts")),
        evidence=tuple(_evidence_from_dict(each) for each in row["evidence"]),
        command=None if row["command"] is None else _text(row, "command"),
        symptom=row.get("symptom") is True,
    )


def _text(row: Mapping[str, Any], key: str) -> str:
    value: object = row[key]
    if not isinstance(value, str):
        raise TypeError(f"{key} must be text, not {type(value).__name__}")
    return value


def _texts(row: Mapping[str, Any], key: str) -> Sequence[str]:
    values: list[object] = row[key]
    for value in values:
        if not isinstance(value, str):
            raise TypeError(f"{key} must be texts, not {type(value).__name__}")
    return [str(value) for value in values]


def _saving(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("saves_ns must be a whole number of at least 0, or None")
    return value


def _confidence(value: object) -> Confidence:
    if value == "low":
        return "low"
    if value == "medium":
        return "medium"
    if value == "high":
        return "high"
    raise ValueError(f"confidence must be low, medium or high, not {value!r}")


def _evidence_to_dict(evidence: Evidence) -> dict[str, Any]:
    if isinstance(evidence, Query):
        return {
            "kind": "query",
            "label": evidence.label,
            "sql": evidence.sql,
            "params": {str(key): _plain(value) for key, value in evidence.params.items()},
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
        return Query(_text(row, "label"), _text(row, "sql"), dict(row["params"]))
    if row["kind"] != "measure":
        raise ValueError("evidence must be a measure or a query")
    value, limit = row["value"], row["limit"]
    if not isinstance(value, int | float | str):
        raise TypeError(f"a measure must be a number or text, not {type(value).__name__}")
    if limit is not None and not isinstance(limit, int | float):
        raise TypeError(f"a limit must be a number, not {type(limit).__name__}")
    return Measure(_text(row, "name"), value, _text(row, "unit"), limit)


def _plain(value: object) -> Any:
    """Reduce a value to what JSON can hold; a number that is none becomes its name."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real | Decimal):
        number = float(value)
        return number if math.isfinite(number) else str(number)
    if isinstance(value, list | tuple):
        return [_plain(each) for each in cast("Iterable[object]", value)]
    return str(value)
