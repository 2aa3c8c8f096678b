"""Links between host and GPU and between GPUs: what they can carry, per direction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from rocperf.hardware.facts import (
    Figure,
    GpuFacts,
    Product,
    figures_of,
    read_facts,
    target_facts,
)

_PCIE: Final = {8.0: "pcie3_x16", 16.0: "pcie4_x16", 32.0: "pcie5_x16"}


@dataclass(frozen=True, slots=True)
class Link:
    """One link, or several used as one.

    Parameters
    ----------
    name
        For people, such as ``PCIe Gen5 x16`` or ``4 x xGMI of MI250``.
    kind
        ``pcie`` or ``xgmi``.
    peak_bytes_per_s
        Most bytes a second in one direction.
    achievable_bytes_per_s
        What a healthy large copy reaches in one direction; None when no source says.
    source
        Source keys, see `rocperf.hardware.source_text`.
    unconfirmed
        Whether any of it lacks a primary source.
    sdma_bytes_per_s
        Most that a copy by the DMA engines reaches, however many links there are; None when that
        is not known to be less.
    floor_bytes_per_s, floor_bidirectional_bytes_per_s
        What AMD's acceptance test asks for between two GPUs, in one direction and in both
        together; None for other numbers of links, and where it asks for nothing.
    """

    name: str
    kind: Literal["pcie", "xgmi"]
    peak_bytes_per_s: float
    achievable_bytes_per_s: float | None
    source: str
    unconfirmed: bool = False
    sdma_bytes_per_s: float | None = None
    floor_bytes_per_s: float | None = None
    floor_bidirectional_bytes_per_s: float | None = None


def host_link(target: str, product: str | None = None) -> Link | None:
    """Return the link between host and GPU.

    None when it is not known: the target is not described, the product decides and is not
    listed, GPU and CPU share one memory (MI300A), or the slot decides (Radeon cards).

    Parameters
    ----------
    target
        Such as ``gfx942``.
    product
        Product name as recorded.
    """
    facts = target_facts(target)
    products = facts.candidates(product, None, None) if facts else ()
    return link_of(facts, products, "host_link", 1)


def peer_link(target: str, product: str | None = None, links: int | None = None) -> Link | None:
    """Return what connects two GPUs of one hive.

    Parameters
    ----------
    target, product
        As for `host_link`.
    links
        xGMI links between the two; the product's fixed number when None. Where that differs
        from pair to pair (MI210, MI250) and is not given, nothing is returned.

    Raises
    ------
    ValueError
        ``links`` is below one.
    """
    facts = target_facts(target)
    products = facts.candidates(product, None, None) if facts else ()
    return link_of(facts, products, "peer_link", links)


def pcie_link(gigatransfers_per_s: float, lanes: int) -> Link | None:
    """Return the PCIe link that a machine reports (``current_link_speed`` and ``_width``).

    Parameters
    ----------
    gigatransfers_per_s
        8 for Gen3, 16 for Gen4, 32 for Gen5; generations with another line code are not described
        and give None.
    lanes
        1 to 16. The achievable rate is known for 16 only.
    """
    key = _PCIE.get(float(gigatransfers_per_s))
    if key is None or not 1 <= lanes <= 16:
        return None
    full = _link(key, 1)
    if full is None or lanes == 16:
        return full
    return Link(
        name=full.name.replace("x16", f"x{lanes}"),
        kind="pcie",
        peak_bytes_per_s=full.peak_bytes_per_s * lanes / 16,
        achievable_bytes_per_s=None,
        source=full.source,
        unconfirmed=full.unconfirmed,
    )


def link_of(
    facts: GpuFacts | None,
    products: tuple[Product, ...],
    which: Literal["host_link", "peer_link"],
    links: int | None = None,
) -> Link | None:
    """Return the link on which all products that a GPU may be agree, or None.

    Raises
    ------
    ValueError
        ``links`` is below one.
    """
    if links is not None and links < 1:
        raise ValueError(f"two GPUs are connected by at least one link, not {links}")
    if facts is None:
        return None
    general = facts.host_link if which == "host_link" else facts.peer_link
    keys = {(p.host_link if which == "host_link" else p.peer_link) or general for p in products}
    key = keys.pop() if len(keys) == 1 else None
    if not products:
        key = general
    return _link(key, links) if key else None


def _link(key: str, links: int | None) -> Link | None:
    table: Mapping[str, Any] = read_facts()["links"][key]
    figures = figures_of(table)
    fixed = figures.get("links_per_pair")
    if links is None and fixed is None:
        return None
    count = links if links is not None else int(cast("Figure", fixed).value)
    used = [figures["peak_bytes_per_s"]]
    if links is None and fixed is not None:
        used.append(fixed)
    achievable = _achievable(table, figures, count)
    tested = count == (fixed.value if fixed is not None else 1)
    more = {
        name: figures[name]
        for name in ("sdma_bytes_per_s", "floor_bytes_per_s", "floor_bidirectional_bytes_per_s")
        if name in figures and (tested or name == "sdma_bytes_per_s")
    }
    used += [achievable] if achievable is not None else []
    used += more.values()
    keys = dict.fromkeys(k.strip() for figure in used for k in figure.source.split(","))
    title = table["title"]
    return Link(
        name=title if count == 1 else f"{count} x {title}",
        kind=table["kind"],
        peak_bytes_per_s=used[0].value * count,
        achievable_bytes_per_s=achievable.value if achievable else None,
        source=", ".join(keys),
        unconfirmed=any(figure.unconfirmed for figure in used),
        **{name: figure.value for name, figure in more.items()},
    )


def _achievable(
    table: Mapping[str, Any], figures: Mapping[str, Figure], count: int
) -> Figure | None:
    for entry in table.get("achievable_by_links", ()):
        if entry["links"] == count:
            return Figure(entry["value"], entry["source"])
    return figures.get("achievable_bytes_per_s") if count == 1 else None
