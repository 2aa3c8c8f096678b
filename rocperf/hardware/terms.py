"""The glossary of ``terms.toml``: words of AMD GPUs and of measuring them, with sources."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from rocperf.hardware.facts import read_facts


@dataclass(frozen=True, slots=True)
class Term:
    """One word.

    Parameters
    ----------
    name
        Its name, such as ``bank-conflict``.
    written
        The same as it is written, such as ``FETCH_SIZE``.
    also
        Other names.
    group
        Heading that it stands under.
    text, caveat
        What it is, and what to beware of; the latter may be empty.
    figures
        Names of figures in ``gpus.toml`` that belong to it.
    see
        Terms, metrics, counters and analyses to look at next.
    source
        Source keys, see `term_source`.
    """

    name: str
    written: str
    also: tuple[str, ...]
    group: str
    text: str
    caveat: str
    figures: tuple[str, ...]
    see: tuple[str, ...]
    source: str


@cache
def _read() -> Mapping[str, Any]:
    text = files("rocperf.hardware").joinpath("terms.toml").read_text(encoding="utf-8")
    return MappingProxyType(tomllib.loads(text))


@cache
def terms() -> Mapping[str, Term]:
    """Return every term by name, in the order of the file."""
    return MappingProxyType({name: _term(name, row) for name, row in _read()["term"].items()})


def _term(name: str, row: Mapping[str, Any]) -> Term:
    return Term(
        name=name,
        written=row.get("written", name),
        also=tuple(row.get("also", ())),
        group=row["group"],
        text=row["text"],
        caveat=row.get("caveat", ""),
        figures=tuple(row.get("figures", ())),
        see=tuple(row.get("see", ())),
        source=row["source"],
    )


def plain_name(text: str) -> str:
    """Return a name as names are compared: small letters, words joined by hyphens."""
    return re.sub(r"[\s_-]+", "-", text.strip().casefold())


@cache
def _by_name() -> Mapping[str, Term]:
    found: dict[str, Term] = {}
    for term in terms().values():
        for name in (term.name, *term.also):
            found.setdefault(plain_name(name), term)
    return MappingProxyType(found)


def find_term(name: str) -> Term | None:
    """Return the term of a name or other name, whatever its letters' case; None if there is none.

    Parameters
    ----------
    name
        Such as ``VGPR`` or ``shared memory``.
    """
    return _by_name().get(plain_name(name))


def term_source(term: Term) -> str:
    """Spell out where a term comes from, separated by semicolons."""
    sources = {**read_facts()["sources"], **_read()["sources"]}
    return "; ".join(sources[key.strip()] for key in term.source.split(","))
