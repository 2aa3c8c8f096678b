"""Run a program under rocprofv3: find it, plan passes, run them, verify what came back."""

from __future__ import annotations

from rocperf.collect import events
from rocperf.collect.describe import describe
from rocperf.collect.plan import Plan, prepare
from rocperf.collect.request import Request
from rocperf.collect.run import Collected, collect

__all__ = ["Collected", "Plan", "Request", "collect", "describe", "events", "prepare"]
