"""Why a pass brought nothing, or less than was asked, in the user's words: pure."""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rocperf.collect.supervise import Ended
from rocperf.collect.verify import Seen
from rocperf.metrics.trust import FIX_CLOCKS

#: Counters that a message names; table requested_counters holds all. A choice of ours.
MOST_NAMED = 6

Kind = Literal["fine", "machine", "capacity", "nothing", "failed", "timeout", "interrupted"]

# Texts of rocprofiler-sdk 1.0.0, of its status codes, and of the loader and the HSA runtime.
_CAPACITY = re.compile(r"exceeds the capabilities|EXCEEDS_HW_LIMIT")
_LOADER = re.compile(
    r"(?m)^.*(?:error while loading shared libraries: (\S+?):"
    r"|Failed to resolve path\. '([^']+)').*$"
)
_LIBRARY_GONE = re.compile(r"object '([^']+)' from LD_PRELOAD cannot be preloaded")
_PERMISSION = re.compile(
    r"(?mi)^.*(?:/dev/(?:kfd|dri)\S*.*(?:permission denied|not permitted)"
    r"|permission denied.*/dev/(?:kfd|dri)).*$"
)
_BUSY = re.compile(r"(?mi)^.*(?:another profiler|already (?:being )?profil|profiler attached).*$")
_UNSTARTED = re.compile(r"(?m)^(?:FileNotFoundError|PermissionError): .*$")
_FATAL = re.compile(r"(?m)^(?:F\d{4}(?:\d{4})? [^\]\n]*\] ?|(?:\[rocprofv3\] )?Fatal error: )(.+)$")
_ATTACHED = re.compile(r"(?mi)^.*\battach(?:ed|ing)?\b.*(?:success|pid)")
# Signals that a program raises by an error of its own, and the one of a failed check.
_WHO = dict.fromkeys((4, 7, 8, 11), "the program crashed") | {6: "it aborted"}
_UNLOCKED = re.compile(r"could not be locked|not support locking|has a profiler attached")
# Targets whose memory can fault and move, which HSA_XNACK switches on.
_XNACK = re.compile(r"gfx9(?:06|08|0a|4\d|50)\Z")


@dataclass(frozen=True)
class Verdict:
    """What became of a pass.

    Parameters
    ----------
    kind
        ``fine`` when it brought dispatches; ``machine`` when no other pass would do better.
    message
        What went wrong or was odd; None when nothing was.
    """

    kind: Kind
    message: str | None


@dataclass(frozen=True)
class Asked:
    """What a pass was to bring.

    Parameters
    ----------
    counters
        Names; empty for the timing run.
    kernels
        The filter of kernel names.
    target
        gfx target.
    environment
        Variables of the program.
    limit_s
        Its time limit.
    """

    counters: Sequence[str]
    kernels: str | None
    target: str
    environment: Mapping[str, str]
    limit_s: float | None


def explain(asked: Asked, ended: Ended, seen: Seen, log: str) -> Verdict:
    """Judge a pass by what it brought; its exit code proves nothing.

    Parameters
    ----------
    asked, ended, seen, log
        What was asked, how the pass ended, what it wrote, and its standard error.
    """
    wrote = f"it wrote {', '.join(seen.files)}" if seen.files else "nothing was written"
    if ended.how == "timeout":
        return Verdict("timeout", _timeout(asked, wrote))
    if ended.how == "interrupted":
        text = "interrupted run" if seen.dispatches else f"interrupted run: {wrote}"
        return Verdict("interrupted", text)
    if seen.dispatches:
        # Without any counter, a counter run is worth nothing: its times are not the program's.
        some = not asked.counters or len(seen.missing(asked.counters)) < len(asked.counters)
        return Verdict("fine" if some else "failed", _odd(asked, ended, seen, log))
    if found := _cause(asked, log):
        return found
    if ended.code < 0:
        number = -ended.code
        who = _WHO.get(number, "it was ended")
        fatal = _FATAL.search(log)
        text = f": {fatal[1].strip()[-300:]}" if fatal else ""
        return Verdict(
            "failed", f"ended by signal {number} ({who}, {_name(number)}){text}; {wrote}"
        )
    if fatal := _FATAL.search(log):
        return Verdict("failed", f"rocprofv3 failed: {fatal[1].strip()[-300:]}")
    if ended.code and not seen.files:
        last = _last_line(log)
        said = f": {last}" if last else ""
        return Verdict("failed", f"exit code {ended.code}{said}; nothing was written")
    text = _nothing(asked, ended, seen, wrote)
    if _ATTACHED.search(log):
        text += (
            ". Attaching works only with a process that was started with ROCP_TOOL_ATTACH=1:"
            " start it under rocperf collect instead"
        )
    return Verdict("nothing", text)


