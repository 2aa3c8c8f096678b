"""What a collection that fails leaves of the one before it, and what it is refused for at once."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rocperf.collect import Request, prepare
from rocperf.errors import NothingError, UsageError

Machine = Callable[..., None]


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_collection_that_fails_keeps_the_profile_before_it_and_its_raw_folder(
    run: Callable[..., object], machine: Machine
) -> None:
    run()
    profile, raw = Path("app.rocperf"), Path("app.rocperf.raw")
    before = (profile.read_bytes(), contents(raw))
    machine(fail="crash-app")
    with pytest.raises(NothingError) as error:
        run(force=True)
    assert (profile.read_bytes(), contents(raw)) == before
    failed = Path("app.rocperf.raw.failed")
    assert failed.is_dir()
    assert str(failed) in str(error.value.hint)
    assert not Path("app.rocperf.raw.before").exists()


def test_a_collection_that_succeeds_replaces_both(
    run: Callable[..., object], machine: Machine
) -> None:
    run()
    (Path("app.rocperf.raw") / "left.txt").write_text("of the first")
    machine()
    run(force=True)
    assert not (Path("app.rocperf.raw") / "left.txt").exists()
    assert [path.name for path in Path().glob("app.rocperf.raw*")] == ["app.rocperf.raw"]


@pytest.mark.parametrize(
    ("program", "reason", "hint"),
    [
        ("./nope", "there is no program ./nope", "check the path"),
        ("no-such-program", "there is no program no-such-program", "./name"),
        ("./plain", "./plain is not executable", "chmod"),
    ],
)
def test_a_program_that_cannot_start_is_refused_before_anything_is(
    standin: Path, machine: Machine, program: str, reason: str, hint: str
) -> None:
    machine()
    Path("plain").write_text("#!/bin/sh\n")
    with pytest.raises(UsageError, match=reason) as error:
        prepare(
            Request((program,), metrics=("waves",), rocprofv3=str(standin), stdin=Path(os.devnull))
        )
    assert hint in str(error.value.hint)
    assert list(Path().glob("*.raw")) == []
