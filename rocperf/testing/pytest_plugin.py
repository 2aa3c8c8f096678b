"""Fixtures for plugin authors. Imports stay inside: pytest loads this at every start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from rocperf.testing.builder import TraceBuilder


@pytest.fixture
def trace() -> TraceBuilder:
    """Return an empty trace to add events to."""
    from rocperf.testing.builder import TraceBuilder

    return TraceBuilder()
