"""Analyses that are not ours, described by the worker and never imported in this process.

The main process knows of them what the command line, the planner and the reports need: id,
title, needs and options. `run` is the worker's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from rocperf.errors import PluginError
from rocperf.model import Requires
from rocperf.plugin.analysis import Analysis, AnalysisType, Options, option

if TYPE_CHECKING:
    from rocperf.profile import Profile

_OPTION_KEYS = ("help", "unit", "minimum", "maximum")


def describe(kind: AnalysisType) -> dict[str, Any]:
    """Return what the main process must know of an analysis, ready for JSON."""
    options = [
        {"name": field.name, "default": field.default}
        | {key: field.metadata[key] for key in _OPTION_KEYS if key in field.metadata}
        for field in dataclasses.fields(kind.options_type)
    ]
    return {
        "id": kind.id,
        "title": kind.title,
        "doc": kind.__doc__ or "",
        "requires": dataclasses.asdict(kind.requires),
        "options": options,
    }


def standin(row: Mapping[str, Any]) -> AnalysisType:
    """Make a class from a description: it can be configured and asked what it needs, not run.

    Parameters
    ----------
    row
        As `describe` returned it in the worker, after a trip through JSON.

    Raises
    ------
    PluginError
        If the description is not one.
    """
    try:
        fields = [_field(each) for each in row["options"]]
        options = dataclasses.make_dataclass("Options", fields, bases=(Options,), frozen=True)
        body: dict[str, Any] = {
            "__doc__": str(row["doc"]),
            "id": str(row["id"]),
            "title": str(row["title"]),
            "requires": _requires(row["requires"]),
            "options_type": options,
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise PluginError(f"it describes itself with garbage: {error!r}") from error
    made: AnalysisType = type("Foreign", (_Foreign,), body)
    return made


class _Foreign(Analysis[Options]):
    id = "foreign"
    title = "an analysis in another process"

    def run(self, profile: Profile) -> NoReturn:  # noqa: ARG002  # the base class's signature
        raise PluginError(f"{self.id} runs in a process of its own")


def _field(row: Mapping[str, Any]) -> tuple[str, Any, Any]:
    default: object = row["default"]
    known: dict[str, Any] = {"help": ""} | {key: row[key] for key in _OPTION_KEYS if key in row}
    return str(row["name"]), type(default), option(default, **known)


def _requires(row: Mapping[str, Any]) -> Requires:
    return Requires(
        tables=_texts(row["tables"]),
        columns=_texts(row["columns"]),
        metrics=_texts(row["metrics"]),
        any_of=tuple(tuple(_texts(each) for each in group) for group in row["any_of"]),
        optional=_texts(row["optional"]),
        deep=_texts(row["deep"]),
    )


def _texts(values: Sequence[object]) -> tuple[str, ...]:
    return tuple(map(str, values))
