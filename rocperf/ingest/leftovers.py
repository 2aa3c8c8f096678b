"""What an ingest that was killed left behind, found by name and removed by the next one.

A temporary file carries machine and process of its writer. It is left alone unless that process
is gone from this machine and nobody holds a lock on the file.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rocperf.store import scratch_prefix

# As `rocperf.store` names them: beside the profile, and a folder among the system's own.
_BESIDE = re.compile(r"\.(rocperf-[0-9a-f]{8}-)(\d+)-[0-9a-f]{12}\.part(?:\.\w+)*")
_FOLDER = re.compile(r"(rocperf-[0-9a-f]{8}-)(\d+)-\w+")


def remove_leftovers(folder: Path) -> int:
    """Remove what dead ingests left in a folder and among the system's temporary files.

    Parameters
    ----------
    folder
        Where a profile is about to be written.

    Returns
    -------
    int
        Bytes that were freed; 0 when there was nothing.
    """
    freed = 0
    places = ((folder, _BESIDE), (Path(tempfile.gettempdir()), _FOLDER))
    for place, pattern in places:
        for path in _abandoned(place, pattern):
            freed += _size(path)
            with contextlib.suppress(OSError):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
    return freed


def _abandoned(place: Path, pattern: re.Pattern[str]) -> Iterator[Path]:
    here = scratch_prefix().rsplit("-", 2)[0] + "-"
    with contextlib.suppress(OSError), os.scandir(place) as entries:
        found = [(entry, pattern.fullmatch(entry.name)) for entry in entries]
        for entry, match in found:
            if match is None or match[1] != here or _lives(int(match[2])):
                continue
            path = Path(entry.path)
            ours = entry.stat(follow_symlinks=False).st_uid == os.getuid()
            if ours and not entry.is_symlink() and not _locked(path):
                yield path


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _locked(path: Path) -> bool:
    """Say whether somebody holds a file: a container numbers its processes anew."""
    if not path.is_file():
        return False
    try:
        with path.open("r+b") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    return False


def _size(path: Path) -> int:
    inside = path.rglob("*") if path.is_dir() else [path]
    return sum(each.stat().st_size for each in inside if each.is_file())
