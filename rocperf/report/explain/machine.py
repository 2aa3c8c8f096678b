"""Hardware explained: terms of the glossary, GPUs, and figures that formulas use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rocperf.hardware import (
    HW_NAMES,
    Figure,
    Gpu,
    GpuFacts,
    Product,
    host_link,
    known_targets,
    peer_link,
    source_text,
)
from rocperf.hardware.facts import target_facts
from rocperf.hardware.terms import Term, term_source
from rocperf.report.explain.layout import (
    block,
    by_gpu,
    entry,
    figure_lines,
    figure_text,
    heading,
    number,
    paragraph,
)


def term_text(term: Term, target: str | None) -> str:
    """Explain a word, with the figures of GPUs that belong to it.

    Parameters
    ----------
    term
        Which.
    target
        Only the figures of this GPU; all when None.
    """
    figures = figure_lines(term.figures, target)
    return block(
        (
            heading(term.written, "term"),
            entry("Also called", ", ".join(term.also)),
            paragraph(term.text),
            entry("Beware", term.caveat),
            f"\n{figures}" if figures else "",
            entry("See", ", ".join(term.see)),
            entry("Source", f"{term_source(term)}."),
        )
    )


def gpu_text(facts: GpuFacts, product: str | None = None) -> str:
    """Explain a GPU: every figure with its source.

    Parameters
    ----------
    facts
        Which.
    product
        Only this product of it; all when None.
    """
    shown = [each for each in facts.products if product is None or product in each.names]
    used: dict[str, None] = {}
    parts = [
        heading(facts.target, "GPU"),
        paragraph(
            f"{facts.family.upper()}; registers: {facts.registers}. A figure that does not stand "
            "here is not known; what a trace says of its own GPU goes before all of it."
        ),
        "",
        *_figures(facts.figures, used),
        *(_lacks(facts, used)),
        *(line for each in shown for line in _product(facts.target, each, used)),
        "",
        "  Sources",
        *(paragraph(f"{key}: {source_text(key)}", 4) for key in used),
    ]
    return "\n".join(parts)


def _figures(figures: Mapping[str, Figure], used: dict[str, None]) -> Iterator[str]:
    for name, figure in figures.items():
        used.update(dict.fromkeys(key.strip() for key in figure.source.split(",")))
        yield f"  {name:<44} {figure_text(figure)} [{figure.source}]"


def _lacks(facts: GpuFacts, used: dict[str, None]) -> Iterator[str]:
    for name, source in facts.lacks.items():
        used[source] = None
        yield f"  {name:<44} none [{source}]"


def _product(target: str, product: Product, used: dict[str, None]) -> Iterator[str]:
    yield f"\n  {', '.join(product.names)}"
    for line in _figures(product.figures, used):
        yield f"  {line}"
    for mode, figure in product.partitions.items():
        used.update(dict.fromkeys(key.strip() for key in figure.source.split(",")))
        yield f"    {'dies of an agent in ' + mode:<44} {figure_text(figure)} [{figure.source}]"
    links = (
        ("to the host", host_link(target, product.names[0])),
        ("to another GPU", peer_link(target, product.names[0])),
    )
    for where, link in links:
        if link is not None:
            used.update(dict.fromkeys(key.strip() for key in link.source.split(",")))
            doubt = " (unconfirmed)" if link.unconfirmed else ""
            rate = f"{link.peak_bytes_per_s / 1e9:.1f} GB/s each way{doubt} [{link.source}]"
            yield paragraph(f"link {where}: {link.name}, {rate}", 4)


def fact_text(name: str, target: str | None) -> str:
    """Explain a figure that formulas use as ``hw.<name>``, with its value on whole GPUs.

    Parameters
    ----------
    name
        One of `rocperf.hardware.HW_NAMES`.
    target
        Only of this GPU; of all when None.
    """
    fact = HW_NAMES[name]
    values: dict[str, str] = {}
    for gfx in (target,) if target else known_targets():
        values.update(_values(gfx, name))
    lines = by_gpu(values)
    unit = f", in {fact.unit}" if fact.unit else ""
    return block(
        (
            heading(f"hw.{name}", "figure of the GPU"),
            paragraph(
                f"{fact.doc[:-1]}{unit}. Formulas take it from the trace where it is there, else "
                "from the table of GPUs; on a GPU without it they have no value."
            ),
            "  By that table:" if lines else "  The table of GPUs does not know it.",
            *(paragraph(line, 4) for line in lines),
        )
    )


def _values(target: str, name: str) -> dict[str, str]:
    facts = target_facts(target)
    if facts is None:
        return {}
    found: dict[str, str] = {}
    for product in facts.products:
        row = {"agent_id": 0, "target": target, "product": product.names[0]}
        # Figures of a whole product hold for an agent that has all its dies.
        gpu = Gpu.from_agent(row | {"compute_partition": "SPX"})
        value = gpu.hw(name)
        if value is None:
            continue
        figure = gpu.figure(name)
        doubt = " (unconfirmed)" if figure is not None and figure.unconfirmed else ""
        found[" and ".join(product.names)] = number(value) + doubt
    if len(found) == len(facts.products) and len(set(found.values())) == 1:
        return {target: next(iter(found.values()))}
    return found
