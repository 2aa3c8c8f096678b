"""Finding rocprofv3, and asking it and its companion."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from rocperf.collect import locate
from rocperf.collect.availability import Availability, find_tool
from rocperf.collect.limits import ANCHORS
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


def test_the_companion_is_beside_it_or_where_a_link_leads(tmp_path: Path) -> None:
    real = script(tmp_path / "rocm" / "bin" / "rocprofv3", "exit 0")
    tool = script(tmp_path / "rocm" / "bin" / "rocprofv3-avail", "exit 0")
    link = tmp_path / "rocprofv3"
    link.symlink_to(real)

    assert find_tool(real) == tool
    assert find_tool(link) == tool
    assert find_tool(tmp_path / "other" / "rocprofv3") is None


class Answers:
    """Plays the companion: two counters of the L1 at a time."""

    def __init__(self, *, silent_after: int = 99) -> None:
        self.asked: list[tuple[str, ...]] = []
        self._left = silent_after

    def __call__(self, command: Sequence[str], seconds: float) -> tuple[int | None, str, str]:
        assert command[1] == "pmc-check"
        assert seconds == 10.0
        self.asked.append(tuple(command[2:]))
        self._left -= 1
        if self._left < 0:
            return None, "", ""
        if sum(name.startswith("TCP") for name in command) > 2:
            return 1, "", f"Fatal error: {' '.join(command[2:])} not collected on agent gfx942"
        return 0, "Following input counters can be collected together on GPU:0", ""


def test_rocm_itself_is_believed_more_than_the_table() -> None:
    answers = Answers()
    ask = Availability(Path("avail"), "gfx942", answers)

    assert ask.fits(("TCP_A", "TCP_B"))
    assert not ask.fits(("TCP_A", "TCP_B", "TCP_C"))
    assert not ask.fits(("TCP_C", "TCP_B", "TCP_A"))  # known, whatever the order
    assert answers.asked[0] == ANCHORS
    assert len(answers.asked) == 3


def test_without_answers_the_table_decides() -> None:
    none = Availability(None, "gfx942", Answers())
    mute = Availability(Path("avail"), "gfx942", Answers(silent_after=0))
    late = Availability(Path("avail"), "gfx942", Answers(silent_after=1))

    for ask in (none, mute, late):
        assert ask.fits(("TCP_A", "TCP_B", "TCP_C"))
        assert not ask.fits([f"TCP_{n}" for n in range(5)])
