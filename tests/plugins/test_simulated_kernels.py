"""Kernels of the simulator that were written with a fault, beside ones without, end to end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rocperf import pipeline
from rocperf.ingest.load import ingest
from rocperf.model import Completed
from rocperf.testing.simulator.csv_files import write_csv
from rocperf.testing.simulator.gpus import GPUS
from rocperf.testing.simulator.kernels import Access, Kernel
from rocperf.testing.simulator.program import Program
from rocperf.testing.simulator.request import Request, Session, observe

#: It adds to neighbouring elements, with much arithmetic on each: nothing is wrong with it.
HEALTHY = Kernel(
    "healthy(float*, float const*, int)", valu=400, operations=(("FMA_F32", 300),),
    accesses=(Access("load", 4), Access("store", 4)),
)  # fmt: skip
SPILLING = replace(HEALTHY, name="spilling(float*, float const*, int)", scratch=320)
DIVERGENT = replace(HEALTHY, name="divergent(float*, float const*, int)", lanes=12)
COUNTERS = (
    ("SQ_WAVES", "GRBM_GUI_ACTIVE", "SQ_ACTIVE_INST_VALU", "SQ_THREAD_CYCLES_VALU", "SQ_WAIT_ANY",
     "SQ_WAVE_CYCLES", "SQ_BUSY_CU_CYCLES", "SQ_INSTS_VALU"),
    ("SQ_WAVES", "GRBM_GUI_ACTIVE", *(f"SQ_INSTS_VALU_{k}_F32" for k in
     ("ADD", "MUL", "TRANS", "FMA"))),
)  # fmt: skip
ASKED = ("register-spills", "divergence", "tail-effect")


def record(folder: Path, kernel: Kernel, number: int, counters: tuple[str, ...]) -> None:
    start = 1_000_000_000_000_000 + number * 10_000_000_000
    program = Program(GPUS["gfx942"], start, counted=bool(counters))
    for _ in range(3):
        program.launch(kernel, (64 << 20, 1, 1), (256, 1, 1))
    program.synchronize()
    domains = frozenset() if counters else frozenset({"kernel"})
    session = Session(4242 + number, command=("./app",), environment={})
    observed = observe(program.finish(), Request("7.0", domains, counters), session)
    write_csv(observed, folder / f"run_{number}" / str(session.pid))


@pytest.mark.parametrize(
    ("kernel", "rules"),
    [
        (HEALTHY, set()),
        (SPILLING, {"register-spills/scratch"}),
        (DIVERGENT, {"divergence/branches"}),
    ],
    ids=["healthy", "spilling", "divergent"],
)
def test_the_fault_is_found_and_nothing_else(
    tmp_path: Path, kernel: Kernel, rules: set[str]
) -> None:
    for number, counters in enumerate(((), *COUNTERS)):
        record(tmp_path / "raw", kernel, number, counters)
    path = ingest([tmp_path / "raw"], tmp_path / "app.rocperf")
    outcomes = pipeline.analyze(path, pipeline.Selection(only=ASKED)).outcomes
    found = {
        each.finding.rule: each.finding
        for outcome in outcomes
        if isinstance(outcome, Completed)
        for each in outcome.findings
    }
    assert all(isinstance(outcome, Completed) for outcome in outcomes), outcomes
    assert set(found) == rules
    assert all(finding.subject.name == kernel.name for finding in found.values())


def test_twelve_of_the_lanes(tmp_path: Path) -> None:
    """12 of 64 lanes work, so that 81.25 % of the vector time could go."""
    for number, counters in enumerate(((), COUNTERS[0])):
        record(tmp_path / "raw", DIVERGENT, number, counters)
    path = ingest([tmp_path / "raw"], tmp_path / "app.rocperf")
    result = pipeline.analyze(path, pipeline.Selection(only=("divergence",)))
    [ranked] = result.findings
    assert "12.0 of 64 lanes" in ranked.finding.title
    assert "81.2 % of the vector instructions could go" in ranked.finding.reasoning
