"""Find what a name means, and list every name that can be explained."""

from __future__ import annotations

import difflib
import re
import textwrap
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from typing import Final

from rocperf.errors import UsageError
from rocperf.hardware import HW_NAMES, find_gpu, known_targets, target_facts
from rocperf.hardware.terms import find_term, plain_name, terms
from rocperf.metrics.catalogue import metrics
from rocperf.metrics.units import counters
from rocperf.plugin import AnalysisType, Plugins
from rocperf.plugin.analysis import GROUP
from rocperf.report.explain.asked import analysis_text
from rocperf.report.explain.layout import WIDTH, figure_lines, heading
from rocperf.report.explain.machine import fact_text, gpu_text, term_text
from rocperf.report.explain.measured import counter_text, metric_text

NEAREST: Final = 6
"""Names that are offered for an unknown one. A choice of ours."""


def explain(name: str, gpu: str | None = None) -> str:
    """Explain everything that goes by a name.

    Parameters
    ----------
    name
        A metric, counter, analysis, hardware term, GPU or figure; letters' case does not matter.
    gpu
        Only what holds for this target or product; everything when None.

    Raises
    ------
    UsageError
        Nothing goes by that name, or the GPU is not known.
    """
    target = find_gpu(gpu).target if gpu is not None else None
    plain = plain_name(name)
    found = [*_measured(plain, target), *_hardware(plain, target)]
    # A rule of findings, such as occupancy/vgpr, begins with its analysis. Plugins of others are
    # imported only for names that nothing else explains.
    asked = plain.partition("/")[0]
    if not found or asked in {entry.name for entry in entry_points(group=GROUP)}:
        analyses = _analyses()
        if asked in analyses:
            found.insert(0, analysis_text(analyses[asked]))
    if not found:
        near = nearest(name)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise UsageError(
            f"nothing that is called {name!r} can be explained",
            hint=f"{hint}rocperf explain lists what can",
        )
    return "\n\n".join(found) + "\n"


def _measured(plain: str, target: str | None) -> Iterator[str]:
    if plain in metrics():
        yield metric_text(metrics()[plain], target)
    bare = re.sub(r"\[\d+\]$", "", plain)
    for name, counter in counters().items():
        # TCC_HIT and TCC_HIT[3] are counted one by one; what formulas use is their sum.
        if plain_name(name) in (bare, f"{bare}-sum"):
            yield counter_text(counter, target)


def _hardware(plain: str, target: str | None) -> Iterator[str]:
    term = find_term(plain)
    if term is not None:
        yield term_text(term, target)
    products = {plain_name(each): each for each in _product_names()}
    if plain in products or plain in known_targets():
        yield gpu_text(find_gpu(products.get(plain, plain)), products.get(plain))
    figure = plain.removeprefix("hw.").replace("-", "_")
    if figure in HW_NAMES:
        yield fact_text(figure, target)
    elif figure in _figure_names():
        yield f"{heading(figure, 'figure of GPUs')}\n{figure_lines((figure,), target)}"


def _product_names() -> Iterator[str]:
    for target in known_targets():
        facts = target_facts(target)
        for product in facts.products if facts else ():
            yield from product.names


def _figure_names() -> set[str]:
    found: set[str] = set()
    for target in known_targets():
        facts = target_facts(target)
        if facts is not None:
            found |= set(facts.figures)
            found |= {name for product in facts.products for name in product.figures}
    return found


def _analyses() -> Mapping[str, AnalysisType]:
    return Plugins.installed().analyses()


def _names() -> dict[str, list[str]]:
    """Return every name that can be explained, by kind."""
    return {
        "Analyses": sorted(_analyses()),
        "Metrics": sorted(metrics()),
        "Counters": sorted(counters()),
        "Terms": sorted((term.written for term in terms().values()), key=str.casefold),
        "GPUs": [*known_targets(), *_product_names()],
        "Figures of a GPU": [f"hw.{name}" for name in HW_NAMES],
    }


def nearest(name: str) -> tuple[str, ...]:
    """Return the names that an unknown one may have been meant for, best first."""
    known = {plain_name(each): each for names in _names().values() for each in names}
    known |= {plain_name(other): other for term in terms().values() for other in term.also}
    plain = plain_name(name)
    near = difflib.get_close_matches(plain, known, NEAREST, 0.6)
    if len(plain) > 2:
        near += [each for each in known if plain in each and each not in near]
    return tuple(known[each] for each in near[:NEAREST])


def list_names() -> str:
    """Return every name that can be explained, by kind."""
    parts = ["rocperf explain NAME says what one of these means.\n"]
    for kind, names in _names().items():
        text = textwrap.fill(
            ", ".join(names),
            WIDTH,
            initial_indent="  ",
            subsequent_indent="  ",
            break_on_hyphens=False,
        )
        parts.append(f"{kind}\n{text}\n")
    return "\n".join(parts)
