"""When counters of a pass say that their clock stood still."""

from __future__ import annotations

import pytest

from rocperf.collect.verify import Seen


@pytest.mark.parametrize(
    ("counters", "gated"),
    [
        ({"SQ_WAVES": 9.0, "SQ_INSTS_VALU": 0.0, "SQ_WAVE_CYCLES": 0.0}, True),
        ({"SQ_WAVES": 9.0, "SQ_INSTS_VALU": 4.0, "SQ_WAVE_CYCLES": 0.0}, False),
        ({"SQ_WAVES": 0.0, "SQ_INSTS_VALU": 0.0, "SQ_WAVE_CYCLES": 0.0}, False),
        # A program that has no operation on F16: its other counters are in other passes.
        ({"SQ_WAVES": 9.0, "SQ_INSTS_VALU_ADD_F16": 0.0, "SQ_INSTS_VALU_FMA_F16": 0.0}, False),
    ],
)
def test_only_counters_that_every_kernel_raises_tell(
    counters: dict[str, float], gated: bool
) -> None:
    assert Seen((), counters=counters).gated is gated
