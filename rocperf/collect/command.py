"""One pass as an argument list and an environment: pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from rocperf.collect import accumulated
from rocperf.collect.limits import NAME
from rocperf.collect.locate import Profiler
from rocperf.errors import InputError, UsageError

#: What the timing run records. HSA calls are left out: every load of a signal is one.
TIMING = (
    "--kernel-trace",
    "--memory-copy-trace",
    "--hip-runtime-trace",
    "--marker-trace",
    "--rccl-trace",
    "--memory-allocation-trace",
)
#: Those of them that every rocprofv3 has, also one that does not tell its options.
_ALWAYS = frozenset(TIMING[:4])
#: Each process of the program writes files of its own name.
NAMES = "%hostname%/%pid%"

# rocprofv3 adds inherited settings to its own, so that a pass would record something else.
_INHERITED = re.compile(r"ROCPROF_.*|ROCP_TOOL_LIBRARIES|ROCP_METRICS|HSA_TOOLS_LIB|ROCPROFILER_CI")
# rocprofv3 replaces such keys in the names of folders, too.
_KEY = re.compile(r"%|\{|\$ENV\b")


def formats(profiler: Profiler) -> tuple[str, ...]:
    """Choose output formats: rocpd where it is written; before that JSON, and CSV beside it.

    Only these two hold the sizes of copies; CSV is what remains when a large JSON breaks off.
    """
    return ("rocpd",) if profiler.writes_rocpd else ("csv", "json")


def timing(profiler: Profiler, folder: Path, application: Sequence[str]) -> tuple[str, ...]:
    """Build the command of the timing run.

    Parameters
    ----------
    profiler
        Which options it has decides what is recorded.
    folder
        Where it writes.
    application
        The program and its arguments, which are passed on as they are.
    """
    known = profiler.options or _ALWAYS
    recorded = [name for name in TIMING if name in known]
    return (str(profiler.path), *recorded, *_output(profiler, folder), "--", *application)


def counting(
    profiler: Profiler,
    folder: Path,
    application: Sequence[str],
    counters: Sequence[str],
    *,
    kernels: str | None = None,
    launches: str | None = None,
) -> tuple[str, ...]:
    """Build the command of a counter run.

    Parameters
    ----------
    counters
        Names.
    kernels
        Regular expression; only kernels with a match are counted.
    launches
        Launches of each kernel to count, such as ``1-3,5``.

    Raises
    ------
    UsageError
        If a counter's name could be taken for something else.
    """
    for name in counters:
        if not NAME.match(name):
            raise UsageError(
                f"{name!r} is not the name of a counter", hint="rocprofv3 -L lists them"
            )
    words = ["--pmc", *counters]
    if any(map(accumulated.level_of, counters)):
        words[:0] = [accumulated.OPTION, str(folder.parent / accumulated.FILE)]
    if kernels:
        words.append(f"--kernel-include-regex={kernels}")
    if launches:
        words += ["--kernel-iteration-range", f"[{launches}]"]
    return (str(profiler.path), *words, *_output(profiler, folder), "--", *application)


def _output(profiler: Profiler, folder: Path) -> tuple[str, ...]:
    index = ("--agent-index", "absolute") if "--agent-index" in profiler.options else ()
    return (*index, "--output-format", *formats(profiler), "-d", str(folder), "-o", NAMES)


def check_folder(folder: Path) -> None:
    """Refuse a folder whose name rocprofv3 would change.

    Raises
    ------
    InputError
        If it holds a key such as ``%pid%``.
    """
    if _KEY.search(str(folder)):
        raise InputError(
            f"{folder}: rocprofv3 replaces %, {{ and $ENV in names of folders",
            hint="choose another -o",
        )


def environment(inherited: Mapping[str, str], scratch: Path) -> dict[str, str]:
    """Return the environment of a pass.

    Parameters
    ----------
    inherited
        Environment of this process; settings of profilers in it are left out.
    scratch
        Where the profiler puts what it has not written yet: by default it would be the current
        folder, which may be read-only. A user's own choice stays.
    """
    kept = {name: value for name, value in inherited.items() if not _INHERITED.fullmatch(name)}
    return kept | {"ROCPROF_TMPDIR": inherited.get("ROCPROF_TMPDIR") or str(scratch)}