def _cause(asked: Asked, log: str) -> Verdict | None:
    """Find a known cause in what was said on standard error."""
    if _CAPACITY.search(log):
        names = " ".join(asked.counters) or "(none was asked for in this one)"
        return Verdict("capacity", f"the counter set exceeds what one pass can hold: {names}")
    if missing := _LIBRARY_GONE.search(log) or _LOADER.search(log):
        name = next(group for group in missing.groups() if group)
        return Verdict(
            "machine",
            f"a library that the profiler needs is missing: {name}. The program runs without"
            f" it; the profiler's part does not: {missing[0].strip()[-300:]}",
        )
    if denied := _PERMISSION.search(log):
        return Verdict("machine", f"no permission to use the GPU: {denied[0].strip()[-300:]}")
    if unstarted := _UNSTARTED.search(log):
        return Verdict("machine", f"the program could not be started: {unstarted[0][-300:]}")
    if busy := _BUSY.search(log):
        return Verdict("failed", f"a profiler is already running: {busy[0].strip()[-300:]}")
    return None


def _timeout(asked: Asked, wrote: str) -> str:
    text = f"took more than {asked.limit_s:g} s and was ended; {wrote}; --timeout S gives more time"
    if _XNACK.match(asked.target) and "HSA_XNACK" not in asked.environment:
        text += ". HSA_XNACK is not set: programs on managed memory can hang without HSA_XNACK=1"
    return text


def _nothing(asked: Asked, ended: Ended, seen: Seen, wrote: str) -> str:
    """Say that there are no dispatches, and the likely causes."""
    if seen.problem and seen.files and "no events" not in seen.problem:
        return f"what it wrote cannot be read: {seen.problem}"
    code = f"exit code {ended.code}; " if ended.code else ""
    if seen.domains:
        held = ", ".join(f"{n:,} {name}" for name, n in seen.domains.items())
        wrote += f", which hold {held}"
    text = f"no kernel dispatch rows ({code}{wrote})"
    if asked.kernels:
        shown = asked.kernels if len(asked.kernels) <= 80 else f"{asked.kernels[:80]}…"
        return f"{text}: no kernel matches {shown!r}, or none of the counters exist"
    if asked.counters:
        return f"{text}: none of the counters may exist on this GPU: {' '.join(asked.counters)}"
    return (
        f"{text}: no GPU work was seen. Did the program use the GPU, in a process that ended"
        " normally and was not started without LD_PRELOAD (sudo, static, container)?"
    )


def _odd(asked: Asked, ended: Ended, seen: Seen, log: str) -> str | None:
    """Say what is odd about a pass that brought dispatches."""
    odd: list[str] = []
    if ended.code:
        how = f"signal {-ended.code}" if ended.code < 0 else f"exit code {ended.code}"
        odd.append(f"the program ended with {how}")
    if missing := seen.missing(asked.counters):
        more = f" and {len(missing) - MOST_NAMED} more" if len(missing) > MOST_NAMED else ""
        odd.append(f"requested, not returned: {', '.join(missing[:MOST_NAMED])}{more}")
    if seen.gated:
        odd.append(
            "waves ran but every other counter is 0: their clock is gated. Fix the clocks with"
            f" `{FIX_CLOCKS}` and collect again"
        )
    wrong, of = seen.odd_waves
    if wrong:
        odd.append(
            f"SQ_WAVES differs from the size of the launch in {wrong:,} of {of:,} dispatches:"
            " other work ran at the same time, or the counters are not to be trusted"
        )
    if asked.counters and _UNLOCKED.search(log):
        odd.append(
            "the GPU could not be locked for counting (CAP_PERFMON): other programs on it may"
            " disturb the counters"
        )
    if ended.left:
        names = ", ".join(f"{name} (process {pid})" for pid, name in ended.left.items())
        odd.append(f"left behind by the program and ended: {names}")
    return "; ".join(odd) or None


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _last_line(log: str) -> str:
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return lines[-1][-300:] if lines else ""
