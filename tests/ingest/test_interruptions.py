"""A kill, a full disk, a lock or Ctrl-C in the middle of an ingest: the old file stays whole."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import rocperf
from rocperf.cli import main
from rocperf.ingest.leftovers import remove_leftovers
from rocperf.store import scratch_prefix, temporary_name
from rocperf.testing.simulator import Request, generate, profile

TIMING = Request(traces=frozenset({"kernel", "copy", "hip"}))

# Ends itself, as `kill -9` would, at a moment of an ingest that is named on the command line.
DIES = """
import os, signal, sys
from pathlib import Path
import rocperf.ingest.load as load
import rocperf.store as store

moment, mode, raw, out = sys.argv[1:]

def die(*args, **kwargs):
    os.kill(os.getpid(), signal.SIGKILL)

if moment == "matching":
    load.match_launches = die
elif moment == "committing":
    store.Store.commit = die
elif moment == "written":
    store._sync = die
elif moment == "renaming":
    Path.replace = die
seen = 0
def told(event):
    global seen
    seen += isinstance(event, load.Progress) and event.rows > 0
    if moment == "first rows" and seen == 1 or moment == "more rows" and seen == 3:
        die()
load.ingest([Path(raw)], Path(out), mode=mode, on_event=told)
"""


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    profile("naive_transpose", tmp_path / "raw" / "4242", TIMING, ["csv"])
    return tmp_path / "raw"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """Make a profile of something else, alone in its folder."""
    profile("tiny_grid", tmp_path / "old_raw" / "7", Request(), ["csv"])
    path = tmp_path / "place" / "p.rocperf"
    path.parent.mkdir()
    assert main(["ingest", str(tmp_path / "old_raw"), "-o", str(path)]) == 0
    return path


def temporaries(tmp_path: Path) -> dict[str, str]:
    """Give a child temporary files of its own, to see what it leaves there."""
    place = tmp_path / "tmp"
    place.mkdir(exist_ok=True)
    return os.environ | {"TMPDIR": str(place)}


MOMENTS = ["first rows", "more rows", "matching", "committing", "written", "renaming"]


@pytest.mark.parametrize(
    ("moment", "mode"),
    [*((moment, "replace") for moment in MOMENTS), ("matching", "append"), ("renaming", "append")],
)
def test_a_kill_leaves_the_old_file_and_the_next_ingest_clears_up(
    moment: str, mode: str, raw: Path, old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = old.read_bytes()
    environment = temporaries(tmp_path)
    command = [sys.executable, "-c", DIES, moment, mode, str(raw), str(old)]
    ended = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert old.read_bytes() == before
    left = [each.name for each in old.parent.iterdir() if each != old]
    assert left
    # What is left is hidden, has another ending, and no folder that is read takes it for input.
    assert all(name.startswith(".rocperf-") and not name.endswith(".rocperf") for name in left)
    monkeypatch.setenv("TMPDIR", environment["TMPDIR"])
    monkeypatch.setattr("tempfile.tempdir", None)
    assert main(["ingest", str(raw), "-o", str(old), "--force"]) == 0
    assert [each.name for each in old.parent.iterdir()] == ["p.rocperf"]
    assert list((tmp_path / "tmp").iterdir()) == []
    with rocperf.open(old) as opened:
        assert opened.sql("SELECT count(*) AS n FROM all_dispatches").rows() == [(3,)]


def test_a_kill_without_an_old_file_leaves_no_profile(raw: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    command = [sys.executable, "-c", DIES, "renaming", "create", str(raw), str(place / "p.rocperf")]
    ended = subprocess.run(command, env=temporaries(tmp_path), check=False)
    assert ended.returncode == -signal.SIGKILL
    assert list(place.glob("*.rocperf")) == []
    assert main(["ingest", str(place)]) == 2


def test_files_of_a_living_ingest_and_of_others_are_left_alone(tmp_path: Path) -> None:
    host = scratch_prefix().split("-")[1]
    kept = [
        temporary_name(),  # of this process, which lives
        f".rocperf-{host}-1-0123456789ab.part",  # of the first process of the machine
        ".rocperf-00000000-99999999-0123456789ab.part",  # of another machine
        f".rocperf-{host}-99999999-0123456789ab.parts",  # not a name of ours
        "p.rocperf",
    ]
    gone = [
        f".rocperf-{host}-99999999-0123456789ab.part",
        f".rocperf-{host}-99999999-0123456789ab.part.scratch.wal",
    ]
    for name in (*kept, *gone):
        (tmp_path / name).write_bytes(b"12345")
    spill = tmp_path / f".rocperf-{host}-99999999-0123456789ab.part.spill"
    spill.mkdir()
    (spill / "block").write_bytes(b"123")
    outside = tmp_path / "outside"
    outside.mkdir()
    link = tmp_path / f".rocperf-{host}-99999999-aaaaaaaaaaaa.part"
    link.symlink_to(outside)
    assert remove_leftovers(tmp_path) >= 13
    names = {each.name for each in tmp_path.iterdir()}
    assert names == {*kept, "outside", link.name}


def test_a_file_that_somebody_has_locked_is_left_alone(tmp_path: Path) -> None:
    host = scratch_prefix().split("-")[1]
    path = tmp_path / f".rocperf-{host}-99999999-0123456789ab.part"
    path.write_bytes(b"x")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDS_LOCK, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    try:
        assert holder.stdout.readline() == "held\n"
        remove_leftovers(tmp_path)
        assert path.exists()
    finally:
        holder.kill()
        holder.communicate()
    remove_leftovers(tmp_path)
    assert not path.exists()


HOLDS_LOCK = """
import fcntl, sys, time
file = open(sys.argv[1], "r+b")
fcntl.lockf(file, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(60)
"""


# -- a full disk ------------------------------------------------------------------------------

# Files of this process cannot grow beyond some bytes: the system then refuses each write.
SMALL_FILES = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
from rocperf.cli import main
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize(
    ("limit", "mode"),
    [(40_000, "--force"), (300_000, "--force"), (800_000, "--force"), (300_000, "--append")],
)
def test_a_full_disk_is_said_and_leaves_the_old_file(
    limit: int, mode: str, raw: Path, old: Path, tmp_path: Path
) -> None:
    before = old.read_bytes()
    command = [sys.executable, "-c", SMALL_FILES, str(limit)]
    ended = subprocess.run(
        [*command, "ingest", str(raw), "-o", str(old), mode],
        env=temporaries(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 7, ended.stderr
    assert f"no space left while writing {old}" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""
    assert old.read_bytes() == before
    assert [each.name for each in old.parent.iterdir()] == ["p.rocperf"]
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no file system may be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_disk_that_really_is_full(
    raw: Path, small_disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = small_disk / "p.rocperf"
    assert main(["ingest", str(raw), "-o", str(target)]) == 7
    assert f"no space left while writing {target}" in capsys.readouterr().err
    assert list(small_disk.iterdir()) == []


# -- a lock -----------------------------------------------------------------------------------

HOLDS = """
import sys, time, duckdb
connection = duckdb.connect(sys.argv[1])
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def held(old: Path) -> Iterator[Path]:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(old)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    try:
        yield old
    finally:
        holder.kill()
        holder.communicate()


def test_a_profile_that_another_process_holds_is_busy(
    held: Path, raw: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = held.read_bytes()
    assert main(["ingest", str(raw), "-o", str(held), "--append"]) == 6
    err = capsys.readouterr().err
    assert f"{held} is in use" in err
    assert held.read_bytes() == before
    assert [each.name for each in held.parent.iterdir() if each != held] == []


def test_after_the_holder_has_ended_it_works(old: Path, raw: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(old)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    holder.kill()
    holder.communicate()
    assert main(["ingest", str(raw), "-o", str(old), "--append"]) == 0
    with duckdb.connect(str(old), read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM all_dispatches").fetchall() == [(6,)]


# -- Ctrl-C -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def much(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return generate(tmp_path_factory.mktemp("much"), 20_000)


@pytest.mark.parametrize("form", ["csv", "rocpd"])
@pytest.mark.parametrize("wait", [0.0, 0.3, 0.7])
def test_ctrl_c_ends_an_ingest_without_a_trace(
    form: str, wait: float, much: dict[str, Path], old: Path, tmp_path: Path
) -> None:
    before = old.read_bytes()
    command = [sys.executable, "-m", "rocperf", "ingest", str(much[form]), "-o", str(old)]
    ingest = subprocess.Popen(
        [*command, "--force"],
        env=temporaries(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not list(old.parent.glob(".rocperf-*.part")) and ingest.poll() is None:
        time.sleep(0.01)
    time.sleep(wait)
    assert ingest.poll() is None, "the input is too small to be interrupted"
    ingest.send_signal(signal.SIGINT)
    out, err = ingest.communicate(timeout=30)
    assert (ingest.returncode, out) == (130, ""), err
    assert err.splitlines()[-1] == "rocperf: interrupted"
    assert "Traceback" not in err
    assert old.read_bytes() == before
    assert [each.name for each in old.parent.iterdir()] == ["p.rocperf"]
    assert list((tmp_path / "tmp").iterdir()) == []
