"""What the columns of a joined counter table are: identity, counters, and the pass of each.

A wide table joins several passes side by side. Every pass brings its identity columns again,
which the join names ``_1``, ``_2`` …: the counters between two of them were measured together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

#: Meaning -> names that some generation of the tools gave that column.
ALIASES: Mapping[str, tuple[str, ...]] = {
    "dispatch_id": ("Dispatch_ID", "Index"),
    "kernel": ("Kernel_Name", "KernelName"),
    "agent_id": ("GPU_ID", "gpu-id"),
    "queue_id": ("Queue_ID", "queue-id"),
    "pid": ("PID", "pid"),
    "thread_id": ("TID", "tid"),
    "grid_size": ("Grid_Size", "grd", "GRD"),
    "workgroup_size": ("Workgroup_Size", "wgr", "WGR"),
    "lds": ("LDS_Per_Workgroup", "lds", "LDS"),
    "scratch_bytes": ("Scratch_Per_Workitem", "scr", "SCR"),
    "vgpr": ("Arch_VGPR", "arch_vgpr", "vgpr"),
    "agpr": ("Accum_VGPR", "accum_vgpr", "ACCUM_VGPR"),
    "sgpr": ("SGPR", "sgpr"),
    "start_ns": ("Start_Timestamp", "BeginNs"),
    "end_ns": ("End_Timestamp", "EndNs"),
}
#: Without these a row says nothing that can be stored.
NEEDED = ("dispatch_id", "kernel", "agent_id")
# Identity columns that nothing is stored of; the first five come again with every pass.
_REPEATED = ("wave_size", "Wave_Size", "obj", "OBJ", "Correlation_ID", "XCC_Index")
_OTHER = (
    "Counter",
    "CompleteNs",
    "DispatchNs",
    "Kernel_ID",
    "Node_ID",
    "Queue_Index",
    "SIG",
    "fbar",
    "queue-index",
    "sig",
    "stream-id",
)
_KNOWN = frozenset((*_REPEATED, *_OTHER, *(name for names in ALIASES.values() for name in names)))
_SUFFIX = re.compile(r"(.+)_(\d+)")
_CHANNEL = re.compile(r"(.+)\[(\d+)\]")
_ACCUMULATION = ("SQ_ACCUM_PREV_HIRES", "SQ_ACCUM_PREV")
_LEVEL = re.compile(r"SQ_(?:LEVEL_WAVES|IFETCH_LEVEL|INST_LEVEL_\w+)")
#: Counters of the SQ block that one pass can hold on gfx9 (the profiler's own limits table).
SQ_SLOTS = 8


@dataclass(frozen=True, slots=True)
class CounterColumn:
    """One counter column of a pass.

    Parameters
    ----------
    column
        Its name in the file.
    counter
        The counter that it holds; with a channel, without the ``[k]``.
    channel
        Number of the hardware instance; None when the value is of all of them.
    group
        Pass that it was measured in, from 0.
    """

    column: str
    counter: str
    channel: int | None
    group: int


@dataclass(frozen=True)
class Columns:
    """The columns of one table.

    Parameters
    ----------
    identity
        Meaning to column, for those that are there.
    counters
        In the order of the file.
    groups
        Passes joined, by number from 0; one for a table of one.
    inferred
        Whether the passes follow from the order of the counters alone.
    rocprof_v1
        Whether the rows come from rocprof v1, whose LDS is that of the launch.
    """

    identity: Mapping[str, str]
    counters: tuple[CounterColumn, ...]
    groups: tuple[int, ...]
    inferred: bool
    rocprof_v1: bool

    @property
    def missing(self) -> tuple[str, ...]:
        """Meanings without which nothing can be read."""
        return tuple(name for name in NEEDED if name not in self.identity)

    def of_group(self, group: int) -> tuple[CounterColumn, ...]:
        """Counter columns of one pass."""
        return tuple(c for c in self.counters if c.group == group)


def understand(header: Sequence[str]) -> Columns:
    """Say what each column of a header is.

    Parameters
    ----------
    header
        Names of the columns, in order.
    """
    names = set(header)
    identity = {
        meaning: next(name for name in aliases if name in names)
        for meaning, aliases in ALIASES.items()
        if not names.isdisjoint(aliases)
    }
    counters: list[CounterColumn] = []
    group = 0
    seen: set[str] = set()
    for name in header:
        base = _without_suffix(name, seen)
        if base in _REPEATED and base != name:
            group = max(group, int(name[len(base) + 1 :]))
        if base not in _KNOWN:
            channel = _CHANNEL.fullmatch(base)
            counters.append(
                CounterColumn(name, channel[1], int(channel[2]), group)
                if channel
                else CounterColumn(name, base, None, group)
            )
        seen.add(base)
    inferred = group == 0 and _too_many(counters)
    if inferred:
        counters = _split_by_block(counters)
    counters = _name_accumulations(counters)
    groups = groups_of(counters)
    v1 = bool(names & {"obj", "OBJ", "fbar"})
    return Columns(identity, tuple(counters), groups, inferred, v1)


def groups_of(counters: Sequence[CounterColumn]) -> tuple[int, ...]:
    """Return the numbers of the passes that have counters; a table without any is of pass 0."""
    return tuple(sorted({c.group for c in counters})) or (0,)


def _without_suffix(name: str, seen: set[str]) -> str:
    # SQC_DCACHE_REQ_READ_1 is a counter: only a name that was there before can come again.
    match = _SUFFIX.fullmatch(name)
    return match[1] if match and match[1] in seen else name


def block_of(counter: str) -> str:
    """Name the hardware block of a counter; SQC counts within SQ's slots."""
    block = counter.partition("_")[0]
    return "SQ" if block == "SQC" else block


def _too_many(counters: Sequence[CounterColumn]) -> bool:
    return sum(block_of(c.counter) == "SQ" for c in counters) > SQ_SLOTS


def _split_by_block(counters: Sequence[CounterColumn]) -> list[CounterColumn]:
    """Begin a new pass where a block comes again that had ended within the pass."""
    result: list[CounterColumn] = []
    ended: set[str] = set()
    group, current, slots = 0, "", 0
    for each in counters:
        block = block_of(each.counter)
        full = block == "SQ" and slots == SQ_SLOTS
        if (block != current and block in ended) or full:
            ended.clear()
            group, slots = group + 1, 0
        elif current and block != current:
            ended.add(current)
        current, slots = block, slots + (block == "SQ")
        result.append(CounterColumn(each.column, each.counter, each.channel, group))
    return result


def _name_accumulations(counters: Sequence[CounterColumn]) -> list[CounterColumn]:
    """Name an accumulation after the level counter that it accumulates, in the same pass."""
    result: list[CounterColumn] = []
    for index, each in enumerate(counters):
        if each.counter in _ACCUMULATION:
            before = [c.counter for c in counters[:index] if c.group == each.group]
            level = next((name for name in reversed(before) if _LEVEL.fullmatch(name)), None)
            name = f"{level}_ACCUM" if level else each.counter
            result.append(CounterColumn(each.column, name, None, each.group))
        else:
            result.append(each)
    return result
