"""What is known of a GPU without asking it: the figures of ``gpus.toml``, each with its source."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final, Literal, cast

Registers = Literal["single", "separate", "unified"]

_WAVE_SIZES: Final = (32, 64)


@dataclass(frozen=True, slots=True)
class Figure:
    """One hardware figure.

    Parameters
    ----------
    value
        The number; its unit is in the figure's name.
    source
        Keys of the sources, separated by commas; `source_text` spells them out.
    unconfirmed
        Whether no primary source was found for it.
    """

    value: float
    source: str
    unconfirmed: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Product:
    """A product of one target: its names and the figures that other products do not share.

    ``partitions`` is the number of XCCs of one agent by compute partition mode.
    """

    names: tuple[str, ...]
    figures: Mapping[str, Figure]
    host_link: str | None
    peer_link: str | None
    partitions: Mapping[str, Figure]


@dataclass(frozen=True, slots=True)
class BlockLimits:
    """What one sharing block has for workgroups: a CU, or on RDNA a WGP of two CUs.

    Parameters
    ----------
    wave_size
        Lanes of a wave.
    simds, cus
        SIMDs and CUs of the block.
    max_waves_per_simd
        Wave slots of a SIMD.
    registers
        ``unified``: ordinary and accumulation registers share one file; ``separate``: a file
        each; ``single``: there are no accumulation registers.
    vgprs, vgpr_granule, max_vgprs
        Vector registers a lane of one SIMD's file, their allocation unit, and the most that one
        wave may have.
    sgprs, sgpr_granule, sgpr_reserve, max_sgprs
        Scalar registers a SIMD, their allocation unit, those kept for the trap handler, and the
        most a program can address. ``sgprs`` is None where they limit nothing (RDNA).
    lds_bytes, lds_granule, max_lds_bytes
        LDS of the block, its allocation unit, and the most of one workgroup, in bytes.
    workgroup_slots
        Workgroups of more than one wave that the block can hold (barriers).
    max_workgroup_size
        Work-items.
    """

    wave_size: int
    simds: int
    cus: int
    max_waves_per_simd: int
    registers: Registers
    vgprs: int
    vgpr_granule: int
    max_vgprs: int
    sgprs: int | None
    sgpr_granule: int
    sgpr_reserve: int
    max_sgprs: int
    lds_bytes: int
    lds_granule: int
    max_lds_bytes: int
    workgroup_slots: int
    max_workgroup_size: int

    @property
    def wave_slots(self) -> int:
        """Waves that the block can hold."""
        return self.simds * self.max_waves_per_simd


@dataclass(frozen=True, slots=True, eq=False)
class GpuFacts:
    """What ``gpus.toml`` says of one gfx target.

    Parameters
    ----------
    target
        Such as ``gfx942``.
    family
        Such as ``cdna3``.
    registers
        How vector registers are filed, see `BlockLimits`.
    figures
        Name to figure, the same for every product of the target.
    products
        What differs between products.
    host_link, peer_link
        Which links every product has.
    lacks
        Figures that the target is known not to have, and the key of the source that says so; a
        figure that is neither here nor there is not known.
    """

    target: str
    family: str
    registers: Registers
    figures: Mapping[str, Figure]
    products: tuple[Product, ...]
    host_link: str | None
    peer_link: str | None
    lacks: Mapping[str, str]

    @property
    def is_rdna(self) -> bool:
        """Whether two CUs share a WGP."""
        return self.family.startswith("rdna")

    @property
    def wave_sizes(self) -> tuple[int, ...]:
        """The wave sizes a kernel may have, the default first."""
        default = self.whole("default_wave_size")
        known = [n for n in _WAVE_SIZES if f"vgprs_per_simd_wave{n}" in self.figures]
        return (default, *(n for n in known if n != default))

    def whole(self, name: str) -> int:
        """Return a figure that every target of its kind has, as an integer.

        Raises
        ------
        KeyError
            The target has no such figure.
        """
        return int(self.figures[name].value)

    def limits(self, wave_size: int | None = None, *, cu_mode: bool = False) -> BlockLimits:
        """Describe the block that workgroups share.

        Parameters
        ----------
        wave_size
            Lanes of a wave; the target's default when None.
        cu_mode
            RDNA only: each CU of a WGP for itself. The compiler's default is WGP mode.

        Raises
        ------
        ValueError
            The target has no waves of that size.
        """
        wave = wave_size or self.wave_sizes[0]
        if wave not in self.wave_sizes:
            sizes = " or ".join(map(str, self.wave_sizes))
            raise ValueError(f"{self.target} has waves of {sizes} lanes, not {wave}")
        cus = 1 if cu_mode else self.whole("cus_per_wgp")
        scalar = "sgprs_per_simd" in self.figures
        return BlockLimits(
            wave_size=wave,
            simds=cus * self.whole("simds_per_cu"),
            cus=cus,
            max_waves_per_simd=self.whole("max_waves_per_simd"),
            registers=self.registers,
            vgprs=self.whole(f"vgprs_per_simd_wave{wave}"),
            vgpr_granule=self.whole(f"vgpr_granule_wave{wave}"),
            max_vgprs=self.whole("max_vgprs_per_wave"),
            sgprs=self.whole("sgprs_per_simd") if scalar else None,
            sgpr_granule=self.whole("sgpr_granule") if scalar else 1,
            sgpr_reserve=self.whole("sgpr_trap_reserve") if scalar else 0,
            max_sgprs=self.whole("max_sgprs_per_wave"),
            lds_bytes=cus * self.whole("lds_bytes_per_cu"),
            lds_granule=self.whole("lds_granule_bytes"),
            max_lds_bytes=self.whole("lds_bytes_per_workgroup"),
            workgroup_slots=cus * self.whole("workgroup_slots_per_cu"),
            max_workgroup_size=self.whole("max_workgroup_size"),
        )

    def candidates(
        self, product: str | None, cu_count: int | None, num_xcc: int | None
    ) -> tuple[Product, ...]:
        """Return the products that an agent may be.

        A listed product name decides. Drivers often give a general name without any number
        ("AMD Radeon Graphics"): on CDNA, whose few products are all listed, every product with
        this many CUs and XCCs is then one, and a figure holds where they agree. A name with a
        number that is not listed is no known product.
        """
        named = _longest_match(self.products, product) if product else None
        if named:
            return (named,)
        numbered = product is not None and re.search(r"\d", product) is not None
        if numbered or cu_count is None or not self.family.startswith("cdna"):
            return ()
        return tuple(p for p in self.products if _same_shape(p, cu_count, num_xcc))

    def figure(self, name: str, products: tuple[Product, ...] = ()) -> Figure | None:
        """Return a figure of the target, or one on which all of the given products agree."""
        if not products:
            return self.figures.get(name)
        found = [p.figures.get(name, self.figures.get(name)) for p in products]
        first = found[0]
        if first is None or any(f is None or f.value != first.value for f in found):
            return None
        return first


def _same_shape(product: Product, cu_count: int, num_xcc: int | None) -> bool:
    cus, xccs = product.figures.get("cus"), product.figures.get("xccs")
    if cus is None or cus.value != cu_count:
        return False
    return xccs is None or num_xcc is None or xccs.value == num_xcc


def _longest_match(products: Iterable[Product], text: str) -> Product | None:
    best: tuple[int, Product] | None = None
    for product in products:
        for name in product.names:
            pattern = rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])"
            if re.search(pattern, text, re.IGNORECASE) and (best is None or len(name) > best[0]):
                best = (len(name), product)
    return best[1] if best else None


@cache
def read_facts() -> Mapping[str, Any]:
    """Return ``gpus.toml`` as it stands, read once."""
    text = files("rocperf.hardware").joinpath("gpus.toml").read_text(encoding="utf-8")
    return MappingProxyType(tomllib.loads(text))


def figures_of(table: Mapping[str, Any]) -> dict[str, Figure]:
    """Return the entries of a table that are figures."""
    figures: dict[str, Figure] = {}
    for name, entry in table.items():
        if isinstance(entry, dict) and "value" in entry:
            figure = cast("dict[str, Any]", entry)
            figures[name] = Figure(
                figure["value"], figure["source"], bool(figure.get("unconfirmed", False))
            )
    return figures


@cache
def known_targets() -> tuple[str, ...]:
    """Return the gfx targets that ``gpus.toml`` describes."""
    return tuple(read_facts()["targets"])


def target_facts(gfx: str) -> GpuFacts | None:
    """Return what is known of a gfx target, or None for one that is not described.

    Parameters
    ----------
    gfx
        Such as ``gfx942``; features after a colon (``gfx942:sramecc+``) are ignored.
    """
    name = gfx.partition(":")[0].strip().lower()
    return _described(name) if name in known_targets() else None


@cache
def _described(name: str) -> GpuFacts:
    everything = read_facts()
    table = everything["targets"][name]
    figures: dict[str, Figure] = {}
    for block in table["based_on"]:
        figures |= figures_of(everything["blocks"][block])
    figures |= figures_of(table)
    products = tuple(
        Product(
            names=tuple(entry["names"]),
            figures=MappingProxyType(figures_of(entry)),
            host_link=entry.get("host_link"),
            peer_link=entry.get("peer_link"),
            partitions=MappingProxyType(figures_of(entry.get("partitions", {}))),
        )
        for entry in table.get("products", ())
    )
    return GpuFacts(
        target=name,
        family=table["family"],
        registers=table["registers"],
        figures=MappingProxyType(figures),
        products=products,
        host_link=table.get("host_link"),
        peer_link=table.get("peer_link"),
        lacks=MappingProxyType(
            {name: source for source, names in table.get("lacks", {}).items() for name in names}
        ),
    )


def source_text(keys: str) -> str:
    """Spell out the source keys of a figure, separated by semicolons."""
    sources = read_facts()["sources"]
    return "; ".join(sources[key.strip()] for key in keys.split(","))


def round_up(value: int, granule: int) -> int:
    """Return the smallest multiple of the granule that is not below the value."""
    return math.ceil(value / granule) * granule
