"""Outcomes kept beside the profile, so that opening it again is instant."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import json
import sys
from pathlib import Path
from typing import Any, Self

import rocperf
from rocperf.engine.outcomes import outcome_from_dict, outcome_to_dict
from rocperf.model import Failed, Outcome
from rocperf.plugin import Analysis
from rocperf.profile import Profile


class Cache:
    """Outcomes of one generation of one profile.

    Parameters
    ----------
    path
        The file; None when there is none to keep them in.
    profile_id
        Generation that they are about.
    """

    def __init__(self, path: Path | None, profile_id: str) -> None:
        self._path = path
        self._id = profile_id
        self._rows: dict[str, Any] = {}
        self._changed = False
        if path is not None:
            with contextlib.suppress(OSError, ValueError, AttributeError):
                held = json.loads(path.read_text(encoding="utf-8"))
                if held.get("profile") == profile_id:
                    self._rows = dict(held["outcomes"])

    @classmethod
    def beside(cls, profile: Profile) -> Self:
        """Open the cache of a profile; one that looks at a part of it has none."""
        if profile.path is None or profile.region is not None:
            return cls(None, profile.id)
        return cls(profile.path.with_name(profile.path.name + ".findings.json"), profile.id)

    def find(self, analysis: Analysis[Any]) -> Outcome | None:
        """Return the kept outcome; None when there is none or it cannot be read."""
        row = self._rows.get(_key(analysis))
        if row is None:
            return None
        try:
            return outcome_from_dict(row)
        except (KeyError, ValueError, TypeError, AttributeError):
            return None

    def keep(self, analysis: Analysis[Any], outcome: Outcome) -> None:
        """Keep an outcome; a failure is not kept, since it may pass."""
        if not isinstance(outcome, Failed):
            self._rows[_key(analysis)] = outcome_to_dict(outcome)
            self._changed = True

    def save(self) -> None:
        """Write what changed; where the folder cannot be written, go without."""
        if self._path is None or not self._changed:
            return
        text = json.dumps({"profile": self._id, "outcomes": self._rows}, allow_nan=False)
        part = self._path.with_name(f".{self._path.name}.part")
        with contextlib.suppress(OSError):
            part.write_text(text, encoding="utf-8")
            part.replace(self._path)


def _key(analysis: Analysis[Any]) -> str:
    options = dataclasses.asdict(analysis.options)
    module = sys.modules.get(type(analysis).__module__)
    folder = str(Path(file).parent) if module and (file := module.__file__) else ""
    named = [analysis.id, rocperf.__version__, code_of(folder), options]
    return json.dumps(named, sort_keys=True, default=str)


@functools.cache
def code_of(folder: str) -> str:
    """Return what tells versions of the code apart where the version's number stays the same.

    In a source tree an outcome of yesterday's code must not be shown as today's.

    Parameters
    ----------
    folder
        Where the module of the analysis is, with the modules that it shares; all of rocperf,
        whose formulas it asks, counts as well.
    """
    ours = Path(rocperf.__file__).parent
    files = [each for each in ours.rglob("*") if each.suffix in (".py", ".toml", ".sql")]
    files += Path(folder).glob("*.py") if folder else []
    digest = hashlib.sha256()
    for file in sorted(files):
        with contextlib.suppress(OSError):
            state = file.stat()
            digest.update(f"{file} {state.st_mtime_ns} {state.st_size}\n".encode())
    return digest.hexdigest()[:16]
