"""Written cases of occupancy, of copies that kernels do, and of GPUs that a process cannot see."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rocperf.cli import main
from rocperf.hardware import target_facts
from rocperf.hardware.occupancy import KernelResources, Occupancy, resident_occupancy

Case = Callable[[str], Path]
Reading = Callable[..., Any]


def resident(done: Any, target: str, wave: int | None = None) -> dict[str, Occupancy]:
    """Calculate what fits of each kernel of a profile, by its short name."""
    rows = done.ask(
        "SELECT short_name, vgpr, agpr, static_lds_bytes, workgroup_size FROM all_dispatches"
        " JOIN kernels USING (kernel_id)"
    )
    facts = target_facts(target)
    assert facts is not None
    return {
        name: resident_occupancy(
            facts,
            KernelResources(vgpr=vgpr, agpr=agpr, lds_bytes=lds, workgroup_size=size),
            wave,
        )
        for name, vgpr, agpr, lds, size in rows
    }


def test_o02_only_whole_workgroups_fit(case: Case, read: Reading) -> None:
    """Six workgroups of five waves fill 30 of 32 slots; 100 work-items use 128 lanes."""
    found = resident(read(case("O02")), "gfx942")
    whole = found["wg320"]
    assert (whole.waves_per_workgroup, whole.workgroups, whole.waves) == (5, 6, 30)
    assert whole.occupancy == 0.9375
    assert "workgroup granularity" in whole.limiters
    assert found["wg100"].waves_per_workgroup == 2
    assert found["wg100"].lane_use == 0.78125


def test_o07_rdna_has_its_own_rules(case: Case, read: Reading) -> None:
    """A wave has 32 lanes, so 256 work-items make eight; five waves are the rule of CDNA."""
    found = resident(read(case("O07")), "gfx1151", 32)["rdna"]
    assert found.waves_per_workgroup == 8
    assert found.vgpr_waves > 8


def test_m03_kernels_that_copy_are_copies_and_not_hot_kernels(
    case: Case, read: Reading, capsys: pytest.CaptureFixture[str]
) -> None:
    done = read(case("M03"))
    assert done.ask(
        "SELECT role, count(*), sum(end_ns - start_ns)::INT FROM all_dispatches"
        " JOIN kernels USING (kernel_id) GROUP BY role ORDER BY role"
    ) == [("compute", 1, 12800), ("copy", 1, 50000), ("fill", 1, 3000)]
    assert main(["analyze", str(done.path), "--only", "hot-kernels", "--all"]) == 0
    assert "rocclr" not in capsys.readouterr().out


def test_n04_gpus_that_a_process_cannot_see_are_not_idle(
    case: Case, read: Reading, capsys: pytest.CaptureFixture[str]
) -> None:
    done = read(case("N04"))
    gpus = "SELECT count(*) FROM agents WHERE kind = 'GPU'"
    assert done.ask(gpus) == [(8,)]
    assert done.ask("SELECT count(DISTINCT agent_id) FROM all_dispatches") == [(1,)]
    assert main(["analyze", str(done.path), "--only", "gpu-balance", "--all"]) == 0
    assert "gpu-balance/" not in capsys.readouterr().out
