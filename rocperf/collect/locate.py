"""Find rocprofv3, and say what this version can do."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rocperf.errors import MachineError

#: Seconds that a probe may take before its answer counts as unknown.
PROBE_S = 10.0

_OPTION = re.compile(r"--[a-z][a-z0-9-]+")
_KEY = re.compile(r"(?m)^\s*(\w+):\s*(.*?)\s*$")


@dataclass(frozen=True)
class Profiler:
    """A rocprofv3.

    Parameters
    ----------
    path
        The executable.
    version
        ROCm version that it states, such as ``(7, 0, 0)``; None where it states none, as before
        7.0 or when it does not answer.
    options
        Long options that its help names; empty when it does not answer.
    rocpd
        Whether its help knows the format rocpd.
    tool_version
        Version of rocprofiler-sdk, such as ``1.0.0``.
    """

    path: Path
    version: tuple[int, ...] | None
    options: frozenset[str] = frozenset()
    rocpd: bool = False
    tool_version: str | None = None

    @property
    def writes_rocpd(self) -> bool:
        """Whether it can write rocpd databases: from ROCm 7.0 on."""
        return self.rocpd if self.version is None else self.version >= (7,)

    @property
    def told(self) -> str:
        """Its version, for people."""
        if self.version:
            return "ROCm " + ".".join(map(str, self.version))
        return "a version before ROCm 7.0" if self.options else "an unknown version"


def find(explicit: str | None = None) -> Profiler:
    """Find the profiler and probe it.

    Parameters
    ----------
    explicit
        Path that the user gave; then nothing else is looked at, as with ``ROCPERF_ROCPROFV3``.

    Raises
    ------
    MachineError
        If there is none.
    """
    named = explicit or os.environ.get("ROCPERF_ROCPROFV3")
    for candidate in [Path(named)] if named else _candidates():
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return probe(candidate.parent.resolve() / candidate.name)
    where = named or "PATH, ROCM_PATH or /opt/rocm"
    raise MachineError(
        f"rocprofv3 was not found: there is no executable {where}"
        if named
        else f"rocprofv3 was not found in {where}",
        hint="install the rocprofiler-sdk package of ROCm, or name it with --rocprofv3 PATH",
    )


def _candidates() -> Iterator[Path]:
    if on_path := shutil.which("rocprofv3"):
        yield Path(on_path)
    for name in ("ROCM_PATH", "ROCM_HOME"):
        if root := os.environ.get(name):
            yield Path(root) / "bin" / "rocprofv3"
    if sdk := shutil.which("rocm-sdk"):
        bin_folder = (ask([sdk, "path", "--bin"]) or "").strip()
        if bin_folder:
            yield Path(bin_folder) / "rocprofv3"
    yield Path("/opt/rocm/bin/rocprofv3")
    versioned = [*Path("/opt").glob("rocm-*"), *Path("/opt/rocm").glob("core-*")]
    for folder in sorted(versioned, key=_numbers_of, reverse=True):
        yield folder / "bin" / "rocprofv3"


def _numbers_of(path: Path) -> tuple[int, ...]:
    return _numbers(path.name)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text))


def probe(path: Path) -> Profiler:
    """Ask a rocprofv3 for its version and its options; what it does not answer is unknown."""
    told = dict(_KEY.findall(ask([str(path), "--version"]) or ""))
    text = ask([str(path), "--help"]) or ""
    return Profiler(
        path,
        _numbers(told.get("rocm_version", "")) or None,
        frozenset(_OPTION.findall(text)),
        re.search(r"\brocpd\b", text) is not None,
        told.get("version"),
    )


def ask(command: Sequence[str], seconds: float = PROBE_S) -> str | None:
    """Run a short command and return its output.

    Parameters
    ----------
    command
        Argument list.
    seconds
        Time limit; after it the command and all that it started are ended.

    Returns
    -------
    str or None
        Standard output; None when it failed, could not be started or took too long.
    """
    code, text, _ = run_briefly(command, seconds)
    return text if code == 0 else None


def run_briefly(command: Sequence[str], seconds: float = PROBE_S) -> tuple[int | None, str, str]:
    """Run a short command.

    Returns
    -------
    tuple
        Exit code, standard output, standard error; the code is None when it could not be started
        or took too long.
    """
    try:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError:
        return None, "", ""
    with process:
        try:
            out, error = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            return None, "", ""
    return process.returncode, out.decode("utf-8", "replace"), error.decode("utf-8", "replace")
