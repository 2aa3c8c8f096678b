"""What the occupancy calculator found, as text of 80 columns and as JSON."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from typing import Final

from rocperf.hardware import Calculation
from rocperf.hardware.occupancy import Limiter
from rocperf.hardware.whatif import Resource, Step
from rocperf.report.amounts import share

WIDTH: Final = 80
TEXT_STEPS: Final = 8
"""Next steps that the text shows; JSON has them all. A choice of ours."""

_LIMITERS: Final[dict[Limiter, str]] = {
    "vgpr": "vector registers",
    "sgpr": "scalar registers",
    "lds": "LDS",
    "barriers": "barriers: a CU synchronises 16 workgroups of more than one wave",
    "wave slots": "nothing: every wave slot is taken",
    "workgroup granularity": "workgroup size: the free slots are too few for one more",
    "cannot launch": "cannot launch",
}
_UNITS: Final[dict[Resource, str]] = {"vgpr": "vector registers", "sgpr": "SGPRs", "lds": "B LDS"}


def calculation_json(found: Calculation) -> str:
    """Return one JSON object; `limiters` and `next_steps` are lists, sizes are bytes."""
    occupancy, limits = found.occupancy, found.occupancy.limits
    document = {
        "gpu": found.facts.target,
        "block": found.block,
        "wave_size": limits.wave_size,
        "cu_mode": found.cu_mode,
        "vgpr": found.resources.vgpr,
        "agpr": found.resources.agpr,
        "sgpr": found.resources.sgpr,
        "lds": found.resources.lds_bytes,
        "workgroup": found.resources.workgroup_size,
        "waves_per_workgroup": occupancy.waves_per_workgroup,
        "allocated_vgprs": occupancy.allocated_vgprs,
        "max_waves_per_simd": limits.max_waves_per_simd,
        "waves_per_simd": occupancy.waves_per_simd,
        "compiler_waves_per_simd": found.compiler_waves_per_simd,
        "workgroups_per_cu": occupancy.workgroups,
        "occupancy": occupancy.occupancy,
        "limiters": list(occupancy.limiters),
        "workgroups_allowed_by": {
            "wave_slots": occupancy.n_slots,
            "barriers": occupancy.n_barriers,
            "vgpr": occupancy.n_vgpr,
            "sgpr": occupancy.n_sgpr,
            "lds": occupancy.n_lds,
        },
        "headroom": dict(found.headroom),
        "next_steps": [_step(step) for step in found.steps],
        "notes": list(found.notes),
    }
    return json.dumps(document, indent=2) + "\n"


def _step(step: Step) -> dict[str, object]:
    return {
        "waves_per_simd": step.waves_per_simd,
        "workgroups_per_cu": step.workgroups,
        "occupancy": step.occupancy,
        "changes": [
            {"resource": each.resource, "now": each.now, "at_most": each.at_most}
            for each in step.changes
        ],
    }


def calculation_text(found: Calculation) -> str:
    """Return the answer for people; no line is longer than 80 columns."""
    parts = [_asked(found), _answer(found), _limits(found), _steps(found)]
    if found.notes:
        parts.append("\n".join(("Notes", *(_wrapped(each, "  - ") for each in found.notes))))
    return "\n\n".join(parts) + "\n"


def _wrapped(text: str, lead: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent=lead, subsequent_indent=" " * len(lead))


def _asked(found: Calculation) -> str:
    asked, occupancy = found.resources, found.occupancy
    waves = "wave" if occupancy.waves_per_workgroup == 1 else "waves"
    mode = f", {'CU' if found.cu_mode else 'WGP'} mode" if found.facts.is_rdna else ""
    first = (
        f"{found.facts.target} ({found.facts.family.upper()}), wave{occupancy.limits.wave_size}"
        f"{mode}: workgroups of {asked.workgroup_size} work-items, "
        f"{occupancy.waves_per_workgroup} {waves}"
    )
    counts = [f"{asked.vgpr} VGPRs"]
    if found.facts.registers != "single":
        counts.append(f"{asked.agpr} AGPRs")
    counts.append("SGPRs not given" if asked.sgpr is None else f"{asked.sgpr} SGPRs")
    counts.append(f"{asked.lds_bytes} B LDS a workgroup")
    return f"{first}\n{', '.join(counts)}"


def _answer(found: Calculation) -> str:
    occupancy, block = found.occupancy, found.block
    slots = occupancy.limits.wave_slots
    rows = (
        (
            "Waves per SIMD",
            f"{occupancy.waves_per_simd:g} of {occupancy.limits.max_waves_per_simd}",
            "resident together, in whole workgroups",
        ),
        (
            "Occupancy",
            share(occupancy.occupancy),
            f"{occupancy.waves} of {slots} waves of a {block}",
        ),
        (f"Workgroups per {block}", f"{occupancy.workgroups}", "resident together"),
        (
            "Compiler's number",
            f"{found.compiler_waves_per_simd}",
            "waves per SIMD by LLVM 22's rule, an upper bound",
        ),
    )
    lines = [f"{name:<20}{value:>9}  {meaning}" for name, value, meaning in rows]
    limiters = "; ".join(_LIMITERS[each] for each in occupancy.limiters)
    if occupancy.limiters == ("cannot launch",):
        limiters = f"cannot launch: not one workgroup fits, for want of {_short(found)}"
    return "\n".join((*lines, _wrapped(limiters, "Limited by            ")))


def _short(found: Calculation) -> str:
    occupancy = found.occupancy
    counts: tuple[tuple[Limiter, int | None], ...] = (
        ("vgpr", occupancy.n_vgpr),
        ("sgpr", occupancy.n_sgpr),
        ("lds", occupancy.n_lds),
    )
    return " and ".join(_LIMITERS[name] for name, count in counts if count == 0)


def _limits(found: Calculation) -> str:
    """Say how many workgroups each resource alone would allow, and how much costs nothing."""
    occupancy, limits, asked = found.occupancy, found.occupancy.limits, found.resources
    reserve = f" + {limits.sgpr_reserve} for traps" if limits.sgpr_reserve else ""
    rows: tuple[tuple[str, int | None, str, int | None], ...] = (
        ("wave slots", occupancy.n_slots, f"{limits.wave_slots} of a {found.block}", None),
        ("barriers", occupancy.n_barriers, f"{limits.workgroup_slots} of a {found.block}", None),
        (
            "vector registers",
            occupancy.n_vgpr,
            f"{occupancy.allocated_vgprs} of {limits.vgprs} a SIMD, "
            f"blocks of {limits.vgpr_granule}",
            found.headroom.get("vgpr"),
        ),
        (
            "scalar registers",
            occupancy.n_sgpr,
            f"of {limits.sgprs} a SIMD, blocks of {limits.sgpr_granule}{reserve}",
            found.headroom.get("sgpr"),
        ),
        (
            "LDS",
            occupancy.n_lds,
            f"{asked.lds_bytes} of {limits.lds_bytes} B, blocks of {limits.lds_granule}",
            found.headroom.get("lds"),
        ),
    )
    head = f"{'Each alone allows':<18} {'groups':>6}  {'of':<41} {'free up to':>10}"
    lines = [
        f"  {name:<16} {count:>6}  {what:<41} {'' if free is None else free:>10}".rstrip()
        for name, count, what, free in rows
        if count is not None
    ]
    return "\n".join((head, *lines))


def _steps(found: Calculation) -> str:
    if not found.steps:
        return "To reach more: nothing to gain by less registers or LDS."
    head = f"{'To reach':<10} {'occupancy':>9} {'groups':>6}  needs at most"
    lines = [
        f"  {step.waves_per_simd:<8g} {share(step.occupancy):>9} {step.workgroups:>6}  "
        + _needs(step)
        for step in found.steps[:TEXT_STEPS]
    ]
    more = len(found.steps) - TEXT_STEPS
    if more > 0:
        lines.append(f"  and {more} more steps, see --format json")
    return "\n".join((head, *lines))


def _needs(step: Step) -> str:
    return ", ".join(_changes(step)) or "as it is"


def _changes(step: Step) -> Iterator[str]:
    for change in step.changes:
        yield f"{change.at_most} {_UNITS[change.resource]}"
