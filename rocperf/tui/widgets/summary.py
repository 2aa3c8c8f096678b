"""The line that says what profile this is."""

from __future__ import annotations

from rich.text import Text

from rocperf.pipeline import Summary
from rocperf.report.amounts import count, duration
from rocperf.report.visible import visible


def summary_text(summary: Summary) -> Text:
    """Return GPUs, times and counts; what is not known is left out."""
    facts = [", ".join(summary.gpus) or "GPU unknown"]
    if summary.region:
        facts.append(f"inside {summary.region}")
    if summary.serialised:
        facts.append("no timing run: times of a counter run, one kernel at a time")
    elif summary.wall_ns is not None:
        facts.append(f"wall {duration(summary.wall_ns)}")
    if summary.kernel_ns is not None:
        facts.append(f"kernels {duration(summary.kernel_ns)}")
    facts.append(count(summary.dispatches, "dispatch"))
    if summary.copies:
        facts.append(count(summary.copies, "copy"))
    return Text(visible(" · ".join(facts)))
