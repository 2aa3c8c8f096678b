"""Run the passes of a plan, and make a profile of what they brought."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rocperf.collect import events
from rocperf.collect.plan import Plan, PlannedPass
from rocperf.errors import NothingError
from rocperf.ingest.load import ingest

#: Bounds of the default time limit of a pass. Choices of ours: counter runs serialise kernels.
SHORTEST_LIMIT_S, TIMES_TIMING = 60.0, 20.0
#: Seconds that the profiler gets to write after an interrupt, and between two heartbeats.
GRACE_S, BEAT_S = 120.0, 0.5

_INHERITED = re.compile(r"ROCPROF_.*|ROCP_TOOL_LIBRARIES|HSA_TOOLS_LIB|ROCPROFILER_CI")
_FATAL = re.compile(r"(?m)^(F\d{4,8} .*|.*Fatal error:.*)$")
_LOG = re.compile(rb"[IWEF]\d{4,8} ")


@dataclass
class PassResult:
    """How one pass ended."""

    planned: PlannedPass
    status: str
    exit_code: int | None
    message: str | None
    seconds: float


@dataclass(frozen=True)
class Collected:
    """A finished collection.

    Parameters
    ----------
    app_exit
        Exit code of the program in its timing run.
    """

    profile: Path
    raw: Path
    passes: tuple[PassResult, ...]
    app_exit: int

    def exit_code(self, *, strict: bool) -> int:
        """Return 0, or 5 when a pass failed and `strict` asks for all of them."""
        return 5 if strict and any(p.status != "complete" for p in self.passes) else 0


def collect(plan: Plan, on_event: Callable[[object], None]) -> Collected:
    """Run every pass and ingest what came.

    Raises
    ------
    NothingError
        If no pass brought a kernel dispatch.
    """
    if plan.raw.exists():
        shutil.rmtree(plan.raw)
    plan.raw.mkdir(parents=True, mode=0o700)
    results: list[PassResult] = []
    limit = plan.request.timeout_s
    for planned in plan.passes:
        on_event(events.PassStarted(planned.number, len(plan.passes), planned.purpose))
        result = _run(plan, planned, limit, on_event)
        results.append(result)
        _write_manifest(plan, results)
        if result.status == "complete":
            on_event(events.PassFinished(planned.number, len(plan.passes), result.seconds))
            if limit is None:
                limit = max(SHORTEST_LIMIT_S, TIMES_TIMING * result.seconds)
        else:
            text = result.message or result.status
            on_event(events.PassFailed(planned.number, len(plan.passes), text))
        if result.status == "interrupted":
            break
    if not any(result.status == "complete" for result in results):
        first = next((r.message for r in results if r.message), "nothing was written")
        raise NothingError(
            f"nothing was collected: {first}", hint=f"what rocprofv3 wrote is in {plan.raw}"
        )
    ingest([plan.raw], plan.output, mode="replace", merge=True, strict=False, on_event=on_event)
    return Collected(plan.output, plan.raw, tuple(results), results[0].exit_code or 0)


def _run(
    plan: Plan, planned: PlannedPass, limit_s: float | None, on_event: Callable[[object], None]
) -> PassResult:
    planned.folder.mkdir(mode=0o700)
    log = planned.folder / "rocprofv3.log"
    started = time.monotonic()
    with log.open("wb") as errors:
        stdin = plan.request.stdin.open("rb") if plan.request.stdin else subprocess.DEVNULL
        process = subprocess.Popen(
            planned.argv,
            env=_environment(planned.folder),
            stdin=stdin,
            stderr=errors,
            start_new_session=True,
        )
        how = _wait(process, plan, planned, limit_s, started, on_event)
    seconds = time.monotonic() - started
    message = _explain(planned, log, process.returncode, how)
    status = how if how == "interrupted" else "failed" if message else "complete"
    return PassResult(planned, status, process.returncode, message, seconds)


def _wait(
    process: subprocess.Popen[bytes],
    plan: Plan,
    planned: PlannedPass,
    limit_s: float | None,
    started: float,
    on_event: Callable[[object], None],
) -> str:
    """Wait for a pass; on Ctrl-C or at the limit end its whole process group."""
    how = "ended"
    try:
        while True:
            try:
                process.wait(BEAT_S)
                break
            except subprocess.TimeoutExpired:
                passed = time.monotonic() - started
                size = sum(f.stat().st_size for f in planned.folder.rglob("*") if f.is_file())
                on_event(events.Heartbeat(planned.number, len(plan.passes), passed, size))
                if limit_s is not None and passed > limit_s:
                    how = f"took more than {limit_s:g} s and was ended"
                    break
    except KeyboardInterrupt:
        how = "interrupted"
        _signal(process, signal.SIGINT)
        try:
            process.wait(GRACE_S)  # rocprofv3 writes everything at the end
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            _signal(process, signal.SIGTERM)
    _signal(process, signal.SIGKILL)  # whatever the program left behind
    process.wait()
    return how


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        return


def _explain(planned: PlannedPass, log: Path, code: int, how: str) -> str | None:
    """Say in the user's words why a pass brought nothing; None when it brought dispatches."""
    if how not in ("ended", "interrupted"):
        return how
    tables = [*planned.folder.rglob("*kernel_trace.csv")] if not planned.counters else []
    tables += [*planned.folder.rglob("*counter_collection.csv")]
    tables += [*planned.folder.rglob("*results.db")]
    if tables:
        return None
    text = log.read_text("utf-8", "replace")
    fatal = _FATAL.search(text)
    names = sorted(path.name for path in planned.folder.rglob("*") if path != log)
    wrote = f"it wrote {', '.join(names)}" if names else "it wrote nothing"
    if "exceeds the capabilities" in text or "EXCEEDS_HW_LIMIT" in text:
        return f"the counter set exceeds what one pass can hold: {' '.join(planned.counters)}"
    if "error while loading shared libraries" in text:
        return text.strip().splitlines()[-1]
    if fatal:
        return f"rocprofv3 failed: {fatal[0][-200:]}"
    if code < 0:
        return f"ended by signal {-code}; {wrote}"
    return f"no kernel dispatch rows (exit code {code}; {wrote}): did the program use the GPU?"


def _environment(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not _INHERITED.fullmatch(name)}
    scratch = folder / "tmp"
    scratch.mkdir(mode=0o700)
    return kept | {"ROCPROF_TMPDIR": str(scratch)}


def _write_manifest(plan: Plan, results: list[PassResult]) -> None:
    rows = [
        {
            "number": r.planned.number,
            "role": r.planned.role,
            "purpose": r.planned.purpose,
            "argv": r.planned.argv,
            "counters": r.planned.counters,
            "folder": r.planned.folder.name,
            "exit_code": r.exit_code,
            "status": r.status,
            "message": r.message,
            "duration_ns": round(r.seconds * 1e9),
        }
        for r in results
    ]
    text = json.dumps({"schema": "rocperf.raw/1", "target": plan.target, "passes": rows}, indent=1)
    part = plan.raw / ".manifest.part"
    part.write_text(text, encoding="utf-8")
    part.replace(plan.raw / "manifest.json")
