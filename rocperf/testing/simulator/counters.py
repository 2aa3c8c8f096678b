"""Hardware counters of the model GPU: a table from name to rule.

A counter that is not in the table of a GPU does not exist there, as rocprofv3 says it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from rocperf.testing.simulator import arithmetic
from rocperf.testing.simulator.clock import Cycles, cycles, l2_channels, quad_cycles
from rocperf.testing.simulator.gpus import GPUS, Gpu
from rocperf.testing.simulator.kernels import Launch
from rocperf.testing.simulator.rules import LINE, Traffic, traffic

#: Counters of one hardware block that can be measured at a time.
_SLOTS = {
    "SQ": 8, "TCP": 4, "TCC": 4, "TA": 2, "TD": 2, "GRBM": 2, "SPI": 6, "GL2C": 4, "SQC": 8,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Facts:
    """All that a rule may look at."""

    gpu: Gpu
    launch: Launch
    work: Traffic
    clock: Cycles
    waves: int

    @property
    def fetches(self) -> int:
        """L2 requests of the instruction caches: its code and one line of data, for each cache.

        Two compute units share a cache (recorded: 18 to 21 requests from each of 146 to 160).
        """
        caches = min(self.gpu.cus // 2, self.launch.workgroups)
        return caches * (self.launch.kernel.code_lines + 1)

    @property
    def fetch_misses(self) -> int:
        """Those of them that reach memory: once a die."""
        return self.gpu.xccs * (self.launch.kernel.code_lines + 1)


Rule = Callable[[Facts], float]


@dataclass(frozen=True, slots=True)
class Counter:
    """One counter: where it is counted, from how many instances, and by which rule.

    Parameters
    ----------
    name, block, description
        As a list of counters would print them; block is empty for derived ones.
    instances
        Records that an unsummed output holds for it.
    rule
        Its value for a dispatch, summed over the instances.
    needs
        Basic counters it takes up.
    """

    name: str
    block: str
    description: str
    instances: int
    rule: Rule
    needs: tuple[str, ...]


_SQ: dict[str, tuple[str, Rule]] = {
    "SQ_WAVES": ("waves launched", lambda f: f.waves),
    "SQ_BUSY_CYCLES": ("cycles with a wave, a shader engine", lambda f: f.clock.engines),
    "SQ_BUSY_CU_CYCLES": ("cycles with a wave, a compute unit", lambda f: f.clock.units),
    "SQ_INSTS_VALU": ("vector instructions", lambda f: f.waves * f.launch.kernel.valu),
    "SQ_INSTS_SALU": ("scalar instructions", lambda f: f.waves * f.launch.kernel.salu),
    "SQ_INSTS_SMEM": ("scalar loads", lambda f: f.waves * f.launch.kernel.smem),
    "SQ_INSTS_LDS": ("LDS instructions", lambda f: f.work.lds_instructions),
    "SQ_INSTS_FLAT": ("flat and global memory", lambda f: f.work.loads + f.work.stores),
}
_SQ_GFX9: dict[str, tuple[str, Rule]] = {
    "SQ_WAVE_CYCLES": ("wave lifetimes, in four cycles", lambda f: f.clock.waves // 4),
    "SQ_ACTIVE_INST_VALU": ("vector work, in four cycles", lambda f: quad_cycles(f.launch, f.gpu)),
    "SQ_THREAD_CYCLES_VALU": (
        "vector work times lanes",
        lambda f: quad_cycles(f.launch, f.gpu) * f.launch.kernel.lanes,
    ),
    "SQ_INSTS_VMEM": ("memory instructions", lambda f: f.work.loads + f.work.stores),
    "SQ_INSTS_VMEM_RD": ("loads", lambda f: f.work.loads),
    "SQ_INSTS_VMEM_WR": ("stores", lambda f: f.work.stores),
    "SQ_INSTS_MFMA": ("matrix instructions", lambda _: 0),
    "SQ_LDS_BANK_CONFLICT": ("LDS cycles lost to conflicts", lambda f: f.work.lds_conflicts),
    "SQ_LDS_IDX_ACTIVE": ("LDS cycles, conflicts included", lambda f: f.work.lds_active),
    "SQ_LDS_ADDR_CONFLICT": ("LDS cycles lost to equal addresses", lambda _: 0),
    "SQ_LDS_UNALIGNED_STALL": ("LDS cycles lost to alignment", lambda _: 0),
}
_TEXTURE: dict[str, tuple[str, Rule]] = {
    "TA_TOTAL_WAVEFRONTS": ("memory instructions", lambda f: f.work.loads + f.work.stores),
    "TA_BUFFER_WAVEFRONTS": ("buffer instructions", lambda _: 0),
    "TA_FLAT_READ_WAVEFRONTS": ("flat and global loads", lambda f: f.work.loads),
    "TA_FLAT_WRITE_WAVEFRONTS": ("flat and global stores", lambda f: f.work.stores),
    "TCP_TOTAL_ACCESSES": ("L1 accesses", lambda f: f.work.accesses),
    "TCP_TOTAL_CACHE_ACCESSES": ("L1 tag look-ups", lambda f: f.work.lines),
    "TCP_TCC_READ_REQ": ("L2 reads asked for", lambda f: f.work.read_requests),
    "TCP_TCC_WRITE_REQ": ("L2 writes asked for", lambda f: f.work.write_requests),
    "TCP_TCC_ATOMIC_WITH_RET_REQ": ("L2 atomics with result", lambda _: 0),
    "TCP_TCC_ATOMIC_WITHOUT_RET_REQ": ("L2 atomics without result", lambda _: 0),
}
_L2: dict[str, tuple[str, Rule]] = {
    "REQ": ("requests", lambda f: f.work.l2_reads + f.work.write_requests + f.fetches),
    "READ": ("reads", lambda f: f.work.l2_reads + f.fetches),
    "WRITE": ("writes", lambda f: f.work.write_requests),
    "MISS": (
        "misses: lines seen for the first time",
        lambda f: f.work.read_lines + f.work.write_lines + f.fetch_misses,
    ),
    "HIT": (
        "hits",
        lambda f: (
            f.work.l2_reads + f.work.write_requests + f.fetches
            - f.work.read_lines - f.work.write_lines - f.fetch_misses
        ),
    ),
}  # fmt: skip
_WRITES: dict[str, tuple[str, Rule]] = {
    "WRREQ": ("writes to memory", lambda f: f.work.writes_64 + f.work.writes_32),
    "WRREQ_64B": ("writes of 64 bytes", lambda f: f.work.writes_64),
}


def _reads(gpu: Gpu) -> dict[str, tuple[str, Rule]]:
    """Give the reads from memory: a line is one request of 128 bytes, on gfx90a two of 64."""
    if gpu.gfx == "gfx90a":
        whole: Rule = lambda f: f.work.read_lines * 2 + f.fetch_misses  # noqa: E731
        return {"RDREQ": ("reads", whole), "RDREQ_32B": ("reads of 32 bytes", lambda _: 0)}
    rules: dict[str, tuple[str, Rule]] = {
        "RDREQ": ("reads", lambda f: f.work.read_lines + f.fetch_misses),
        "RDREQ_32B": ("reads of 32 bytes", lambda _: 0),
        "RDREQ_DRAM": ("reads from device memory", lambda f: f.work.read_lines + f.fetch_misses),
    }
    if gpu.gfx == "gfx950":
        rules["RDREQ_64B"] = ("reads of 64 bytes", lambda f: f.fetch_misses)
        rules["RDREQ_128B"] = ("reads of 128 bytes", lambda f: f.work.read_lines)
    return rules


def _percent(part: Callable[[Facts], float], whole: Callable[[Facts], float]) -> Rule:
    return lambda f: 100.0 * part(f) / whole(f) if whole(f) else float("nan")


@lru_cache(maxsize=8)
def counters_of(gfx: str) -> dict[str, Counter]:
    """Every counter that the model has for a GPU, by name.

    Parameters
    ----------
    gfx
        A key of `rocperf.testing.simulator.GPUS`.
    """
    gpu = GPUS[gfx]
    table: dict[str, Counter] = {}

    def basic(name: str, block: str, instances: int, text: str, rule: Rule) -> None:
        table[name] = Counter(name, block, text, instances, rule, (name,))

    def derived(name: str, text: str, rule: Rule, *needs: str) -> None:
        table[name] = Counter(name, "", text, 1, rule, needs)

    basic("GRBM_COUNT", "GRBM", gpu.xccs, "cycles, each die", lambda f: f.clock.gui)
    basic("GRBM_GUI_ACTIVE", "GRBM", gpu.xccs, "busy cycles, each die", lambda f: f.clock.gui)
    further = {} if gpu.rdna else _SQ_GFX9 | arithmetic.sequencer(gfx)
    for name, (text, rule) in (_SQ | further).items():
        basic(name, "SQ", gpu.engines, text, rule)
    if gpu.rdna:
        _rdna(gpu, basic)
        return table
    for name, (text, rule) in (_TEXTURE | arithmetic.VECTOR_L1).items():
        block = name.partition("_")[0]
        basic(name, block, gpu.cus, text, rule)
        derived(f"{name}_sum", text, rule, name)
    edge = "EA" if gfx == "gfx90a" else "EA0"
    l2 = _L2 | arithmetic.L2 | {f"{edge}_{n}": r for n, r in (_reads(gpu) | _WRITES).items()}
    l2["BUBBLE"] = ("reads of 128 bytes", lambda f: 0 if gfx == "gfx90a" else f.work.read_lines)
    for name, (text, rule) in l2.items():
        basic(f"TCC_{name}", "TCC", l2_channels(gpu), text, rule)
        derived(f"TCC_{name}_sum", text, rule, f"TCC_{name}")
    _derived(gpu, edge, derived)
    return table


def _rdna(gpu: Gpu, basic: Callable[[str, str, int, str, Rule], None]) -> None:
    """RDNA 4: reads and writes of 256 bytes; 6 MiB of a kernel's writes stay in L2 (recorded)."""
    kept = 6 << 20
    basic("SQ_WAVE_CYCLES", "SQ", gpu.engines, "wave lifetimes", lambda f: f.clock.waves)
    basic("SQC_LDS_BANK_CONFLICT", "SQ", gpu.engines, "LDS cycles lost to conflicts",
          lambda f: f.work.lds_conflicts)  # fmt: skip
    basic("SQC_LDS_IDX_ACTIVE", "SQ", gpu.engines, "LDS cycles", lambda f: f.work.lds_active)
    for name, (text, rule) in _L2.items():
        if name in ("HIT", "MISS"):
            basic(f"GL2C_{name}", "GL2C", 16, text, rule)
    basic("GL2C_EA_RDREQ", "GL2C", 16, "reads of 256 bytes",
          lambda f: f.work.read_lines * LINE // 256 + 2)  # fmt: skip
    basic("GL2C_EA_WRREQ", "GL2C", 16, "writes of 256 bytes",
          lambda f: max(0, f.work.write_lines * LINE - kept) // 256)  # fmt: skip


class _Derive(Protocol):
    def __call__(self, name: str, text: str, rule: Rule, *needs: str) -> None: ...


def _derived(gpu: Gpu, edge: str, derived: _Derive) -> None:
    per_die: Rule = lambda f: f.clock.gui / f.gpu.xccs  # noqa: E731
    reads = tuple(f"TCC_{edge}_{n}" for n in ("RDREQ", "RDREQ_32B"))
    reads += () if gpu.gfx == "gfx90a" else ("TCC_BUBBLE",)
    derived("FETCH_SIZE", "KiB read from memory",
            lambda f: (f.work.read_lines * LINE + f.fetch_misses * 64) / 1024, *reads)  # fmt: skip
    derived("WRITE_SIZE", "KiB written to memory",
            lambda f: (f.work.writes_64 * 64 + f.work.writes_32 * 32) / 1024,
            f"TCC_{edge}_WRREQ", f"TCC_{edge}_WRREQ_64B")  # fmt: skip
    derived("OccupancyPercent", "wave slots held, of all",
            _percent(lambda f: f.clock.waves, lambda f: per_die(f) * gpu.cus * 32),
            "SQ_WAVE_CYCLES", "GRBM_GUI_ACTIVE")  # fmt: skip
    derived("LDSBankConflict", "share of time lost to LDS conflicts",
            _percent(lambda f: f.work.lds_conflicts, lambda f: per_die(f) * gpu.cus),
            "SQ_LDS_BANK_CONFLICT", "GRBM_GUI_ACTIVE")  # fmt: skip


def values(
    launch: Launch, gpu: Gpu, duration_ns: int, names: Iterable[str]
) -> list[tuple[Counter, float]]:
    """Values of the counters that exist, in the order asked for.

    Parameters
    ----------
    launch, gpu
        What ran where.
    duration_ns
        How long it took; the clock counters follow it.
    names
        Counters asked for. A name the GPU does not have gives nothing.
    """
    table = counters_of(gpu.gfx)
    waves = launch.workgroups * launch.waves_per_workgroup(gpu)
    facts = Facts(gpu, launch, traffic(launch, gpu), cycles(launch, gpu, duration_ns), waves)
    return [(table[name], table[name].rule(facts)) for name in names if name in table]


def split(counter: Counter, value: float) -> list[float]:
    """Share a value among the instances of a counter, as unsummed outputs hold it."""
    if counter.instances == 1 or value != int(value):
        return [float(value)]
    each, rest = divmod(int(value), counter.instances)
    return [float(each + (n < rest)) for n in range(counter.instances)]


def fits(gfx: str, names: Iterable[str]) -> bool:
    """Whether one run can measure these counters: no block is asked for more than it has."""
    table = counters_of(gfx)
    basic = {need for name in names if name in table for need in table[name].needs}
    used: dict[str, int] = {}
    for name in basic:
        block = table[name].block
        used[block] = used.get(block, 0) + 1
    slots = _SLOTS | ({"SQ": 16} if GPUS[gfx].rdna else {})
    return all(count <= slots[block] for block, count in used.items())
