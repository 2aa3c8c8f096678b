"""What a collection that fails leaves of the one before it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rocperf.errors import NothingError

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
