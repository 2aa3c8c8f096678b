"""Ask ROCm itself which counters there are and whether one run can hold some of them.

Its Python module is asked first, its tool ``rocprofv3-avail`` next, each in a process of its own
and for ten seconds at most; where neither answers, the table of `rocperf.collect.limits` decides.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rocperf.collect import bindings_child
from rocperf.collect.accumulated import level_of
from rocperf.collect.limits import ANCHORS, block_of, fits, used
from rocperf.collect.locate import PROBE_S, run_briefly

Run = Callable[[Sequence[str], float], tuple[int | None, str, str]]
Sets = Sequence[Sequence[str]]

#: Where releases put the module, below ROCm's folder, and how it is imported from there.
_MODULES = (
    ("bin/rocprofv3_avail_module", "avail"),
    ("lib/python*/site-packages", "rocprofv3.avail"),
)
_LIBRARIES = ("libexec/rocprofiler-sdk", "lib/rocprofiler-sdk", "lib")
_LIBRARY = "librocprofv3-list-avail.so"
_BLOCK = re.compile(r"(?m)^Name:\s*(\S+)\s*$")
_COUNTER = re.compile(r"(?m)^\s*Counter_Name\s*:\s*(\S+)\s*$")


@dataclass(frozen=True)
class Answer:
    """What ROCm says.

    Parameters
    ----------
    counters
        Names of the counters that the GPU has; None when it did not tell.
    fits
        For each set that was asked about whether one run can hold it; None when it did not tell.
    """

    counters: frozenset[str] | None
    fits: tuple[bool | None, ...]


class Source(Protocol):
    """Something that may know."""

    @property
    def told(self) -> str:
        """What it is, for people."""
        ...

    def ask(self, sets: Sets) -> Answer | None:
        """Answer for sets of counters; None when it does not work here."""
        ...


@dataclass(frozen=True)
class Bindings:
    """ROCm's Python module, asked about everything in one process."""

    folder: Path
    package: str
    library: Path
    root: Path
    target: str
    run: Run = run_briefly
    told: str = "ROCm's Python module avail"

    def ask(self, sets: Sets) -> Answer | None:
        """Answer for sets of counters."""
        child = Path(bindings_child.__file__)
        words = (child, self.folder, self.package, self.library, self.root, self.target)
        command = [sys.executable, "-I", *map(str, words), json.dumps([list(s) for s in sets])]
        code, out, _ = self.run(command, PROBE_S)
        if code != 0:
            return None
        try:
            content = json.loads(out)
            verdicts = tuple(each if each is None else bool(each) for each in content["fits"])
            return Answer(frozenset(map(str, content["counters"])), verdicts)
        except (ValueError, KeyError, TypeError):
            return None


@dataclass(frozen=True)
class Tool:
    """``rocprofv3-avail``, asked once a set."""

    path: Path
    target: str
    run: Run = run_briefly
    told: str = "rocprofv3-avail"

    def ask(self, sets: Sets) -> Answer | None:
        """Answer for sets of counters."""
        code, out, _ = self.run([str(self.path), "info", "--pmc"], PROBE_S)
        names = _listed(out, self.target) if code == 0 else None
        verdicts = tuple(self._check(each) for each in sets)
        if names is None and all(each is None for each in verdicts):
            return None
        return Answer(names, verdicts)

    def _check(self, counters: Sequence[str]) -> bool | None:
        code, out, error = self.run([str(self.path), "pmc-check", *counters], PROBE_S)
        if code == 0 and "can be collected together" in out:
            return True
        # An unknown name is no reason to part counters: rocprofv3 only leaves it out.
        return False if "not collected on agent" in error else None


def _listed(text: str, target: str) -> frozenset[str] | None:
    """Read the counters of one target from the text that lists those of every GPU."""
    parts = _BLOCK.split(text)
    for name, block in zip(parts[1::2], parts[2::2], strict=True):
        if name == target and (found := _COUNTER.findall(block)):
            return frozenset(found)
    return None


