"""One call of the stand-in: run the program, then write what the simulator recorded."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType

from rocperf.testing.simulator import (
    GPUS,
    SCENARIOS,
    VERSIONS,
    WRITERS,
    Request,
    Session,
    counters_of,
    fits,
    observe,
    simulate,
)
from rocperf.testing.standin import faults as fault
from rocperf.testing.standin.listing import list_counters, version_text
from rocperf.testing.standin.naming import expand
from rocperf.testing.standin.options import Options, parse

#: Counter runs start this much later on the host's clock, and each set of counters elsewhere.
_START, _STEP = 1_000_000_000_000_000, 10_000_000_000
_RUNNABLE = frozenset({"csv", "json", "rocpd"})


class Standin:
    """What the environment chooses, and the run it leads to.

    Parameters
    ----------
    environment
        ``ROCPERF_STANDIN_VERSION``, ``_SCENARIO``, ``_GPU`` and ``_FAIL`` are read; all of it
        goes into databases, as with rocprofv3.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._version = self._choice("VERSION", "7.0", VERSIONS)
        self._scenario = self._choice("SCENARIO", "demo", SCENARIOS)
        self._gpu = self._choice("GPU", "gfx942", GPUS)
        self._child: subprocess.Popen[bytes] | None = None
        self._signal = 0

    def main(self, arguments: Sequence[str]) -> int:
        """Do what the command line asks; the exit code is the program's own."""
        options = parse(arguments, self._version)
        if options.on("version"):
            print(version_text(self._version))  # noqa: T201
            return 0
        if options.on("list_avail"):
            print(list_counters(self._gpu))  # noqa: T201
            return 0
        refused = options.refused(self._version)
        if refused:
            return self._fatal(f"the stand-in does not play {', '.join(refused)}")
        if not options.application:
            return self._fatal("No application provided")
        groups = options.groups or [()]
        if not options.records and not options.groups:
            _complain(f"{self._prefix}Warning: No tracing options were enabled.")
        several = len(groups) > 1
        try:
            fault.faults(self._environment.get("ROCPERF_STANDIN_FAIL", ""), ())
        except ValueError as error:
            return self._fatal(str(error))
        code = 0
        for number, counters in enumerate(groups, 1):
            code = self._job(options, counters, f"pass_{number}" if several else "")
            if code and several:
                return self._fatal(
                    f"Command '{list(options.application)}' returned non-zero exit status {code}."
                )
        return code

    # -- one job ----------------------------------------------------------------------------

    def _job(self, options: Options, counters: tuple[str, ...], folder: str) -> int:
        faults = fault.faults(self._environment.get("ROCPERF_STANDIN_FAIL", ""), counters)
        modes = {f.mode for f in faults}
        absent = {f.argument for f in faults if f.mode == "missing-counter"}
        known = set(counters_of(self._gpu)) - absent
        if "abort" in modes:
            fault.abort("Check failed: the tool could not be initialised")
        if "too-many-counters" in modes or not fits(self._gpu, set(counters) & known):
            fault.abort_over_capacity()
        if "not-locked" in modes and counters:
            fault.log("W", "Device 0 could not be locked for profiling due to lack of permissions "
                      "(capability SYS_PERFMON). PMC Counters may be inaccurate")  # fmt: skip
        code = self._play(options)
        if code is None:
            return 1
        if "crash-app" in modes or code == -signal.SIGSEGV:
            fault.die(signal.SIGSEGV)
        if "permission" in modes:
            _complain("Unable to open /dev/kfd read-write: Permission denied")
            return code
        if "hang" in modes or "hang-hard" in modes:
            fault.hang(hard="hang-hard" in modes)
        if "no-output" not in modes:
            self._report_missing(counters, known)
            files = self._write(options, tuple(c for c in counters if c in known), folder,
                                gated="zero-counters" in modes)  # fmt: skip
            if "truncated" in modes:
                fault.truncate(files)
        if self._signal:
            fault.die(signal.Signals(self._signal))
        if code < 0:
            fault.die(signal.Signals(-code))
        return code

    def _play(self, options: Options) -> int | None:
        """Run the program; None when it cannot be started.

        A signal goes to the program too; output is written when that has ended.
        """
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT):
            signal.signal(number, self._forward)
        try:
            self._child = subprocess.Popen(list(options.application))
        except OSError as error:
            _complain(f"{type(error).__name__}: {error}")
            return None
        return self._child.wait()

    def _forward(self, number: int, frame: FrameType | None) -> None:
        del frame
        self._signal = number
        if self._child is not None and self._child.poll() is None:
            self._child.send_signal(number)

    def _report_missing(self, counters: tuple[str, ...], known: set[str]) -> None:
        missing = [c for c in counters if c not in known]
        if missing:
            found = [c for c in counters if c in known]
            fault.log("W", f"Unable to find all counters for agent 1 (gpu-0, {self._gpu}) in "
                      f"{list(counters)}. Found: {found}. Missing: {missing}")  # fmt: skip

    def _write(
        self, options: Options, counters: tuple[str, ...], folder: str, *, gated: bool
    ) -> list[Path]:
        request = Request(
            version=self._version,
            traces=options.records,
            counters=counters,
            include=options.text("kernel_include_regex"),
            exclude=options.text("kernel_exclude_regex"),
            launches=_numbers(options.words("kernel_iteration_range")),
            selected_regions=options.on("selected_regions"),
            agent_index=options.text("agent_index", "relative"),
            gated=gated,
        )
        session = Session(
            os.getpid(), os.getppid(), socket.gethostname(), options.application,
            dict(self._environment),
        )  # fmt: skip
        start = _START + _STEP * (1 + sum(map(len, counters))) if counters else _START
        recording = simulate(self._scenario, gpu=self._gpu, counted=bool(counters), start=start)
        observed = observe(recording, request, session)
        prefix = self._prefix_of(options, session, folder)
        files: list[Path] = []
        for name in self._formats(options):
            for path in WRITERS[name](observed, prefix) if name in _RUNNABLE else ():
                files.append(path)
                fault.log("E", f"Opened result file: {path}", "output_stream.cpp:110")
        return files

    def _prefix_of(self, options: Options, session: Session, folder: str) -> Path:
        environment = self._environment
        inherited = environment.get("ROCPROF_OUTPUT_PATH", ".")
        place = options.text("output_directory", inherited)
        inherited = environment.get("ROCPROF_OUTPUT_FILE_NAME", "%hostname%/%pid%")
        name = options.text("output_file", inherited)
        return Path(expand(place, session)) / folder / expand(name, session)

    def _formats(self, options: Options) -> list[str]:
        """List the formats asked for; an inherited ``ROCPROF_OUTPUT_FORMAT`` adds to them."""
        default = ["csv"] if self._version == "6.4" else ["rocpd"]
        inherited = self._environment.get("ROCPROF_OUTPUT_FORMAT", "").lower().split(",")
        named = [*options.words("output_format"), *filter(None, inherited)]
        return list(dict.fromkeys(named or default))

    # -- plumbing ---------------------------------------------------------------------------

    def _choice(self, name: str, default: str, known: Sequence[str] | Mapping[str, object]) -> str:
        value = self._environment.get(f"ROCPERF_STANDIN_{name}", default)
        if value not in known:
            message = f"ROCPERF_STANDIN_{name}={value!r}: known are {', '.join(known)}"
            raise SystemExit(message)
        return value

    @property
    def _prefix(self) -> str:
        return "[rocprofv3] " if self._version == "7.13" else ""

    def _fatal(self, text: str) -> int:
        _complain(f"{self._prefix}Fatal error: {text}")
        return 1


def _complain(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201


def _numbers(words: Sequence[str]) -> frozenset[int] | None:
    """Read launch numbers such as ``[1-3,8]``."""
    if not words:
        return None
    numbers: set[int] = set()
    for part in re.split(r"[\s,]+", " ".join(words).replace("[", " ").replace("]", " ").strip()):
        first, _, last = part.partition("-")
        if not first.isdigit() or (last and not last.isdigit()):
            fault.abort(f"Kernel iteration range {part!r} is not a number")
        numbers |= set(range(int(first), int(last or first) + 1))
    return frozenset(numbers)
