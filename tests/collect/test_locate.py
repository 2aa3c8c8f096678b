"""Finding rocprofv3, and asking it and its companion."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocperf.collect import locate
from rocperf.errors import MachineError


def script(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


_SEVEN = """case "$1" in
--version) echo '             version: 1.1.0'; echo '        rocm_version: 7.2.1';;
--help) echo 'usage: --pmc --kernel-trace --output-format {csv,rocpd}';;
esac"""


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("ROCPERF_ROCPROFV3", "ROCM_PATH", "ROCM_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/usr/bin:/bin")


def test_version_and_options(tmp_path: Path) -> None:
    found = locate.find(str(script(tmp_path / "rocprofv3", _SEVEN)))

    assert found.version == (7, 2, 1)
    assert found.tool_version == "1.1.0"
    assert found.options == {"--pmc", "--kernel-trace", "--output-format"}
    assert found.writes_rocpd
    assert found.told == "ROCm 7.2.1"


def test_before_seven_there_is_no_version(tmp_path: Path) -> None:
    old = script(tmp_path / "rocprofv3", '[ "$1" = --help ] && echo "--pmc --list-avail" || exit 2')

    found = locate.find(str(old))

    assert found.version is None
    assert not found.writes_rocpd
    assert found.told == "a version before ROCm 7.0"


def test_a_probe_that_hangs_means_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hanging = script(tmp_path / "rocprofv3", "sleep 60 & sleep 60")
    monkeypatch.setattr(locate.ask, "__defaults__", (0.3,))

    found = locate.find(str(hanging))

    assert (found.version, found.options) == (None, frozenset())
    assert found.told == "an unknown version"


def test_where_it_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_path = script(tmp_path / "path" / "rocprofv3", "exit 1")
    in_root = script(tmp_path / "rocm" / "bin" / "rocprofv3", "exit 1")
    named = script(tmp_path / "named", "exit 1")

    assert locate.find().path == on_path
    on_path.unlink()
    monkeypatch.setenv("ROCM_PATH", str(tmp_path / "rocm"))
    assert locate.find().path == in_root
    monkeypatch.setenv("ROCPERF_ROCPROFV3", str(named))
    assert locate.find().path == named
    assert locate.find(str(in_root)).path == in_root


def test_the_wheels_of_rocm(tmp_path: Path) -> None:
    inside = script(tmp_path / "site" / "bin" / "rocprofv3", "exit 1")
    script(tmp_path / "path" / "rocm-sdk", f'[ "$1 $2" = "path --bin" ] && echo {inside.parent}')

    assert locate.find().path == inside


@pytest.mark.parametrize("way", ["option", "variable"])
def test_a_wrong_name_is_not_replaced_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    script(tmp_path / "path" / "rocprofv3", "exit 0")
    absent = str(tmp_path / "absent")
    if way == "variable":
        monkeypatch.setenv("ROCPERF_ROCPROFV3", absent)

    with pytest.raises(MachineError, match="absent") as error:
        locate.find(absent if way == "option" else None)

    assert error.value.exit_code == 3
