"""Findings as JSON: documented, versioned, never NaN.

The layout is described in ``docs/reference/findings-json.md``.
"""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import rocperf
from rocperf import engine

if TYPE_CHECKING:
    from rocperf.engine.accepted import Acceptance
    from rocperf.model import Finding
    from rocperf.pipeline import Result

#: Version of the layout.
SCHEMA = "rocperf.findings/1"


def render(result: Result) -> str:
    """Return the findings of every analysis as one JSON document.

    Parameters
    ----------
    result
        What `rocperf.pipeline.analyze` returned.
    """
    return json.dumps(document(result), indent=2, allow_nan=False, ensure_ascii=True) + "\n"


def document(result: Result) -> dict[str, Any]:
    """Return the same as nested dictionaries and lists."""
    summary = result.summary
    return {
        "schema": SCHEMA,
        "rocperf": rocperf.__version__,
        "profile": {
            "path": summary.path,
            "id": summary.id,
            "command": summary.command,
            "gpus": list(summary.gpus),
            "runs": summary.runs,
            "counter_runs": summary.counter_runs,
            "wall_ns": summary.wall_ns,
            "kernel_ns": summary.kernel_ns,
            "serialised": summary.serialised,
            "spent": None if summary.spent is None else dataclasses.asdict(summary.spent),
            "covered_ns": result.covered_ns,
            "dispatches": summary.dispatches,
            "kernels": summary.kernels,
            "copies": summary.copies,
            "region": summary.region,
            "notes": [
                {"severity": severity, "message": message, "rows": rows}
                for severity, message, rows in summary.notes
            ],
        },
        "outcomes": [engine.outcome_to_dict(outcome) for outcome in result.outcomes],
        "accepted": [_accepted(ranked.finding, why) for ranked, why in result.accepted],
    }


def _accepted(finding: Finding, why: Acceptance) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "subject": {"kind": finding.subject.kind, "name": finding.subject.name},
        "reason": why.reason,
        "date": why.date or None,
    }