class Availability:
    """What is known of the counters of a GPU.

    Parameters
    ----------
    sources
        Asked in order; one that does not answer is not asked again.
    target
        gfx target.
    accumulates
        Whether rocprofv3 can be taught sums of levels, which ROCm does not list.
    """

    def __init__(
        self, sources: Iterable[Source], target: str, *, accumulates: bool = False
    ) -> None:
        self._sources, self._target = list(sources), target
        self._accumulates = accumulates
        self._refused: list[frozenset[str]] = []
        self._held: list[frozenset[str]] = []
        self._fewer: dict[str, int] = {}
        self.counters: frozenset[str] | None = None
        self.told = "rocperf's own table of limits"

    def has(self, counters: Iterable[str]) -> bool:
        """Tell whether the GPU has counters, as far as ROCm told; where it did not, it has."""
        names = [each.partition(":")[0] for each in counters]
        if any(map(level_of, names)) and not self._accumulates:
            return False
        known = self.counters
        return known is None or all((level_of(name) or name) in known for name in names)

    def fits(self, counters: Sequence[str]) -> bool:
        """Tell whether one run can hold counters, by the table and by what ROCm refused."""
        wanted = frozenset(counters)
        return fits(counters, self._target, self._fewer) and not any(
            bad <= wanted for bad in self._refused
        )

    def confirm(self, sets: Sets) -> bool:
        """Ask ROCm about sets that the table allows, and learn from what it refuses.

        Returns
        -------
        bool
            False when it refused one: then plan again. True as well when nobody can be asked.
        """
        new = [tuple(s) for s in sets if not any(frozenset(s) <= held for held in self._held)]
        verdicts = self._ask(new or [ANCHORS])
        refused = [each for each in new if verdicts.get(each) is False]
        for each in refused:
            self._refused.append(frozenset(each))
        self._held += [frozenset(each) for each in new if verdicts.get(each)]
        self._learn(refused)
        return not refused

    def _ask(self, sets: Sets) -> dict[tuple[str, ...], bool | None]:
        while self._sources:
            # What is asked of ROCm holds the level; the slot of its sum is counted by the table.
            answer = self._sources[0].ask([[level_of(n) or n for n in each] for each in sets])
            if answer is None or len(answer.fits) != len(sets):
                self._sources.pop(0)
                continue
            self.told = self._sources[0].told
            # A list that lacks what every GPU has is no list of this GPU.
            if answer.counters and frozenset(ANCHORS) <= answer.counters:
                self.counters = answer.counters
            return dict(zip(map(tuple, sets), answer.fits, strict=True))
        return {}

    def _learn(self, refused: Sets) -> None:
        """Find the block that has fewer slots than the table says, so that one refusal is enough.

        Of each block its first counters are asked about, two, three and so on.
        """
        starts: dict[str, list[tuple[str, ...]]] = {}
        for each in refused:
            for block in dict.fromkeys(block_of(name, self._target) for name in each):
                names = tuple(n for n in each if block_of(n, self._target) == block)
                if block and len(names) > len(starts.get(block, ())) + 1:
                    starts[block] = [names[:count] for count in range(2, len(names) + 1)]
        if not starts:
            return
        verdicts = self._ask([start for block in starts.values() for start in block])
        for block, some in starts.items():
            first = next((start for start in some if verdicts.get(start) is False), None)
            if first is not None:
                self._fewer[block] = sum(used(first[:-1], self._target).values())


def find(rocprofv3: Path, target: str, *, accumulates: bool = False) -> Availability:
    """Find what can be asked beside a rocprofv3."""
    sources: list[Source] = []
    if bindings := find_bindings(rocprofv3, target):
        sources.append(bindings)
    if tool := find_tool(rocprofv3):
        sources.append(Tool(tool, target))
    return Availability(sources, target, accumulates=accumulates)


def find_bindings(rocprofv3: Path, target: str = "") -> Bindings | None:
    """Find ROCm's Python module and its library; None where one of them is missing."""
    root = rocprofv3.resolve().parent.parent
    library = next(
        (p for folder in _LIBRARIES for p in sorted((root / folder).glob(f"{_LIBRARY}*"))), None
    )
    if library is None:
        return None
    for pattern, package in _MODULES:
        for folder in sorted(root.glob(pattern)):
            if folder.joinpath(*package.split(".")).with_suffix(".py").is_file():
                return Bindings(folder, package, library, root, target)
    return None


def find_tool(rocprofv3: Path) -> Path | None:
    """Find ``rocprofv3-avail`` beside a rocprofv3; None where there is none."""
    for folder in dict.fromkeys((rocprofv3.parent, rocprofv3.resolve().parent)):
        tool = folder / "rocprofv3-avail"
        if tool.is_file():
            return tool
    return None
