"""Ask ROCm itself whether one run can hold some counters, where its tool is installed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from rocperf.collect.limits import ANCHORS, fits
from rocperf.collect.locate import PROBE_S, run_briefly

Run = Callable[[Sequence[str], float], tuple[int | None, str, str]]


class Availability:
    """Answers from ``rocprofv3-avail pmc-check``, each asked once, else from the table of limits.

    The tool starts ROCm in its own process, since it may abort.

    Parameters
    ----------
    tool
        The executable; None where it is not installed.
    target
        gfx target.
    run
        Runs a command; replaced in tests.
    """

    def __init__(self, tool: Path | None, target: str, run: Run = run_briefly) -> None:
        self._tool, self._target, self._run = tool, target, run
        self._known: dict[tuple[str, ...], bool] = {}
        self.asked = False
        self._works = tool is not None and self._answers()

    def _answers(self) -> bool:
        """Try it on counters that every run can hold: no GPU or another one makes it fail."""
        return self._ask(ANCHORS) is True

    def fits(self, counters: Sequence[str]) -> bool:
        """Tell whether one run can hold counters."""
        if not fits(counters, self._target):
            return False
        if not self._works:
            return True
        key = tuple(sorted(counters))
        if key not in self._known:
            answer = self._ask(counters)
            if answer is None:  # it stopped to answer: the table has to do
                self._works = False
                return True
            self._known[key] = answer
        return self._known[key]

    def _ask(self, counters: Sequence[str]) -> bool | None:
        code, out, error = self._run([str(self._tool), "pmc-check", *counters], PROBE_S)
        self.asked = True
        if code == 0 and "can be collected together" in out:
            return True
        if "not collected on agent" in error:
            return False
        # An unknown name is no reason to part counters: rocprofv3 only leaves it out.
        return True if "Invalid counter name" in error + out else None


def find_tool(rocprofv3: Path) -> Path | None:
    """Find ``rocprofv3-avail`` beside a rocprofv3; None where there is none."""
    for folder in dict.fromkeys((rocprofv3.parent, rocprofv3.resolve().parent)):
        tool = folder / "rocprofv3-avail"
        if tool.is_file():
            return tool
    return None
