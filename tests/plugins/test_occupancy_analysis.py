"""The occupancy analysis on traces built by hand."""

from __future__ import annotations

from rocperf.testing import TraceBuilder, ms
from rocperf.testing.contract import AnalysisContract
from rocperf_analyses.occupancy import OccupancyLimits

LAUNCH = {"workgroup_size": 256, "grid_size": 256 * 304 * 64, "lds_bytes": 0, "sgpr": 32}


class TestOccupancyContract(AnalysisContract):
    analysis = OccupancyLimits

    def flagged(self, trace: TraceBuilder) -> TraceBuilder:
        return trace.dispatch("heavy", start=0, duration=ms(5), vgpr=256, agpr=0, **LAUNCH)

    def healthy(self, trace: TraceBuilder) -> TraceBuilder:
        return trace.dispatch("light", start=0, duration=ms(5), vgpr=64, agpr=0, **LAUNCH)
