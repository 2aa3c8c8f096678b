"""GPUs, device nodes and variables of a machine, and what is said of each."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rocperf.collect import machine as machines
from rocperf.collect.doctor_checks import checks
from rocperf.errors import MachineError


def _failing(code: int) -> Callable[[str, int], int]:
    def opener(path: str, flags: int) -> int:
        raise OSError(code, os.strerror(code), path)

    return opener


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (errno.ENOENT, "kernel driver not loaded or device not passed to the container"),
        (errno.EACCES, "join group of the device"),
        (errno.EINVAL, "opens with EINVAL: driver and runtime mismatch"),
    ],
)
def test_each_cause_has_its_sentence(tmp_path: Path, code: int, said: str) -> None:
    trouble = machines.device_trouble(tmp_path, _failing(code))

    assert trouble is not None
    assert f"{tmp_path}/kfd" in trouble.message
    assert said in trouble.message
    assert trouble.fix


def test_a_missing_render_node_is_another_cause(tmp_path: Path) -> None:
    (tmp_path / "kfd").touch()

    trouble = machines.device_trouble(tmp_path)

    assert trouble is not None
    assert "dri/renderD* not passed" in trouble.message


def test_a_played_machine_has_one_gpu(machine: Callable[..., None]) -> None:
    found = machines.look()

    assert found.targets == ("gfx942",)
    assert machines.device_trouble() is None
    assert {row["kind"] for row in found.links} == {"pcie"}


def test_no_gpu(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="no AMD GPU visible") as error:
        machines.look(tmp_path)

    assert error.value.exit_code == 3


@pytest.mark.parametrize(
    ("variables", "gpus", "said"),
    [
        ({}, 8, ()),
        ({"HIP_VISIBLE_DEVICES": "0,7"}, 8, ()),
        ({"HIP_VISIBLE_DEVICES": "8"}, 8, ("HIP_VISIBLE_DEVICES indexes hidden devices: 8",)),
        (
            {"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "0,1,2,3"}, 8,
            ("HIP_VISIBLE_DEVICES indexes hidden devices: 1, 2, 3 of 1 visible GPU",),
        ),
        ({"ROCR_VISIBLE_DEVICES": "GPU-4b2c1a9f"}, 1, ()),
    ],
)  # fmt: skip
def test_visible_devices(variables: dict[str, str], gpus: int, said: tuple[str, ...]) -> None:
    warnings = machines.visibility_warnings(variables, gpus)

    assert len(warnings) == len(said)
    assert all(text in warning for text, warning in zip(said, warnings, strict=True))


@pytest.mark.parametrize(
    ("target", "levels", "gated"),
    [
        ("gfx942", ("auto",), False),
        ("gfx1201", ("auto",), True),
        ("gfx1201", ("auto", "profile_standard"), True),
        ("gfx1201", ("profile_standard",), False),
        ("gfx1151", (), True),
    ],
)
def test_gated_clocks(target: str, levels: tuple[str, ...], gated: bool) -> None:
    assert machines.gated(target, levels) is gated


def test_doctor_on_a_played_machine(machine: Callable[..., None], standin: Path) -> None:
    machine("gfx1201")

    found = {check.name: check for check in checks(str(standin))}

    assert found["rocprofv3"].state == "ok"
    assert "ROCm 7.0.0" in found["rocprofv3"].found
    assert found["GPUs"].found == "1: gfx1201"
    assert found["devices"].state == "ok"
    assert found["groups"].state == "ok"
    assert found["performance level"].state == "warn"
    assert "amd-smi" in found["performance level"].fix
    assert found["counters"].state == "warn"
    assert found["duckdb"].state == "ok"


def test_doctor_with_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCPERF_SYSFS", str(tmp_path))
    monkeypatch.setenv("ROCPERF_DEV", str(tmp_path))

    found = {check.name: check for check in checks(str(tmp_path / "rocprofv3"))}

    for name in ("rocprofv3", "GPUs", "devices"):
        assert found[name].state == "fail"
        assert found[name].fix
