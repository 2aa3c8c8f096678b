"""Plugins: how one declares analyses and options, how they are loaded, where they run."""

from __future__ import annotations

from rocperf.plugin.analysis import (
    GROUP,
    Analysis,
    AnalysisType,
    Hooks,
    Options,
    hookimpl,
    hookspec,
    option,
)
from rocperf.plugin.registry import PluginRow, Plugins
from rocperf.plugin.settings import configure, describe_options

__all__ = [
    "GROUP",
    "Analysis",
    "AnalysisType",
    "Hooks",
    "Options",
    "PluginRow",
    "Plugins",
    "configure",
    "describe_options",
    "hookimpl",
    "hookspec",
    "option",
]
