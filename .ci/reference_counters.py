"""The page of counters: what each counts, its unit by GPU, and what uses it."""

from __future__ import annotations

from collections.abc import Iterator

from reference_page import page, table

from rocperf.metrics.catalogue import metrics
from rocperf.metrics.expression import TIME
from rocperf.metrics.units import Counter, counters

_INTRO = """
Hardware counters that formulas use, by the block that counts them, with the sentence that
`rocperf explain COUNTER` prints. Names are those of rocprofv3. One that ends in `_sum` adds up
every instance of its block; one that does not is added up by rocprofv3 as it writes it. Either
way a value covers the whole agent, all of its dies.

Beware of three things:

- Counters in quad-cycles count steps of four cycles.
- A name that ends in `_ACCUM` is rocperf's: the value of `SQ_ACCUM_PREV_HIRES` after the counter
  that the rest of the name says, added up over every cycle. It takes two slots of a pass.
- `KERNEL_NS` is no counter, but the time of what was counted. Rates divide by it.
"""

_BLOCKS = {
    "GRBM": "Graphics register bus manager: the whole die",
    "SPI": "Workgroup manager",
    "SQ": "Sequencer: waves, instructions, LDS",
    "SQC": "Scalar and instruction caches; on RDNA the LDS, too",
    "TA": "Address units",
    "TCP": "Vector L1",
    "TCC": "L2 (CDNA)",
    "GL2C": "L2 (RDNA)",
}


def counters_page() -> str:
    """Return the page of counters."""
    return page("Counters", _INTRO, _parts())


def _parts() -> Iterator[str]:
    used: dict[str, list[str]] = {}
    for metric in metrics().values():
        for name in dict.fromkeys(n for f in metric.formulas for n in f.expression.inputs):
            used.setdefault(name, []).append(metric.id)
    blocks: dict[str, list[Counter]] = {block: [] for block in _BLOCKS}
    for name, counter in sorted(counters().items()):
        if name != TIME:
            blocks[name.split("_")[0]].append(counter)
    for block, rows in blocks.items():
        yield f"## {block}\n\n{_BLOCKS[block]}.\n"
        yield table(
            ("counter", "unit", "counts", "used by"),
            [(f"`{c.name}`", _unit(c), c.doc, _links(used[c.name])) for c in rows],
        )


def _unit(counter: Counter) -> str:
    others = dict.fromkeys(counter.on.values())
    return ", ".join([counter.unit, *(f"{unit} on RDNA" for unit in others)])


def _links(names: list[str]) -> str:
    shown = ", ".join(f"[{name}](metrics.md#{name})" for name in names[:4])
    return f"{shown} and {len(names) - 4} more" if len(names) > 4 else shown
