"""Options of analyses as text: ``id.option=value`` read, and described for people."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from rocperf.errors import ConfigError
from rocperf.plugin.analysis import Analysis, AnalysisType

_WORDS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def configure(
    chosen: Mapping[str, AnalysisType], settings: Sequence[str]
) -> dict[str, Analysis[Any]]:
    """Make analyses with their options.

    Parameters
    ----------
    chosen
        Analyses by id.
    settings
        Each ``id.option=value``; of one option named twice the last counts.

    Raises
    ------
    ConfigError
        If an id, an option or a value is wrong.
    """
    values: dict[str, dict[str, Any]] = {name: {} for name in chosen}
    for setting in settings:
        left, separator, text = setting.partition("=")
        name, dot, key = left.partition(".")
        if not separator or not dot:
            raise ConfigError(
                f"{setting!r} is not id.option=value", hint="such as -O occupancy.low=0.25"
            )
        if name not in chosen:
            raise ConfigError(f"there is no analysis {name!r}", hint=f"one of: {', '.join(chosen)}")
        values[name][key] = _convert(chosen[name], name, key, text)
    return {name: _make(kind, name, values[name]) for name, kind in chosen.items()}


def _make(kind: AnalysisType, name: str, values: Mapping[str, Any]) -> Analysis[Any]:
    try:
        return kind(kind.options_type(**values))
    except ConfigError as error:
        raise ConfigError(f"{name}.{error.message}", hint=error.hint) from error


def _convert(kind: AnalysisType, name: str, key: str, text: str) -> object:
    fields = {field.name: field for field in dataclasses.fields(kind.options_type)}
    if key not in fields:
        known = ", ".join(fields) or "none"
        raise ConfigError(f"{name} has no option {key!r}", hint=f"its options: {known}")
    default: Any = fields[key].default
    if isinstance(default, bool):
        if text.lower() in _WORDS:
            return _WORDS[text.lower()]
    else:
        try:
            return type(default)(text)
        except ValueError:
            pass
    raise ConfigError(
        f"{name}.{key} = {text!r} is not {_KINDS[type(default)]}",
        hint=fields[key].metadata.get("help", ""),
    )


_KINDS: dict[type, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
}


def describe_options(name: str, kind: AnalysisType) -> str:
    """Return one line an option: how to set it, its default, unit and meaning."""
    lines: list[str] = []
    for field in dataclasses.fields(kind.options_type):
        unit = f" {field.metadata['unit']}" if field.metadata.get("unit") else ""
        help_text = field.metadata.get("help", "")
        lines.append(f"  -O {name}.{field.name}={field.default}{unit}: {help_text}\n")
    return "".join(lines)
