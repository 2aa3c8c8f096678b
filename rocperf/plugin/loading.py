"""Import a plugin and ask it for its analyses. What is not ours is imported in a worker only."""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
from collections.abc import Iterable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import TypeGuard

import pluggy

from rocperf.errors import PluginError
from rocperf.model import Requires
from rocperf.plugin.analysis import GROUP, Analysis, AnalysisType, Hooks, Options
from rocperf.schema import BY_NAME

#: How another process can load a plugin: ``("entry", "module:attribute")`` or ``("file", path)``.
Address = tuple[str, str]

_PLAIN = (bool, int, float, str)


def load(address: Address) -> list[AnalysisType]:
    """Import a plugin and return its analyses.

    Raises
    ------
    PluginError
        If it provides none, or something that is not one.
    Exception
        Whatever the plugin's own code raises.
    """
    kind, value = address
    plugin = _load_file(Path(value)) if kind == "file" else _load_entry(value)
    return analyses_of(plugin)


def _load_entry(value: str) -> object:
    plugin: object = EntryPoint("plugin", value, GROUP).load()
    return plugin


def _load_file(path: Path) -> object:
    name = f"rocperf_plugin_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PluginError(f"{path} is not a Python file", hint="it must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look up the module that they are written in
    spec.loader.exec_module(module)
    return module


def analyses_of(plugin: object) -> list[AnalysisType]:
    """Ask one plugin for its analyses.

    Raises
    ------
    PluginError
        If it has no hook, a misspelled one, or one that returns something else.
    """
    manager = pluggy.PluginManager(GROUP)
    manager.add_hookspecs(Hooks)
    manager.register(plugin)
    try:
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        raise PluginError(str(error), hint="is the hook's name spelled as documented?") from error
    found: list[AnalysisType] = []
    groups: list[Iterable[object]] = manager.hook.rocperf_analyses()
    for group in groups:
        for kind in group:
            if not _is_analysis(kind):
                raise PluginError(f"{kind!r} is not a subclass of rocperf.Analysis")
            check(kind)
            if kind.id in {each.id for each in found}:
                raise PluginError(f"it provides {kind.id!r} twice")
            found.append(kind)
    if not found:
        raise PluginError("it provides no analysis", hint="implement rocperf_analyses")
    return found


def _is_analysis(kind: object) -> TypeGuard[AnalysisType]:
    return isinstance(kind, type) and issubclass(kind, Analysis)


def check(kind: AnalysisType) -> None:
    """Refuse needs that no profile can meet, and options that no text can set.

    Raises
    ------
    PluginError
        Naming the table, column, metric or option.
    """
    requires = kind.requires
    tables = [*requires.tables, *(column.partition(".")[0] for column in requires.columns)]
    for table in tables:
        if table not in BY_NAME:
            raise PluginError(f"{kind.id} requires the table {table!r}, which profiles do not have")
    for column in requires.columns:
        table, _, name = column.partition(".")
        if name not in BY_NAME[table].column_names:
            raise PluginError(f"{kind.id} requires {column!r}, but {table} has no such column")
    _check_metrics(kind.id, requires)
    _check_options(kind.id, kind.options_type)


def _check_metrics(name: str, requires: Requires) -> None:
    wanted = requires.every_metric()
    if not wanted and not requires.deep:
        return
    from rocperf.metrics.catalogue import metrics

    for metric in sorted(set(wanted) - set(metrics())):
        raise PluginError(f"{name} requires the metric {metric!r}, which the catalogue lacks")
    for metric in sorted(set(requires.deep) - set(wanted)):
        raise PluginError(f"{name} names {metric!r} as deep, but does not require it otherwise")


def _check_options(name: str, options: type[Options]) -> None:
    for field in dataclasses.fields(options):
        if not isinstance(field.default, _PLAIN):
            raise PluginError(
                f"{name}.{field.name}: an option needs a default of type bool, int, float or str"
            )
