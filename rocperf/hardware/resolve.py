"""Put the figures of one GPU together: the trace's own first, then those of ``gpus.toml``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, Literal

from rocperf.hardware.facts import Figure, GpuFacts, Product, target_facts
from rocperf.hardware.names import HW_NAMES

Source = Literal["trace", "gpus.toml"]

#: Name of a figure -> column of the ``agents`` table.
COLUMNS: Final = {
    "cus": "cu_count",
    "xccs": "num_xcc",
    "simds_per_cu": "simd_per_cu",
    "wave_size": "wave_size",
    "max_waves_per_simd": "max_waves_per_simd",
    "max_waves_per_cu": "max_waves_per_cu",
    "shader_engines": "shader_engines",
    "lds_bytes_per_cu": "lds_bytes_per_cu",
    "clock_mhz": "clock_mhz",
    "memory_bytes": "memory_bytes",
    "l2_channels": "l2_channels",
}
# Name of a figure -> figure of gpus.toml, where the two differ.
_FIGURES: Final = {
    "wave_size": "default_wave_size",
    "l1_line": "l1_line_bytes",
    "l2_line": "l2_line_bytes",
    "memory_bytes": "vram_bytes",
}
# Products state these for all their dies together: they hold for an agent that has them all.
_WHOLE_PRODUCT: Final = (
    "cus",
    "memory_bytes",
    "dram_bytes_per_s",
    "dram_copy_bytes_per_s",
    "l3_bytes",
)
# Stated per die; multiplied by the dies of the agent.
_PER_XCC: Final = {
    "shader_engines": "shader_engines_per_xcc",
    "l2_bytes": "l2_bytes_per_xcc",
    "l2_channels": "l2_channels_per_xcc",
}


@dataclass(frozen=True, slots=True)
class Known:
    """A resolved figure: its value, who gave it, and the entry of ``gpus.toml`` if that did."""

    value: float
    source: Source
    figure: Figure | None = None


@dataclass(frozen=True, slots=True)
class Resolved:
    """All that is known of one agent."""

    target: str | None
    product: str | None
    facts: GpuFacts | None
    products: tuple[Product, ...]
    known: Mapping[str, Known]
    notes: tuple[str, ...]


def resolve(row: Mapping[str, object]) -> Resolved:
    """Resolve the figures of a row of the ``agents`` table."""
    target, product = _text(row.get("target")), _text(row.get("product"))
    facts = target_facts(target) if target else None
    known: dict[str, Known] = {}
    for name, column in COLUMNS.items():
        count = _count(row.get(column))
        if count is not None:
            known[name] = Known(count, "trace")
    products: tuple[Product, ...] = ()
    notes: tuple[str, ...] = ()
    if facts is not None:
        cus = known.get("cus")
        products = facts.candidates(product, int(cus.value) if cus else None, None)
        partition = _text(row.get("compute_partition"))
        whole = _has_all_dies(facts, products, cus, partition)
        notes = _settle_xccs(known, facts, _xccs_of(facts, products, partition, whole=whole))
        # A name may be general; the dies, once settled, can rule products out.
        xccs = known.get("xccs")
        if cus and xccs:
            products = facts.candidates(product, int(cus.value), int(xccs.value))
        _add_facts(known, facts, products, whole=whole)
        facts, differing = _as_told(facts, known)
        notes += differing
    _derive(known)
    return Resolved(target, product, facts, products, known, notes)


def _as_told(facts: GpuFacts, known: dict[str, Known]) -> tuple[GpuFacts, tuple[str, ...]]:
    """Put what the trace says of a compute unit in place of what the table says.

    Occupancy is calculated from a target's figures: where its own GPU differs, that one counts.
    """
    changed: dict[str, Figure] = {}
    notes: list[str] = []
    for name in ("simds_per_cu", "max_waves_per_simd", "lds_bytes_per_cu", "wave_size"):
        told, figure = known.get(name), _FIGURES.get(name, name)
        if told is None or told.source != "trace" or told.value == facts.figures[figure].value:
            continue
        known_size = name != "wave_size" or told.value in facts.wave_sizes
        used = "the trace's is used" if known_size else "which it cannot have: the table's is used"
        table = facts.figures[figure].value
        notes.append(
            f"the trace gives {facts.target} {name} {told.value:g}, the table {table:g}: {used}"
        )
        if known_size:
            changed[figure] = Figure(told.value, "REC")
        else:
            known[name] = Known(table, "gpus.toml", facts.figures[figure])
    lds = changed.get("lds_bytes_per_cu")
    if lds is not None:
        # One workgroup may take all of a CDNA compute unit's LDS, of RDNA never more than the cap.
        cap = facts.figures["lds_bytes_per_workgroup"]
        most = min(cap.value, lds.value) if facts.is_rdna else lds.value
        changed["lds_bytes_per_workgroup"] = Figure(most, "REC")
    if not changed:
        return facts, tuple(notes)
    figures = MappingProxyType({**facts.figures, **changed})
    return replace(facts, figures=figures), tuple(notes)


def _has_all_dies(
    facts: GpuFacts, products: tuple[Product, ...], cus: Known | None, partition: str | None
) -> bool:
    """Say whether the agent is the whole product, not a partition of it."""
    if "xccs_per_device" in facts.figures:
        return True
    if cus is None:
        return partition is not None and partition.upper() == "SPX"
    full = facts.figure("cus", products)
    return full is not None and full.value == cus.value


def _xccs_of(
    facts: GpuFacts, products: tuple[Product, ...], partition: str | None, *, whole: bool
) -> Figure | None:
    """Return the dies of one agent: by partition mode, or all of the product where it is whole."""
    always = facts.figure("xccs_per_device")
    if always is not None:
        return always
    if partition is not None:
        found = [each.partitions.get(partition.upper()) for each in products]
        if found and found[0] is not None and all(f and f.value == found[0].value for f in found):
            return found[0]
    return facts.figure("xccs", products) if whole else None


def _settle_xccs(
    known: dict[str, Known],
    facts: GpuFacts,
    listed: Figure | None,
) -> tuple[str, ...]:
    """Refuse a number of dies that the CUs do not fit on; take the listed one where there is one.

    Old tools record MI300 with one XCC; dividing its clocks by that would be eight times off.
    """
    cus, xccs = known.get("cus"), known.get("xccs")
    most = facts.figure("max_cus_per_xcc")
    fits = most is None or cus is None or xccs is None or cus.value <= most.value * xccs.value
    if xccs is not None and fits:
        return ()
    known.pop("xccs", None)
    if listed is not None:
        known["xccs"] = Known(listed.value, "gpus.toml", listed)
    if cus is None or xccs is None or most is None:
        return ()
    told = (
        f"the trace puts {cus.value:.0f} CUs on {xccs.value:.0f} XCC, but one of {facts.target} "
        f"has at most {most.value:.0f}"
    )
    return (f"{told}: {f'taken as {listed.value:.0f}' if listed else 'its XCCs are unknown'}",)


def _add_facts(
    known: dict[str, Known], facts: GpuFacts, products: tuple[Product, ...], *, whole: bool
) -> None:
    """Fill in what ``gpus.toml`` says where the trace said nothing."""
    for name in ("cus", "clock_mhz", *HW_NAMES):
        if name in known or name in _PER_XCC or name == "xccs":
            continue
        if name in _WHOLE_PRODUCT and not whole:
            continue
        figure = facts.figure(_FIGURES.get(name, name), products)
        if figure is not None:
            known[name] = Known(figure.value, "gpus.toml", figure)
    for name, per in _PER_XCC.items():
        _multiply(known, name, "xccs", facts.figure(per, products))
    channel = facts.figure("l2_bytes_per_clk_per_channel")
    _multiply(known, "l2_bytes_per_clk", "l2_channels", channel)
    for name in HW_NAMES:
        if name.startswith(("vector_", "matrix_")):
            _multiply(known, name, "cus", facts.figure(f"{name}_per_cu"))


def _multiply(known: dict[str, Known], name: str, count: str, figure: Figure | None) -> None:
    if name not in known and count in known and figure is not None:
        known[name] = Known(known[count].value * figure.value, "gpus.toml", figure)


def _derive(known: dict[str, Known]) -> None:
    """Add what is arithmetic on figures already known."""
    _product_of(known, "max_waves_per_cu", "max_waves_per_simd", "simds_per_cu")
    _product_of(known, "simds", "simds_per_cu", "cus")
    clock = known.get("clock_mhz")
    if clock:
        known["clock_hz"] = Known(clock.value * 1e6, clock.source, clock.figure)


def _product_of(known: dict[str, Known], name: str, one: str, other: str) -> None:
    if name in known or one not in known or other not in known:
        return
    a, b = known[one], known[other]
    from_file = a if a.source == "gpus.toml" else b
    known[name] = Known(a.value * b.value, from_file.source, from_file.figure)


def _text(value: object) -> str | None:
    text = "" if value is None else str(value).strip()
    return text or None


def _count(value: object) -> int | None:
    # Drivers write 0 for what they do not know.
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if math.isfinite(value) and value > 0 else None
