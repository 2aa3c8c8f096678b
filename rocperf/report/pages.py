"""The page of an analysis: what it asks, why it costs, how it measures, how to fix it."""

from __future__ import annotations

import re
from pathlib import Path

_HERE = Path(__file__).resolve()
#: In a wheel the pages lie beside this file; in a source tree they are where they are written.
PLACES = (_HERE.parent / "pages", _HERE.parents[2] / "docs" / "explanation" / "analyses")
_ID = re.compile(r"[a-z][a-z0-9-]*")


def page_of(analysis: str) -> str | None:
    """Return the page of an analysis as Markdown; None where it has none.

    Parameters
    ----------
    analysis
        Its id. One that could not be an id has no page, whatever file it might name.
    """
    if not _ID.fullmatch(analysis):
        return None
    for folder in PLACES:
        path = folder / f"{analysis}.md"
        if path.is_file():
            return path.read_text(encoding="utf-8")
    return None
