"""What plugin authors and rocperf's own tests test with.

Names are resolved when first used: importing this package loads nothing else.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocperf.testing.builder import TraceBuilder, ms, us
    from rocperf.testing.contract import AnalysisContract
    from rocperf.testing.simulator import SCENARIOS, generate, profile
    from rocperf.testing.standin import install, played_machine

#: Public name -> module of this package that holds it.
_HOMES = {
    "AnalysisContract": "contract",
    "TraceBuilder": "builder",
    "ms": "builder",
    "us": "builder",
    "SCENARIOS": "simulator",
    "generate": "simulator",
    "profile": "simulator",
    "install": "standin",
    "played_machine": "standin",
}

__all__ = [
    "SCENARIOS",
    "AnalysisContract",
    "TraceBuilder",
    "generate",
    "install",
    "ms",
    "played_machine",
    "profile",
    "us",
]


def __getattr__(name: str) -> object:
    """Import the module that holds a public name."""
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
