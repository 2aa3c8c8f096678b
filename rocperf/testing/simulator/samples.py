"""The sample traces: scenarios as rocprofv3 files, small and the same every time.

``python -m rocperf.testing.simulator.samples FOLDER`` writes them anew.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rocperf.testing.simulator.csv_files import write_csv
from rocperf.testing.simulator.expected import EXPECTED
from rocperf.testing.simulator.host_programs import HOST_PROGRAMS
from rocperf.testing.simulator.json_file import write_json
from rocperf.testing.simulator.request import Request, Session, observe
from rocperf.testing.simulator.rocpd_file import write_rocpd
from rocperf.testing.simulator.scenarios import SCENARIOS, simulate

GPU = "gfx942"
_TIMING = frozenset({"kernel", "copy", "hip", "marker", "allocation", "rccl", "scratch"})
#: Counter runs by folder; each set fits into one run.
_COUNTERS: dict[str, tuple[str, ...]] = {
    "counters_1": (
        "SQ_WAVES", "GRBM_GUI_ACTIVE", "SQ_BUSY_CU_CYCLES", "SQ_WAVE_CYCLES", "SQ_INSTS_VALU",
        "SQ_INSTS_LDS", "SQ_LDS_BANK_CONFLICT", "SQ_LDS_IDX_ACTIVE", "TA_TOTAL_WAVEFRONTS_sum",
        "TCP_TOTAL_ACCESSES_sum", "TCP_TOTAL_CACHE_ACCESSES_sum", "TCP_TCC_READ_REQ_sum",
        "TCP_TCC_WRITE_REQ_sum", "TCC_HIT_sum", "TCC_MISS_sum",
    ),
    "counters_2": (
        "SQ_WAVES", "GRBM_GUI_ACTIVE", "SQ_ACTIVE_INST_VALU", "SQ_INSTS_VMEM_RD",
        "SQ_INSTS_VMEM_WR", "TCC_EA0_RDREQ_sum", "TCC_EA0_RDREQ_32B_sum", "TCC_BUBBLE_sum",
    ),
}  # fmt: skip
#: The environment that databases hold: nothing of the machine that made them.
_ENVIRONMENT = {"HIP_VISIBLE_DEVICES": "0", "ROCPROF_KERNEL_TRACE": "1"}


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample: a scenario as a release of rocprofv3 writes it in some formats."""

    scenario: str
    version: str
    formats: tuple[str, ...]
    counters: bool


SAMPLES: tuple[Sample, ...] = (
    Sample("naive_transpose", "7.0", ("csv",), counters=True),
    Sample("lds_conflict_transpose", "7.0", ("csv",), counters=True),
    Sample("padded_transpose", "7.0", ("csv",), counters=True),
    Sample("strided_copy", "7.0", ("csv",), counters=True),
    Sample("unit_stride_copy", "7.0", ("csv",), counters=True),
    Sample("register_heavy", "7.13", ("csv",), counters=True),
    Sample("lds_heavy", "7.0", ("csv",), counters=True),
    Sample("tiny_grid", "7.0", ("json",), counters=False),
    Sample("pageable_copies", "7.0", ("rocpd",), counters=False),
    Sample("pinned_copies", "7.13", ("rocpd",), counters=False),
    Sample("many_small_copies", "7.0", ("json",), counters=False),
    Sample("overlapped_copies", "6.4", ("csv", "json"), counters=False),
    *(
        Sample(name, "7.0", ("rocpd" if name == "ping_pong_copies" else "csv",), counters=False)
        for name, _, _ in HOST_PROGRAMS
    ),
)


def write_samples(folder: Path) -> None:
    """Write every sample.

    Parameters
    ----------
    folder
        Gets a folder for each scenario, with ``manifest.toml``, ``expected.json`` and one folder
        for each run.
    """
    for sample in SAMPLES:
        place = folder / sample.scenario
        _run(sample, place / "timing", Request(sample.version, _TIMING))
        for number, (name, counters) in enumerate(_COUNTERS.items() if sample.counters else (), 1):
            _run(sample, place / name, Request(sample.version, frozenset(), counters), number)
        (place / "manifest.toml").write_text(_manifest(sample), encoding="utf-8")
        expected = EXPECTED[sample.scenario].to_json(sample.scenario)
        (place / "expected.json").write_text(expected, encoding="utf-8")


def _run(sample: Sample, place: Path, request: Request, number: int = 0) -> None:
    start = 1_000_000_000_000_000 + number * 10_000_000_000
    counted = bool(request.counters)
    recording = simulate(sample.scenario, gpu=GPU, counted=counted, start=start)
    session = Session(4242 + number, command=(f"./{sample.scenario}",), environment=_ENVIRONMENT)
    observed = observe(recording, request, session)
    prefix = place / str(session.pid)
    for name in sample.formats:
        if name == "rocpd":
            write_rocpd(observed, prefix, page_size=512)
        else:
            {"csv": write_csv, "json": write_json}[name](observed, prefix)


def _manifest(sample: Sample) -> str:
    runs = ["timing", *(_COUNTERS if sample.counters else ())]
    formats = _quoted(sample.formats)
    return (
        'origin = "synthetic, rocperf simulator"\n'
        f'scenario = "{sample.scenario}"\n'
        f'shows = "{SCENARIOS[sample.scenario].shows}"\n'
        f'gpu = "{GPU}"\n'
        f'product = "MI300X"\n'
        f'rocm = "{sample.version}"\n'
        f"formats = [{formats}]\n"
        f"runs = [{_quoted(runs)}]\n"
    )


def _quoted(words: Iterable[str]) -> str:
    return ", ".join(f'"{word}"' for word in words)


if __name__ == "__main__":
    write_samples(Path(sys.argv[1]))
