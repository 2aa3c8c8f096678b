"""Metrics and counters explained: formula by GPU, unit, range, what to beware of, source."""

from __future__ import annotations

from rocperf.hardware import HW_NAMES
from rocperf.metrics.catalogue import Formula, Metric, metrics
from rocperf.metrics.expression import TIME
from rocperf.metrics.units import Counter, counter
from rocperf.report.explain.layout import block, by_gpu, entry, heading, paragraph

#: What a formula compares, see `rocperf.metrics.catalogue.Formula`.
_NEEDS = {
    "counts": "compares counts alone, so that it holds for short kernels, too",
    "cycles": "holds counts against the cycles of the kernel, which short kernels exceed",
    "time": "holds counts against the time of the kernel in the run that counted",
}
_BETTER = {"high": "High is better.", "low": "Low is better."}


def metric_text(metric: Metric, target: str | None) -> str:
    """Explain a metric.

    Parameters
    ----------
    metric
        Which.
    target
        Only its formulas for this GPU; all when None.
    """
    formulas = metric.formulas if target is None else metric.on(target)
    unit = f", in {metric.unit}" if metric.unit else ""
    better = _BETTER.get(metric.better, "")
    parts = [
        heading(metric.id, "metric"),
        paragraph(f"{metric.title}{unit}. {metric.plain} {better}"),
        "",
        *(_formula(each) for each in formulas),
    ]
    if not formulas:
        parts.append(paragraph(f"It cannot be measured on {target}."))
    parts += [
        _ingredients(formulas, target),
        entry("Range", _range(metric)),
        entry("Elsewhere", metric.disagreements),
        entry("Source", f"{metric.source}."),
    ]
    return block(parts)


def _range(metric: Metric) -> str:
    if metric.low is None and metric.high is None:
        return "open"
    low = "…" if metric.low is None else f"{metric.low:g}"
    high = "…" if metric.high is None else f"{metric.high:g}"
    return f"{low} to {high} {metric.unit}".rstrip()


def _formula(formula: Formula) -> str:
    return block(
        (
            paragraph(f"On {', '.join(formula.targets)}:"),
            paragraph(formula.expression.text, 6),
            paragraph(_NEEDS.get(formula.needs, formula.needs), 4),
            paragraph(f"Beware: {formula.doubt}", 4) if formula.doubt else "",
        )
    )


def _ingredients(formulas: tuple[Formula, ...], target: str | None) -> str:
    names = dict.fromkeys(name for each in formulas for name in each.expression.counters)
    facts = dict.fromkeys(name for each in formulas for name in each.expression.facts)
    lines: list[str] = []
    for each in map(counter, names):
        unit = each.unit_on(target) if target else each.unit
        lines.append(paragraph(f"{each.name} [{unit}]: {each.doc}", 4))
    if any(TIME in each.expression.inputs for each in formulas):
        lines.append(paragraph(f"{TIME} [ns]: time of the dispatches in the run that counted.", 4))
    for name in facts:
        unit = f" [{HW_NAMES[name].unit}]" if HW_NAMES[name].unit else ""
        lines.append(paragraph(f"hw.{name}{unit}: {HW_NAMES[name].doc}", 4))
    return block(("  Made of:", *lines)) if lines else ""


def counter_text(found: Counter, target: str | None) -> str:
    """Explain a counter, and name the metrics that are made of it.

    Parameters
    ----------
    found
        Which.
    target
        Only what holds for this GPU; all when None.
    """
    users: dict[str, list[str]] = {}
    for metric in metrics().values():
        for formula in metric.formulas if target is None else metric.on(target):
            if found.name in formula.expression.counters:
                users.setdefault(metric.id, []).extend(formula.targets)
    parts = [heading(found.name, "counter"), paragraph(found.doc)]
    if target is not None or not found.on:
        parts.append(entry("Unit", found.unit_on(target or "")))
    else:
        units = {"elsewhere": found.unit} | dict(found.on)
        parts.append("  Unit:")
        parts += [paragraph(line, 4) for line in reversed(by_gpu(units))]
    if users:
        parts.append("  Metrics made of it:")
        for name, targets in users.items():
            parts.append(paragraph(f"{name} on {', '.join(dict.fromkeys(targets))}", 4))
    else:
        parts.append(paragraph(f"No metric is made of it{f' on {target}' if target else ''}."))
    parts.append(
        paragraph(
            "rocprofv3 writes the sum over all instances of the block and all dies of the agent."
        )
    )
    parts.append(
        entry("Source", "rocprofiler-sdk 1.0.0 and AMD's counter reference for MI200 and MI300.")
    )
    return block(parts)
