"""One GPU of a trace, and where each of its figures comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from rocperf.hardware.facts import Figure, GpuFacts, Product
from rocperf.hardware.links import Link, link_of
from rocperf.hardware.names import HW_NAMES
from rocperf.hardware.resolve import COLUMNS, Known, Source, resolve

_NAMES: Final = {column: name for name, column in COLUMNS.items()}


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU agent of a trace.

    A figure that neither the trace nor ``gpus.toml`` gives is None: nothing is guessed.

    Parameters
    ----------
    agent_id
        Its number in the run.
    target
        gfx target such as ``gfx942``, or None when the trace does not say.
    product
        Product name as recorded, which may be a general one.
    cu_count, num_xcc
        Compute units and dies (XCCs) of the agent.
    simd_per_cu, wave_size, max_waves_per_simd
        SIMDs of a CU, lanes of a wave, wave slots of a SIMD.
    shader_engines
        Over all dies.
    lds_bytes_per_cu
        LDS of one CU, in bytes.
    clock_mhz
        Highest engine clock.
    memory_bytes, dram_bytes_per_s, l2_bytes, l3_bytes
        Device memory, its datasheet bandwidth, and caches, in bytes and bytes per second.
    facts
        What ``gpus.toml`` says of the target; None for a target it does not describe.
    products
        The products that it may be, see `GpuFacts.candidates`.
    notes
        What the trace says that cannot be right, and what was done about it.
    """

    agent_id: int
    target: str | None = None
    product: str | None = None
    cu_count: int | None = None
    num_xcc: int | None = None
    simd_per_cu: int | None = None
    wave_size: int | None = None
    max_waves_per_simd: int | None = None
    shader_engines: int | None = None
    lds_bytes_per_cu: int | None = None
    clock_mhz: int | None = None
    memory_bytes: int | None = None
    dram_bytes_per_s: float | None = None
    l2_bytes: int | None = None
    l3_bytes: int | None = None
    facts: GpuFacts | None = field(default=None, repr=False)
    products: tuple[Product, ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()
    _known: Mapping[str, Known] = field(default_factory=dict[str, Known], repr=False, compare=False)

    @classmethod
    def from_agent(cls, row: Mapping[str, object]) -> Gpu:
        """Make a GPU of a row of the ``agents`` table.

        Parameters
        ----------
        row
            Column to value; absent and None are the same, and so are zeros of counts, which
            drivers write for what they do not know.

        Raises
        ------
        KeyError
            The row has no ``agent_id``.
        """
        found = resolve(row)
        known = found.known

        def whole(name: str) -> int | None:
            return int(known[name].value) if name in known else None

        bandwidth = known.get("dram_bytes_per_s")
        return cls(
            agent_id=int(str(row["agent_id"])),
            target=found.target,
            product=found.product,
            cu_count=whole("cus"),
            num_xcc=whole("xccs"),
            simd_per_cu=whole("simds_per_cu"),
            wave_size=whole("wave_size"),
            max_waves_per_simd=whole("max_waves_per_simd"),
            shader_engines=whole("shader_engines"),
            lds_bytes_per_cu=whole("lds_bytes_per_cu"),
            clock_mhz=whole("clock_mhz"),
            memory_bytes=whole("memory_bytes"),
            dram_bytes_per_s=bandwidth.value if bandwidth else None,
            l2_bytes=whole("l2_bytes"),
            l3_bytes=whole("l3_bytes"),
            facts=found.facts,
            products=found.products,
            notes=found.notes,
            _known=MappingProxyType(dict(known)),
        )

    def hw(self, name: str) -> float | None:
        """Return a figure for a formula, or None when it is not known.

        Parameters
        ----------
        name
            One of `HW_NAMES`; the unit is there.

        Raises
        ------
        KeyError
            There is no such name.
        """
        if name not in HW_NAMES:
            raise KeyError(f"hw.{name} is not a hardware figure; known: {', '.join(HW_NAMES)}")
        known = self._known.get(name)
        return known.value if known else None

    def source(self, name: str) -> Source | None:
        """Say where a figure comes from; ``gpus.toml`` as soon as one part of it does.

        Parameters
        ----------
        name
            One of `HW_NAMES`, or an attribute such as ``cu_count``.
        """
        known = self._known.get(_NAMES.get(name, name))
        return known.source if known else None

    def figure(self, name: str) -> Figure | None:
        """Return the entry of ``gpus.toml`` behind a figure, None when the trace gave it."""
        known = self._known.get(_NAMES.get(name, name))
        return known.figure if known else None

    def host_link(self) -> Link | None:
        """Return the link to the host, None when it is not known, see `host_link`."""
        return link_of(self.facts, self.products, "host_link", 1)

    def peer_link(self, links: int | None = None) -> Link | None:
        """Return the link to another GPU of its hive, see `peer_link`."""
        return link_of(self.facts, self.products, "peer_link", links)
