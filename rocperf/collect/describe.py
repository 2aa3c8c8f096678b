"""A plan in words, and what to know before it is run."""

from __future__ import annotations

import os
import shlex
import textwrap
from typing import TYPE_CHECKING

from rocperf.collect import machine
from rocperf.collect.records import can_count
from rocperf.metrics.trust import FIX_CLOCKS

if TYPE_CHECKING:
    from rocperf.collect.plan import Plan

#: Characters of a line of the plan. A choice of ours.
WIDTH = 96


def warnings(plan: Plan) -> tuple[str, ...]:
    """Say what the user should know before anything is run."""
    found = list(machine.visibility_warnings(os.environ, len(plan.machine.targets)))
    others = sorted(set(plan.machine.targets) - {plan.target})
    if others:
        found.append(f"counters are planned for {plan.target}; {', '.join(others)} may lack some")
    counting = any(each.counters for each in plan.passes)
    if counting and machine.gated(plan.target, machine.performance_levels()):
        found.append(
            f"{plan.target} stops the clock of most counters unless clocks are fixed:"
            f" `{FIX_CLOCKS}`"
        )
    if not can_count(plan.profiler) and plan.request.metrics:
        found.append("this rocprofv3 has no --pmc: counters need that of ROCm 6.3 or later")
    return tuple(found)


def describe(plan: Plan) -> str:
    """Return the plan as text: what each run is for, its counters and its exact command."""
    count = len(plan.passes)
    effects = f"{count} times; its side effects (files, network) happen once per run."
    times = {0: "no more: every pass is there.", 1: "once."}.get(count, effects)
    lines = [
        f"{plan.profiler.path} ({plan.profiler.told}), GPU {plan.target}",
        f"The program runs {times}",
        *(line for text in plan.warnings for line in _wrapped(f"note: {text}")),
    ]
    done = len(plan.manifest.passes) - count
    if done:
        lines.append(f"{done} of {len(plan.manifest.passes)} passes are there already.")
    if plan.request.deepen is not None:
        names = [name if len(name) <= 60 else f"{name[:60]}…" for name in plan.request.deepen]
        lines += ["Counters of the kernels that findings name:", *(f"   {n}" for n in names)]
    for each in plan.passes:
        lines += ["", *_wrapped(f"{each.number}. {each.purpose}")]
        if each.counters:
            lines += _wrapped(f"   counters: {' '.join(each.counters)}")
            if plan.request.region and each.kernels is None:
                lines.append(
                    f"   of the kernels that the timing run sees in {plan.request.region!r}"
                )
        lines.append(f"   $ {shlex.join(each.argv)}")
    lines += ["", "Variables of profilers (ROCPROF_*) are not passed on."]
    if plan.checked_by and any(each.counters for each in plan.passes):
        lines.append(f"What fits into one run was told by {plan.checked_by}.")
    return "\n".join([*lines, f"Result: {plan.output} and {plan.raw}/"]) + "\n"


def _wrapped(text: str) -> list[str]:
    """Break a line that is for reading; commands stay whole, so that they can be copied."""
    return textwrap.wrap(
        text, WIDTH, subsequent_indent="   ", break_long_words=False, break_on_hyphens=False
    )
