"""Write the reference pages that follow from the code, or check that they are current.

``generate_reference.py`` writes them; with ``--check`` it changes nothing and fails when one
differs. What people must know besides stands here, so that each page has one author.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import tomllib
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reference_counters import counters_page
from reference_hardware import glossary, gpus
from reference_page import page as _page
from reference_page import table as _table
from reference_passes import passes_page

from rocperf.cli import parser
from rocperf.metrics.catalogue import CATALOGUE_VERSION, Metric, metrics
from rocperf.schema import SCHEMA_VERSION, TABLES, VIEWS, Table

if TYPE_CHECKING:
    from rocperf.plugin import AnalysisType

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs" / "reference"


def main(arguments: list[str]) -> int:
    """Write or check every page."""
    check = arguments == ["--check"]
    stale: list[str] = []
    for name, text in pages().items():
        path = REFERENCE / name
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for name in stale:
        print(f"docs/reference/{name} {'is not current' if check else 'written'}")
    if stale and check:
        print("run: python .ci/generate_reference.py")
    return int(check and bool(stale))


def pages() -> dict[str, str]:
    """Return the text of every generated page by file name."""
    return {
        "commands.md": commands(),
        "profile-tables.md": tables(),
        "metrics.md": catalogue(),
        "counters.md": counters_page(),
        "analyses.md": analyses(),
        "gpus.md": gpus(),
        "glossary.md": glossary(),
        "../explanation/collect-and-passes.md": passes_page(),
    }


# -- commands ------------------------------------------------------------------------------

_COMMANDS = """
Standard output carries data only; progress, notes and errors go to standard error.
[Exit codes](exit-codes.md) are the same for every verb. `rocperf --version` prints the
version, `rocperf VERB --help` what stands here. `NO_COLOR` switches colours off.
"""


def commands() -> str:
    """Return the page of verbs and their options."""
    top = parser()

    def parts() -> Iterator[str]:
        for name, verb in _verbs(top):
            yield f"## rocperf {name}\n\n{_sentence(verb.description or '')}\n"
            yield f"```text\n{_usage(name, verb)}\n```\n"
            yield from _arguments(verb)

    return _page("Commands", _COMMANDS, parts())


def _verbs(
    top: argparse.ArgumentParser, prefix: str = ""
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in top._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {each.dest: each.help or "" for each in action._choices_actions}
            for name, verb in action.choices.items():
                inner = list(_verbs(verb, f"{prefix}{name} "))
                if not verb.description:
                    verb.description = helps.get(name, "")
                yield from inner or [(prefix + name, verb)]


def _sentence(text: str) -> str:
    text = " ".join(text.replace("``", "`").split())
    text = text[:1].upper() + text[1:]
    return text if not text or text.endswith(".") else text + "."


def _usage(name: str, verb: argparse.ArgumentParser) -> str:
    if verb.usage:
        return verb.usage
    words = [f"rocperf {name} [options]"]
    for action in verb._actions:
        if not action.option_strings:
            word = _metavar(action)
            optional = action.nargs in ("?", "*", argparse.REMAINDER)
            word += "…" if action.nargs in ("+", "*") else ""
            words.append(f"[{word}]" if optional else word)
    return " ".join(words)


def _metavar(action: argparse.Action) -> str:
    if action.metavar is not None:
        return str(action.metavar)
    if action.choices is not None:
        return "{" + ",".join(map(str, action.choices)) + "}"
    return action.dest.upper() if action.option_strings else action.dest


def _arguments(verb: argparse.ArgumentParser) -> Iterator[str]:
    rows: list[tuple[str, ...]] = []
    for action in verb._actions:
        if isinstance(action, argparse._HelpAction):
            continue
        value = "" if action.nargs == 0 else " " + _metavar(action)
        names = [f"`{each}{value}`" for each in action.option_strings]
        rows.append((", ".join(names) or f"`{_metavar(action)}`", action.help or "–"))
    if rows:
        yield _table(("argument", "meaning"), rows)


# -- tables --------------------------------------------------------------------------------

_TABLES = f"""
A profile is one [DuckDB](https://duckdb.org) file; this is its schema, version
{SCHEMA_VERSION}. `rocperf query FILE --schema` prints the same. A profile of a later schema is
refused with the rocperf version that reads it. Times are integer nanoseconds on the recording
host's clock, sizes are bytes, and `NULL` means that the source does not say. Every event row
names the file and the record that it was read from.

**Which to ask.** For times, ask `dispatches`: it holds the timing run only. For counters, ask
`counters`. [Collect and passes](../explanation/collect-and-passes.md) says why they differ.
"""


def tables() -> str:
    """Return the page of tables, columns and units."""

    def parts() -> Iterator[str]:
        contents = [(f"[{t.name}](#{t.name})", t.doc) for t in (*VIEWS, *TABLES)]
        yield _table(("table", "one row is"), contents)
        for table in (*VIEWS, *TABLES):
            yield _one_table(table)

    return _page("Tables of a profile", _TABLES, parts())


def _one_table(table: Table) -> str:
    kind = "A view. " if table.sql else ""
    rows = [(f"`{c.name}`", c.type, c.unit, c.doc) for c in table.columns]
    grid = _table(("column", "type", "unit", "holds"), rows)
    return f"## {table.name}\n\n{kind}{table.doc}\n\n{grid}"


# -- metrics -------------------------------------------------------------------------------

_METRICS = f"""
What counters mean: formulas as data, in `rocperf/metrics/formulas`, version
{CATALOGUE_VERSION} of the catalogue. A metric has four states: a value; not applicable (the
formula divides nothing by nothing); not collected; not trustworthy, with the reason. The last
three are never shown as 0.

Of several formulas for a GPU the first whose counters were collected is used. A metric over
several dispatches is the ratio of sums, not the mean of ratios. Names that begin with `hw.`
are [figures of the GPU](../explanation/trust.md#figures-of-the-gpu), the others
[counters](counters.md). The last column says what a formula compares: counts, which hold for any
kernel; cycles or time, which need dispatches of 50 µs or more.
"""


def catalogue() -> str:
    """Return the page of metrics."""

    def parts() -> Iterator[str]:
        sections: dict[str, list[Metric]] = {}
        for metric in metrics().values():
            sections.setdefault(metric.section, []).append(metric)
        for section, found in sections.items():
            rows = [(f"[{m.id}](#{m.id})", m.title, m.unit, _range(m)) for m in found]
            yield f"**{section}**\n\n{_table(('metric', 'is', 'unit', 'range'), rows)}"
        for found in sections.values():
            yield from map(_one_metric, found)

    return _page("Metrics", _METRICS, parts())


def _range(metric: Metric) -> str:
    if metric.low is None and metric.high is None:
        return "open"
    low = "…" if metric.low is None else f"{metric.low:g}"
    high = "…" if metric.high is None else f"{metric.high:g}"
    return f"{low} to {high}"


def _one_metric(metric: Metric) -> str:
    better = {"high": "High is better.", "low": "Low is better."}.get(metric.better, "")
    rows = [
        (", ".join(each.targets), f"`{each.expression.text}`", each.needs)
        for each in metric.formulas
    ]
    grid = _table(("GPUs", "formula", "compares"), rows)
    text = f"## {metric.id}\n\n{metric.title}, in {metric.unit}. {metric.plain} {better}".rstrip()
    text += f"\n\n{grid}\nSource: {metric.source}.\n"
    if metric.disagreements:
        text += f"\nElsewhere: {metric.disagreements}\n"
    return text


# -- analyses ------------------------------------------------------------------------------

_ANALYSES = """
The analyses that ship, what each needs, and its options. `rocperf plugins list -v` prints the
same of everything that is installed, plugins of your own included. Each has a page that says what
it asks, why it costs time, how it is measured, how to fix it, and when it is a false alarm.
[Recorded traces](../explanation/analyses/recorded-traces.md) shows what each says of real programs.
"""


def analyses() -> str:
    """Return the page of the analyses that ship."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        entries = tomllib.load(file)["project"]["entry-points"]["rocperf"]

    def parts() -> Iterator[str]:
        for _, module in sorted(entries.items()):
            for kind in import_module(module).rocperf_analyses():
                yield _one_analysis(kind)

    return _page("Analyses", _ANALYSES, parts())


def _one_analysis(kind: AnalysisType) -> str:
    requires = kind.requires
    needs = [f"table `{name}`" for name in requires.tables]
    needs += [_metric_link(name) for name in requires.metrics]
    for group in requires.any_of:
        choices = (" with ".join(map(_metric_link, each)) for each in group)
        needs.append(" or ".join(choices))
    optional = [_metric_link(name) for name in requires.optional]
    text = f"## {kind.id}\n\n{_sentence(kind.title)} "
    text += f"[Why, how to fix it, false alarms](../explanation/analyses/{kind.id}.md).\n\n"
    text += f"Needs {'; '.join(needs) or 'nothing but dispatches'}.\n"
    if optional:
        text += f"Sharper with {', '.join(optional)}.\n"
    if requires.deep:
        left_out = ", ".join(map(_metric_link, requires.deep))
        text += f"A first look leaves out {left_out}: `--for {kind.id}` or `--deepen` bring it.\n"
    rows = [
        (
            f"`{kind.id}.{f.name}`",
            f"{f.default}",
            f.metadata["unit"],
            _bounds(f.metadata),
            f.metadata["help"],
        )
        for f in dataclasses.fields(kind.options_type)
    ]
    if rows:
        text += "\n" + _table(("option", "default", "unit", "bounds", "meaning"), rows)
    return text


def _metric_link(name: str) -> str:
    return f"[{name}](metrics.md#{name})"


def _bounds(metadata: Mapping[str, Any]) -> str:
    low, high = metadata.get("minimum"), metadata.get("maximum")
    if low is None and high is None:
        return ""
    return f"{'…' if low is None else low} to {'…' if high is None else high}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
