"""Outcomes as plain dictionaries, in the layout of ``rocperf.findings/1``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rocperf.model import Completed, Failed, Outcome, RankedFinding, Severity, Skipped
from rocperf.plugin.wire import finding_from_dict, finding_to_dict


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
    KeyError, ValueError, TypeError, AttributeError
        If the dictionary is not one.
    """
    name = str(row["analysis"])
    match row["status"]:
        case "skipped":
            return Skipped(name, tuple(map(str, row["missing"])), row["command"])
        case "failed":
            return Failed(name, str(row["error"]))
        case "completed":
            return Completed(name, tuple(_ranked_from_dict(each) for each in row["findings"]))
        case status:
            raise ValueError(f"no outcome has the status {status!r}")


def _ranked_to_dict(ranked: RankedFinding) -> dict[str, Any]:
    more = {"severity": ranked.severity.word, "share": ranked.share}
    return finding_to_dict(ranked.finding) | more


def _ranked_from_dict(row: Mapping[str, Any]) -> RankedFinding:
    severity = Severity[str(row["severity"]).upper()]
    return RankedFinding(finding_from_dict(row), severity, row["share"])
