"""rocperf: ask a HIP program where its time goes on an AMD GPU, and what to change.

The public names are resolved on first use (PEP 562), so that ``rocperf --help`` pays for
neither DuckDB nor polars.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rocperf.collect.region import region
    from rocperf.errors import ConfigError, InputError, PluginError, RocperfError, UnjudgedError
    from rocperf.hardware import (
        Gpu,
        fill,
        host_link,
        next_steps,
        peer_link,
        reported_resources,
        resident_occupancy,
        target_facts,
    )
    from rocperf.model import Confidence, Finding, Measure, Query, Requires, Severity, Subject
    from rocperf.plugin import Analysis, Options, hookimpl, option
    from rocperf.profile import Profile
    from rocperf.profile import open_profile as open  # noqa: A004

__version__ = "0.1.0"

_HOMES = {
    "rocperf.collect.region": ("region",),
    "rocperf.errors": (
        "ConfigError",
        "InputError",
        "PluginError",
        "RocperfError",
        "UnjudgedError",
    ),
    "rocperf.hardware": (
        "Gpu",
        "fill",
        "host_link",
        "next_steps",
        "peer_link",
        "reported_resources",
        "resident_occupancy",
        "target_facts",
    ),
    "rocperf.model": (
        "Confidence",
        "Finding",
        "Measure",
        "Query",
        "Requires",
        "Severity",
        "Subject",
    ),
    "rocperf.plugin": ("Analysis", "Options", "hookimpl", "option"),
    "rocperf.profile": ("Profile", "open"),
}

__all__ = [
    "Analysis",
    "Confidence",
    "ConfigError",
    "Finding",
    "Gpu",
    "InputError",
    "Measure",
    "Options",
    "PluginError",
    "Profile",
    "Query",
    "Requires",
    "RocperfError",
    "Severity",
    "Subject",
    "UnjudgedError",
    "__version__",
    "fill",
    "hookimpl",
    "host_link",
    "next_steps",
    "open",
    "option",
    "peer_link",
    "region",
    "reported_resources",
    "resident_occupancy",
    "target_facts",
]

_RENAMED = {"open": "open_profile"}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    for home, names in _HOMES.items():
        if name in names:
            value = getattr(import_module(home), _RENAMED.get(name, name))
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
