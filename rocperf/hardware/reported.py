"""What profilers report of registers and LDS, turned into what a launch really uses.

The columns do not mean the same on every GPU. The rules follow rocprofiler-sdk 1.0.0
(code_object.cpp, generateCSV.cpp, data_views.sql) and its successor in ROCm/rocm-systems.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from rocperf.hardware.facts import GpuFacts, round_up
from rocperf.hardware.occupancy import KernelResources
from rocperf.model import Confidence

Halved = Literal["yes", "likely", "no"]
CaveatCode = Literal[
    "accumulation registers unknown",
    "register counts halved",
    "register counts perhaps halved",
    "scalar registers unknown",
    "static LDS only",
    "LDS unknown",
    "LDS rounded",
    "wave size assumed",
    "WGP mode assumed",
]

_CSV_LDS_GRANULE: Final = 512
"""rocprofv3 rounds the static LDS of its CSV to this on every GPU (generateCSV.cpp)."""

_ORDER: Final[tuple[Confidence, ...]] = ("low", "medium", "high")


@dataclass(frozen=True, slots=True)
class Caveat:
    """Something to know about a launch's resources.

    Parameters
    ----------
    code
        Which; stable.
    text
        The same as a sentence.
    confidence
        The most that a finding built on it can claim.
    upper_bound
        Whether it can only make the true occupancy lower than the one computed.
    """

    code: CaveatCode
    text: str
    confidence: Confidence = "high"
    upper_bound: bool = False


@dataclass(frozen=True, slots=True)
class Reported:
    """Resources of a launch as far as the profiler tells.

    Parameters
    ----------
    resources
        None when they cannot be known; then ``reason`` says why.
    wave_size
        Lanes of a wave, proven or assumed.
    caveats
        What was assumed.
    reason
        Why there are no resources; empty otherwise.
    """

    resources: KernelResources | None
    wave_size: int
    caveats: tuple[Caveat, ...] = ()
    reason: str = ""

    @property
    def confidence(self) -> Confidence:
        """The most that a finding can claim."""
        lowest: Confidence = "high"
        for caveat in self.caveats:
            if _ORDER.index(caveat.confidence) < _ORDER.index(lowest):
                lowest = caveat.confidence
        return lowest

    @property
    def upper_bound(self) -> bool:
        """Whether the true occupancy may be lower than the one computed."""
        return any(c.upper_bound for c in self.caveats)


def halved_counts(counts: Iterable[tuple[int | None, int | None]]) -> Halved:
    """Say whether a gfx950 profile comes from an SDK that reports half the registers.

    rocprofiler-sdk 1.0.0 does not know gfx950: it writes half of the allocation as VGPRs and 0
    as accumulation registers. Later ones are right. An allocation is a multiple of 8, so an odd
    multiple of 4 without accumulation registers proves the halving; with accumulation registers
    anywhere there is none; all of them 0 makes it likely.

    Parameters
    ----------
    counts
        Pairs of VGPR and accumulation register counts of every gfx950 dispatch in the profile.
    """
    told = [(v, a) for v, a in counts if v and a is not None]
    if any(a == 0 and v % 8 == 4 for v, a in told):
        return "yes"
    return "likely" if told and all(a == 0 for _, a in told) else "no"


def proven_wave_size(
    facts: GpuFacts, workgroup_size: int | None, grid_size: int | None, waves: float | None
) -> int | None:
    """Return the lanes of a wave that a counted number of waves proves, or None.

    Parameters
    ----------
    facts
        The target.
    workgroup_size, grid_size
        Work-items of a workgroup and of the grid.
    waves
        Waves that were counted for such a launch (SQ_WAVES).
    """
    if not workgroup_size or not grid_size or not waves or grid_size % workgroup_size:
        return None
    groups = grid_size // workgroup_size
    fitting = [n for n in facts.wave_sizes if groups * math.ceil(workgroup_size / n) == waves]
    # Workgroups of up to 32 work-items are one wave of either size.
    return fitting[0] if len(fitting) == 1 else None


def reported_resources(
    facts: GpuFacts,
    row: Mapping[str, object],
    *,
    halved: Halved | None = None,
    wave_size: int | None = None,
) -> Reported:
    """Return what a dispatch uses, from what the profiler wrote.

    Accumulation registers that come out of it are allocated, not necessarily used: on gfx90a
    and later the profiler's count includes padding, so it is no evidence of matrix instructions.

    Parameters
    ----------
    facts
        The target.
    row
        A row of ``dispatches``, or its columns ``vgpr``, ``agpr``, ``sgpr``, ``lds_bytes``,
        ``static_lds_bytes`` and ``workgroup_size``.
    halved
        What `halved_counts` says of the whole profile; judged by this row alone when None.
        Matters on gfx950 only.
    wave_size
        Lanes of a wave, where something proves them (waves counted against work-items).
    """
    vgpr, agpr = _whole(row, "vgpr"), _whole(row, "agpr")
    size = _whole(row, "workgroup_size")
    caveats: list[Caveat] = []
    wave = _wave_size(facts, vgpr, wave_size, caveats)
    if not vgpr:
        return Reported(None, wave, reason="the profiler recorded no register counts")
    if not size:
        return Reported(None, wave, reason="the profiler recorded no workgroup size")
    vgpr, agpr = _registers(facts, vgpr, agpr, halved, caveats)
    sgpr = _whole(row, "sgpr") or None
    if "sgprs_per_simd" not in facts.figures:
        sgpr = None  # rocprofv3 writes 128 for every RDNA kernel, and it limits nothing there
    elif sgpr is None:
        text = "scalar registers were not recorded; they may limit more"
        caveats.append(Caveat("scalar registers unknown", text, "medium", upper_bound=True))
    lds = _lds(facts, row, caveats)
    if facts.is_rdna and (lds or size > wave):
        text = "whether workgroups may use both CUs of a WGP was not recorded; the default is yes"
        caveats.append(Caveat("WGP mode assumed", text, "medium"))
    resources = KernelResources(vgpr=vgpr, agpr=agpr, sgpr=sgpr, lds_bytes=lds, workgroup_size=size)
    return Reported(resources, wave, tuple(caveats))


def _wave_size(facts: GpuFacts, vgpr: int | None, told: int | None, caveats: list[Caveat]) -> int:
    sizes = facts.wave_sizes
    if len(sizes) == 1:
        return sizes[0]
    # Wave32 kernels are encoded in blocks of 8 registers, wave64 kernels in blocks of 4.
    if vgpr and vgpr % facts.whole("vgpr_encoding_granule_wave32"):
        return 64
    if told in sizes:
        return told
    text = f"the wave size was not recorded; {sizes[0]} is what HIP takes by default"
    caveats.append(Caveat("wave size assumed", text, "medium"))
    return sizes[0]


def _registers(
    facts: GpuFacts, vgpr: int, agpr: int | None, halved: Halved | None, caveats: list[Caveat]
) -> tuple[int, int]:
    if facts.registers == "single":
        return vgpr, 0
    if facts.registers == "separate":
        # Here the profiler copies the VGPR count; the files are apart, so the larger counts.
        return vgpr, agpr or 0
    if agpr is None:
        text = "accumulation registers were not recorded; with them fewer waves may fit"
        caveat = Caveat("accumulation registers unknown", text, "medium", upper_bound=True)
        caveats.append(caveat)
        return vgpr, 0
    if facts.target != "gfx950":
        return vgpr, agpr
    halved = halved or halved_counts([(vgpr, agpr)])
    if halved == "no":
        return vgpr, agpr
    if halved == "yes":
        text = "this profiler writes half the registers of gfx950; the counts were doubled"
        caveats.append(Caveat("register counts halved", text))
    else:
        text = (
            "no gfx950 kernel shows accumulation registers, so the profiler probably wrote half "
            "the registers; the counts were doubled"
        )
        caveats.append(Caveat("register counts perhaps halved", text, "low"))
    return 2 * vgpr, 0


def _lds(facts: GpuFacts, row: Mapping[str, object], caveats: list[Caveat]) -> int:
    launched = _whole(row, "lds_bytes")
    if launched is not None:
        return launched
    static = _whole(row, "static_lds_bytes")
    if static is None:
        text = "LDS was not recorded; it may limit more"
        caveats.append(Caveat("LDS unknown", text, "low", upper_bound=True))
        return 0
    text = "static LDS only: memory asked for at launch is not recorded, so fewer waves may fit"
    caveats.append(Caveat("static LDS only", text, "medium", upper_bound=True))
    granule = facts.whole("lds_granule_bytes")
    least = max(0, static - _CSV_LDS_GRANULE + 1)
    if static % _CSV_LDS_GRANULE == 0 and round_up(least, granule) != round_up(static, granule):
        text = f"LDS was rounded to {_CSV_LDS_GRANULE} B; {facts.target} allocates {granule} B"
        caveats.append(Caveat("LDS rounded", text, "medium"))
    return static


def _whole(row: Mapping[str, object], name: str) -> int | None:
    value = row.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if value >= 0 else None
