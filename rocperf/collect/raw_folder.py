"""The folder that keeps what the profiler wrote, one folder a pass in it."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Generator
from pathlib import Path

from rocperf.collect import accumulated, manifest
from rocperf.collect.plan import Plan
from rocperf.errors import InputError, RocperfError

#: Takes the standard error of a pass, in its folder.
LOG = "rocprofv3.log"

_MOST_READ = 1 << 20


@contextlib.contextmanager
def begun(plan: Plan) -> Generator[None]:
    """Make the raw folder of a plan, and keep the one before it until the block has succeeded.

    When it fails, the older folder is put back, since the older profile is kept, too, and what
    was written meanwhile is beside it, ending in ``.failed``.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    before = plan.raw.with_name(f"{plan.raw.name}.before")
    aside = plan.request.resume is None and plan.raw.exists()
    try:
        if aside:
            shutil.rmtree(before, ignore_errors=True)
            plan.raw.rename(before)
    except OSError as error:
        raise _unwritable(plan, error) from error
    try:
        begin(plan)
        yield
    except BaseException as error:
        if aside:
            failed = plan.raw.with_name(f"{plan.raw.name}.failed")
            shutil.rmtree(failed, ignore_errors=True)
            if plan.raw.exists():
                plan.raw.rename(failed)
            before.rename(plan.raw)
            if isinstance(error, RocperfError) and error.hint:
                error.hint = error.hint.replace(str(plan.raw), str(failed))
        raise
    if aside:
        shutil.rmtree(before, ignore_errors=True)


def _unwritable(plan: Plan, error: OSError) -> InputError:
    return InputError(f"{plan.raw} cannot be written: {error.strerror}", hint="choose another -o")


def begin(plan: Plan) -> None:
    """Make the raw folder of a plan; it goes on with what is there.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    try:
        plan.raw.mkdir(parents=True, mode=0o700, exist_ok=True)
        plan.raw.chmod(0o700)  # whatever the umask: environments and arguments are in there
        counters = [name for each in plan.manifest.passes for name in each.counters]
        if text := accumulated.definitions(counters, plan.target):
            (plan.raw / accumulated.FILE).write_text(text, encoding="utf-8")
        manifest.write(plan.raw, plan.manifest)
    except OSError as error:
        raise _unwritable(plan, error) from error


def size(folder: Path) -> int:
    """Add up the files of a pass; some may go while they are counted."""
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            total += path.stat().st_size if path.is_file() else 0
    return total


def read_log(folder: Path) -> str:
    """Read the beginning and the end of a pass's log, where causes are told."""
    path = folder / LOG
    with contextlib.suppress(OSError), path.open("rb") as file:
        head = file.read(_MOST_READ)
        if path.stat().st_size > 2 * _MOST_READ:
            file.seek(-_MOST_READ, os.SEEK_END)
        return (head + file.read()).decode("utf-8", "replace")
    return ""
