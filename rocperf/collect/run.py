"""Run the passes of a plan, and make a profile of what they brought."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from rocperf.collect import command, events, inputs, manifest, passes, raw_folder, regions, verify
from rocperf.collect.explain import Asked, Verdict, explain
from rocperf.collect.manifest import Record
from rocperf.collect.plan import Plan
from rocperf.collect.records import counter_record
from rocperf.collect.supervise import Ended, Interrupts, supervise
from rocperf.errors import InterruptedRunError, MachineError, NothingError
from rocperf.ingest.events import Note
from rocperf.ingest.load import ingest

#: Bounds of the default time limit of a pass. Choices of ours: counter runs serialise kernels.
SHORTEST_LIMIT_S, TIMES_TIMING = 60.0, 20.0
#: Failed passes in a row after which, with nothing collected, no other is tried.
MOST_FAILURES = 2

OnEvent = Callable[[object], None]


@dataclass(frozen=True)
class Collected:
    """A finished collection.

    Parameters
    ----------
    profile, raw
        The profile, and the folder with what the profiler wrote.
    passes
        Every pass of the plan, also those that were not run.
    app_exit
        Exit code of the program in its first run, as a shell has it: 128 and the number of the
        signal that ended it.
    interrupted
        Whether the user stopped it; what was finished is in the profile.
    """

    profile: Path
    raw: Path
    passes: tuple[Record, ...]
    app_exit: int
    interrupted: bool = False

    def exit_code(self, *, strict: bool) -> int:
        """Return 130 when interrupted, 5 when something is missing and `strict`, else 0."""
        if self.interrupted:
            return 130
        partial = any(not p.complete or set(p.counters) > set(p.received) for p in self.passes)
        return 5 if strict and partial else 0


def collect(plan: Plan, on_event: OnEvent) -> Collected:
    """Run every pass that is missing and ingest what came.

    Parameters
    ----------
    plan
        From `rocperf.collect.prepare`.
    on_event
        Told of passes (`rocperf.collect.events`), and of progress and notes of reading.

    Returns
    -------
    Collected
        The profile. A failed pass does not lose the others.

    Raises
    ------
    NothingError
        If no pass brought a kernel dispatch.
    MachineError
        If the profiler cannot work here at all, and nothing was collected.
    InterruptedRunError
        If the user stopped it before anything was collected.
    UsageError
        If the region that counters are wanted of does not occur.
    """
    with raw_folder.begun(plan):
        for text in plan.warnings:
            on_event(events.Notice(0, len(plan.manifest.passes), text))
        with Interrupts() as interrupts:
            session = _Session(plan, on_event, interrupts)
            session.run()
        session.raise_if_nothing()

        def tell(event: object) -> None:
            # What became of the passes was told when it happened.
            if not (isinstance(event, Note) and event.code.startswith("pass-")):
                on_event(event)

        ingest([plan.raw], plan.output, mode="replace", merge=True, on_event=tell)
    records = session.manifest.passes
    lacking = [each.number for each in records if not each.complete]
    if lacking:
        allow = " --allow-serialised" if session.held_back else ""
        text = f"rocperf collect --resume {plan.output}{allow} runs what is missing"
        on_event(events.Notice(lacking[0], len(records), text))
    code = next((each.exit_code for each in records if each.exit_code is not None), 0)
    return Collected(
        plan.output, plan.raw, records, 128 - code if code < 0 else code, session.interrupted
    )


class _Session:
    """The passes of one call of `collect`, one after the other."""

    def __init__(self, plan: Plan, on_event: OnEvent, interrupts: Interrupts) -> None:
        self.plan, self.manifest = plan, plan.manifest
        self.interrupted = False
        self._on_event, self._interrupts = on_event, interrupts
        self._queue = list(plan.passes)
        self._failures = 0
        self._usable: set[int] = {r.number for r in plan.manifest.passes if r.complete}
        self._machine_trouble: str | None = None
        self._why_not: str | None = None
        self._kernels: str | None = None
        self._split: set[int] = set()
        timing = next(r for r in plan.manifest.passes if r.role == "timing")
        if timing.complete:
            self._after_timing(timing, verify.look(plan.raw / timing.folder))

    def run(self) -> None:
        """Run what is missing, until it is done or makes no sense any more."""
        while self._queue and not self.interrupted:
            if self._interrupts.count:
                self.interrupted = True
                break
            record = self._queue.pop(0)
            if record.counters and self._why_not:
                self._keep(replace(record, status="missing", message=self._why_not))
                self._on_event(events.PassFailed(record.number, self._of, self._why_not))
                continue
            self._one(record)
        for record in self._queue:
            if record.status != "missing" or record.message:
                self._keep(replace(record, status="missing", message=None))

    @property
    def held_back(self) -> bool:
        """Whether counter runs were left out that ``--allow-serialised`` would run."""
        return "--allow-serialised" in (self._why_not or "")

    @property
    def _of(self) -> int:
        return len(self.manifest.passes)

    def _keep(self, record: Record) -> None:
        self.manifest = self.manifest.with_pass(record)
        manifest.write(self.plan.raw, self.manifest)

    def _one(self, record: Record) -> None:
        """Run one pass, judge it, and decide what that means for the others."""
        if record.counters and self._kernels and record.kernels is None:
            record = self._of_region(record)
        self._on_event(events.PassStarted(record.number, self._of, _brief(record)))
        ended, seen, verdict = self._measure(record)
        folder = self.plan.raw / record.folder
        record = replace(
            record,
            exit_code=ended.code if ended.how == "exited" else None,
            status={"fine": "complete", "interrupted": "interrupted"}.get(verdict.kind, "failed"),
            message=verdict.message,
            received=tuple(c for c in record.counters if c not in seen.missing(record.counters)),
            duration_ns=round(ended.seconds * 1e9),
            files=manifest.describe_files(folder),
        )
        if seen.dispatches:
            self._usable.add(record.number)
        if verdict.kind == "capacity" and self._halve(record):
            return
        self._keep(record)
        self._tell(record, seen.dispatches, ended.seconds)
        self.interrupted = verdict.kind == "interrupted"
        if record.role == "timing":
            self._after_timing(record, seen)
        self._give_up(record, verdict)

    def _measure(self, record: Record) -> tuple[Ended, verify.Seen, Verdict]:
        plan, folder = self.plan, self.plan.raw / record.folder
        if folder.exists():
            shutil.rmtree(folder)
        scratch = folder / "tmp"
        scratch.mkdir(parents=True, mode=0o700)
        environment = command.environment(os.environ, scratch.absolute())
        limit_s = self._limit_s(record)
        number, of = record.number, self._of
        stdin = inputs.open_input(plan.request.stdin)
        try:
            ended = supervise(
                record.argv,
                environment=environment,
                stdin=stdin,
                log=folder / raw_folder.LOG,
                limit_s=limit_s,
                interrupts=self._interrupts,
                tell=lambda text: self._on_event(events.Told(number, of, text)),
                beat=lambda seconds, waiting: self._on_event(
                    events.Heartbeat(number, of, seconds, raw_folder.size(folder), waiting)
                ),
            )
        except OSError as error:
            raise MachineError(
                f"{plan.profiler.path} cannot be started: {error.strerror}", hint="rocperf doctor"
            ) from error
        finally:
            os.close(stdin)
        shutil.rmtree(scratch, ignore_errors=True)
        seen = verify.look(folder)
        kernels = record.kernels or plan.request.kernels
        asked = Asked(record.counters, kernels, plan.target, environment, limit_s)
        return ended, seen, explain(asked, ended, seen, raw_folder.read_log(folder))

    def _limit_s(self, record: Record) -> float | None:
        """Return the time limit of a pass; the timing run has none unless the user gives it."""
        if self.plan.request.timeout_s is not None:
            return self.plan.request.timeout_s
        timing = next(r for r in self.manifest.passes if r.role == "timing")
        if record.number == timing.number or timing.duration_ns is None:
            return None
        return max(SHORTEST_LIMIT_S, TIMES_TIMING * timing.duration_ns / 1e9)

    def _tell(self, record: Record, dispatches: int, seconds: float) -> None:
        number, of = record.number, self._of
        if record.complete:
            self._on_event(events.PassFinished(number, of, seconds, dispatches))
            if record.message:
                self._on_event(events.Told(number, of, record.message))
        else:
            self._on_event(events.PassFailed(number, of, record.message or record.status))

    def _halve(self, record: Record) -> bool:
        """Put two halves in the place of a pass that was too large; each is tried once."""
        whole = passes.CounterPass(record.counters, record.metrics)
        halves = passes.split(whole, self.plan.target) if record.counters else ()
        if not halves or record.number in self._split:
            return False
        of = self._of
        text = f"{record.message}; it is split in two"
        self._on_event(events.Told(record.number, of, text))
        for number, half in zip((record.number, of + 1), halves, strict=True):
            each = counter_record(
                self.plan.request, self.plan.profiler, self.plan.raw, number, half, record.kernels
            )
            each = replace(each, purpose=f"{each.purpose} (half of a set that was too large)")
            self._split.add(number)
            self._keep(each)
            self._queue.append(each)
        return True

    def _after_timing(self, record: Record, seen: verify.Seen) -> None:
        """Learn from the timing run what counter runs may do."""
        request = self.plan.request
        if seen.waiting_kernels and not request.allow_serialised:
            names = ", ".join(seen.waiting_kernels[:3])
            more = len(seen.waiting_kernels) - 3
            names += f" and {more} more" if more > 0 else ""
            self._why_not = (
                f"not run: {names} may wait for other kernels; counter runs let one kernel run at"
                " a time, so that it could wait for ever; --allow-serialised runs them nevertheless"
            )
        if request.region and record.complete and self._queue:
            inside = verify.kernels_in_region(self.plan.raw / record.folder, request.region)
            self._kernels = regions.pattern(inside, request.kernels)
            if self._kernels is None:
                self._why_not = f"not run: no kernel was launched in region {request.region!r}"

    def _of_region(self, record: Record) -> Record:
        wanted = passes.CounterPass(record.counters, record.metrics)
        return replace(
            counter_record(
                self.plan.request,
                self.plan.profiler,
                self.plan.raw,
                record.number,
                wanted,
                kernels=self._kernels,
            ),
            purpose=record.purpose,
        )

    def _give_up(self, record: Record, verdict: Verdict) -> None:
        """Leave the other passes out where they could do no better."""
        self._failures = 0 if record.complete else self._failures + 1
        if verdict.kind == "machine":
            self._machine_trouble = verdict.message
        hopeless = verdict.kind == "machine" or (
            record.role == "timing" and verdict.kind in ("nothing", "timeout")
        )
        if hopeless or (self._failures >= MOST_FAILURES and not self._usable):
            self._queue.clear()

    def raise_if_nothing(self) -> None:
        """Raise the error that says why nothing was collected, if nothing was."""
        if self._usable:
            return
        said = [
            f"pass {record.number}: {record.message}"
            for record in self.manifest.passes
            if record.message and record.status != "missing"
        ]
        raw = self.plan.raw
        if self.interrupted:
            raise InterruptedRunError(
                "; ".join(said) or "interrupted run: nothing was collected",
                hint=f"rocperf collect --resume {self.plan.output} goes on",
            )
        if self._machine_trouble:
            raise MachineError(self._machine_trouble, hint=f"see {raw}/pass_1/{raw_folder.LOG}")
        raise NothingError(
            f"nothing was collected: {'; '.join(said) or 'no pass was run'}",
            hint=f"what rocprofv3 wrote and said is in {raw}",
        )


def _brief(record: Record) -> str:
    """Say what a pass is for in a line of a terminal."""
    if len(record.metrics) <= 3:
        return record.purpose
    shown = ", ".join(record.metrics[:2])
    return f"counters for {shown} and {len(record.metrics) - 2} other metrics"
