"""The pages of what is true of GPUs, and of the words that speak of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reference_page import page, table

from rocperf.hardware import (
    HW_NAMES,
    Figure,
    GpuFacts,
    Product,
    known_targets,
    source_text,
    target_facts,
)
from rocperf.hardware.facts import read_facts
from rocperf.hardware.terms import Term, term_source, terms
from rocperf.metrics.catalogue import metrics

_GPUS = """
What rocperf knows of a GPU without asking it: `rocperf/hardware/gpus.toml`. A trace that states
compute units, dies, clocks, LDS or wave size of its own GPU goes before this table, and
`rocperf explain gfx942` prints one GPU with the source of each of its figures.

A `?` marks a figure for which no primary source was found: findings that rest on it say so. An
empty cell is not known, and nothing is guessed in its place; `none` means that the GPU is known
not to have it. Units are in the names; `per_clk` is a clock of the unit named. The letters are
the [sources](#sources).
"""

_GLOSSARY = """
Words of AMD GPUs and of measuring them. `rocperf explain NAME` prints the same, with the figures
of each GPU; it knows [metrics](metrics.md), [analyses](analyses.md) and counters as well.
"""

#: Columns of the table of products: name of the figure, heading, what its unit is divided by.
_PRODUCT_COLUMNS = (
    ("cus", "CUs", 1),
    ("xccs", "dies", 1),
    ("clock_mhz", "MHz", 1),
    ("l2_bytes_per_xcc", "L2 of a die, MiB", 1 << 20),
    ("l3_bytes", "L3, MiB", 1 << 20),
    ("vram_bytes", "memory, GiB", 1 << 30),
    ("dram_bytes_per_s", "GB/s", 1e9),
    ("dram_copy_bytes_per_s", "copy, GB/s", 1e9),
    ("dram_triad_bytes_per_s", "triad, GB/s", 1e9),
)
_LINK_COLUMNS = (
    ("peak_bytes_per_s", "peak"),
    ("achievable_bytes_per_s", "achievable"),
    ("floor_bytes_per_s", "floor"),
    ("floor_bidirectional_bytes_per_s", "floor, both ways"),
    ("sdma_bytes_per_s", "DMA engines"),
    ("allreduce_bus_bytes_per_s", "all-reduce, bus"),
)


def gpus() -> str:
    """Return the page of GPUs."""
    every = [facts for facts in map(target_facts, known_targets()) if facts is not None]
    cdna = [facts for facts in every if not facts.is_rdna]
    rdna = [facts for facts in every if facts.is_rdna]

    def parts() -> Iterator[str]:
        yield "## Products\n\nOf one agent: MI250 and MI250X count one of their two dies.\n"
        yield _products(every)
        yield "## GCN and CDNA\n"
        yield _targets(cdna)
        yield "## RDNA\n"
        yield _targets(rdna)
        yield "## Partition modes\n\nDies (XCCs) of one agent, by compute partition mode.\n"
        yield _partitions(every)
        yield f"## Links\n\n{_LINKS}"
        yield _links()
        yield "## Names in formulas\n\nWhat formulas write as `hw.` and a name.\n"
        yield table(
            ("name", "unit", "is"),
            [(f"`hw.{name}`", each.unit, each.doc) for name, each in HW_NAMES.items()],
        )
        yield "## Sources\n"
        sources: Mapping[str, str] = read_facts()["sources"]
        yield table(("key", "is"), [(key, source_text(key)) for key in sources])

    return page("GPUs", _GPUS, parts())


_LINKS = """GB/s, in one direction unless it says otherwise. *Achievable* is what a healthy large
copy reaches, *floor* what AMD's acceptance test asks for; a number of links stands in brackets
where the figure is of several together. The slot decides which PCIe a Radeon card has.
"""


def _number(value: float, unit: float = 1) -> str:
    return f"{value / unit:.6g}" if value / unit != int(value / unit) else f"{value / unit:.0f}"


def _value(figure: Figure | None, unit: float = 1) -> str:
    if figure is None:
        return ""
    return _number(figure.value, unit) + (" ?" if figure.unconfirmed else "")


def _products(every: Sequence[GpuFacts]) -> str:
    heads = ("product", "GPU", *(head for _, head, _ in _PRODUCT_COLUMNS), "sources")
    rows: list[tuple[str, ...]] = []
    for facts in every:
        for product in facts.products:
            cells: list[str] = []
            used: dict[str, None] = {}
            for name, _, unit in _PRODUCT_COLUMNS:
                found = _of_product(facts, product, name)
                lacks = "none" if name in facts.lacks else ""
                cells.append(_value(found, unit) or lacks)
                if found is not None:
                    used.update(dict.fromkeys(found.source.split(", ")))
            rows.append((", ".join(product.names), facts.target, *cells, ", ".join(used)))
    return table(heads, rows)


def _of_product(facts: GpuFacts, product: Product, name: str) -> Figure | None:
    found = facts.figure(name, (product,))
    return facts.figure("xccs_per_device") if found is None and name == "xccs" else found


def _targets(every: Sequence[GpuFacts]) -> str:
    """Return a table of figures by target; what only products have is not in it."""
    skip = {name for name, _, _ in _PRODUCT_COLUMNS}
    names = dict.fromkeys(n for facts in every for n in (*facts.figures, *facts.lacks))
    rows: list[tuple[str, ...]] = []
    for name in sorted(set(names) - skip, key=_order):
        figures = {facts.target: facts.figures.get(name) for facts in every}
        cells = [
            "none" if name in facts.lacks else _value(figures[facts.target]) for facts in every
        ]
        rows.append((f"`{name}`", *cells, _sources(figures)))
    return table(("figure", *(facts.target for facts in every), "sources"), rows)


def _order(name: str) -> tuple[int, str]:
    """Put the limits of occupancy first, then caches, then arithmetic."""
    kinds = ("wave", "simd", "cus", "vgpr|accum", "sgpr", "workgroup", "lds", "l1|l2|cache", "flop")
    for place, kind in enumerate(kinds):
        if re.search(kind, name):
            return place, name
    return len(kinds), name


def _sources(figures: Mapping[str, Figure | None]) -> str:
    """Name the sources of a row, by target where they differ."""
    by_source: dict[str, list[str]] = {}
    for target, figure in figures.items():
        if figure is not None:
            by_source.setdefault(figure.source, []).append(target)
    if len(by_source) < 2:
        return "".join(by_source)
    return "; ".join(f"{', '.join(each)}: {source}" for source, each in by_source.items())


def _partitions(every: Sequence[GpuFacts]) -> str:
    rows = [
        (
            ", ".join(product.names),
            ", ".join(f"{mode} {_value(each)}" for mode, each in product.partitions.items()),
            ", ".join(dict.fromkeys(each.source for each in product.partitions.values())),
        )
        for facts in every
        for product in facts.products
        if product.partitions
    ]
    return table(("product", "modes", "source"), rows)


def _links() -> str:
    links: Mapping[str, Mapping[str, Any]] = read_facts()["links"]
    rows: list[tuple[str, ...]] = []
    for link in links.values():
        cells: list[str] = []
        used: dict[str, None] = {}
        for name, _ in _LINK_COLUMNS:
            entries = [link[name]] if name in link else []
            if name == "achievable_bytes_per_s":
                entries += link.get("achievable_by_links", [])
            cells.append(", ".join(_rate(entry) for entry in entries))
            used.update(dict.fromkeys(k for e in entries for k in e["source"].split(", ")))
        rows.append((link["title"], *cells, ", ".join(used)))
    return table(("link", *(head for _, head in _LINK_COLUMNS), "sources"), rows)


def _rate(entry: Mapping[str, Any]) -> str:
    doubt = " ?" if entry.get("unconfirmed") else ""
    links = f" ({entry['links']})" if "links" in entry else ""
    return f"{entry['value'] / 1e9:.3g}{doubt}{links}"


def glossary() -> str:
    """Return the page of terms."""
    groups: dict[str, list[Term]] = {}
    for term in terms().values():
        groups.setdefault(term.group, []).append(term)

    def parts() -> Iterator[str]:
        for group, members in groups.items():
            yield f"## {group}\n"
            for term in members:
                yield _term(term)

    return page("Glossary", _GLOSSARY, parts())


def _term(term: Term) -> str:
    text = f"### {_plain(term.written)}\n\n{_plain(term.text)}\n"
    if term.caveat:
        text += f"\nBeware: {_plain(term.caveat)}\n"
    if term.also:
        text += f"\nAlso called {', '.join(map(_plain, term.also))}.\n"
    if term.figures:
        text += f"\nFigures: {', '.join(f'`{each}`' for each in term.figures)}, "
        text += "see [GPUs](gpus.md).\n"
    if term.see:
        text += f"\nSee {', '.join(map(_link, term.see))}.\n"
    return f"{text}\nSource: {_plain(term_source(term))}.\n"


def _link(name: str) -> str:
    if name in terms():
        written = terms()[name].written
        return f"[{_plain(written)}](#{written.lower()})"
    return f"[{name}](metrics.md#{name})" if name in metrics() else f"`{name}`"


def _plain(text: str) -> str:
    """Keep Markdown from reading underscores and stars as emphasis, outside of code."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"([_*<])", r"\\\1", part) for part in parts[::2]]
    return "`".join(parts)
