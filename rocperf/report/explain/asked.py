"""Analyses explained: what each asks, what it needs, its options."""

from __future__ import annotations

import inspect

from rocperf.plugin import AnalysisType, describe_options
from rocperf.report.explain.layout import block, entry, heading, paragraph


def analysis_text(kind: AnalysisType) -> str:
    """Explain an analysis."""
    paragraphs = inspect.cleandoc(kind.__doc__ or "").split("\n\n")
    options = [
        paragraph(line.strip(), 4)
        for line in describe_options(kind.id, kind).splitlines()
        if line.strip()
    ]
    return block(
        (
            heading(kind.id, "analysis"),
            paragraph(f"{kind.title}."),
            *(paragraph(each) for each in paragraphs if each),
            entry("Needs", _needs(kind)),
            entry("Sharper with", ", ".join(kind.requires.optional)),
            entry("Not in a first look", ", ".join(kind.requires.deep)),
            entry("To collect what it needs", f"rocperf collect --for {kind.id} -- ./app"),
            "  Options:" if options else "",
            *options,
        )
    )


def _needs(kind: AnalysisType) -> str:
    requires = kind.requires
    needs = [f"table {name}" for name in requires.tables]
    needs += [f"column {name}" for name in requires.columns]
    needs += [f"metric {name}" for name in requires.metrics]
    needs += [
        " or ".join("metric " + " with ".join(each) for each in group) for group in requires.any_of
    ]
    return "; ".join(needs) or "nothing"
