"""Findings that somebody looked at and left as they are, kept in a file beside the code.

The file is ``.rocperf.toml``: the nearest one from the working directory upwards, within its
repository. Each entry names a finding by rule and subject, and says why it is left.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from rocperf.errors import ConfigError
from rocperf.model import Finding

NAME = ".rocperf.toml"
_ENTRY = "[[accepted]]"


@dataclass(frozen=True, slots=True)
class Acceptance:
    """One finding that is left as it is.

    Parameters
    ----------
    rule, kind, subject
        As the finding states them; the name of the subject in full.
    reason
        Why it is left.
    date
        Day of that decision, ``2026-01-31``; empty when it is not said.
    """

    rule: str
    kind: str
    subject: str
    reason: str
    date: str = ""

    def covers(self, finding: Finding) -> bool:
        """Tell whether it is about this finding."""
        about = (finding.rule, finding.subject.kind, finding.subject.name)
        return about == (self.rule, self.kind, self.subject)


def place(folder: Path | None = None) -> Path:
    """Return where acceptances are kept, whether the file exists yet or not.

    Parameters
    ----------
    folder
        Where to begin; the working directory by default. Folders above it are looked at up to
        the one that holds ``.git``, and not at all where there is none: a file further up is
        of somebody else.
    """
    here = (folder or Path.cwd()).resolve()
    above = [here, *here.parents]
    top = next((n for n, each in enumerate(above) if (each / ".git").exists()), 0)
    for each in above[: top + 1]:
        if (each / NAME).is_file():
            return each / NAME
    return here / NAME


def read(path: Path) -> tuple[Acceptance, ...]:
    """Read a file of acceptances; none when it does not exist.

    Raises
    ------
    ConfigError
        If it cannot be read, or an entry lacks something.
    """
    text = _text(path)
    try:
        entries = tomllib.loads(text).get("accepted", [])
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"{path}: {error}", hint="mend that line, or move the file away"
        ) from error
    if not isinstance(entries, list):
        raise ConfigError(f"{path}: accepted is no list", hint=f"write {_ENTRY} before each entry")
    listed = cast("list[object]", entries)
    return tuple(_entry(path, number, entry) for number, entry in enumerate(listed, 1))


def add(path: Path, acceptance: Acceptance) -> None:
    """Write one more acceptance; one about the same finding is replaced.

    Raises
    ------
    ConfigError
        If there is no reason, or the file cannot be read or written.
    """
    if not acceptance.reason.strip():
        raise ConfigError("a finding is accepted for a reason", hint="say it in a few words")
    text = _without(path, acceptance.rule, acceptance.kind, acceptance.subject)
    fields = {
        "rule": acceptance.rule,
        "kind": acceptance.kind,
        "subject": acceptance.subject,
        "reason": acceptance.reason.strip(),
        "date": acceptance.date,
    }
    lines = [_ENTRY, *(f"{name} = {_quoted(value)}" for name, value in fields.items() if value)]
    before = f"{text.rstrip()}\n\n" if text.strip() else ""
    _write(path, before + "\n".join(lines) + "\n")


def remove(path: Path, finding: Finding) -> None:
    """Take a finding's acceptance back; whatever else the file holds stays.

    Raises
    ------
    ConfigError
        If the file cannot be read or written.
    """
    text = _without(path, finding.rule, finding.subject.kind, finding.subject.name)
    _write(path, f"{text.rstrip()}\n" if text.strip() else "")


def covering(acceptances: Sequence[Acceptance], finding: Finding) -> Acceptance | None:
    """Return the acceptance of a finding; None when it is not accepted."""
    return next((each for each in acceptances if each.covers(finding)), None)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path} cannot be read: {error}", hint="check its permissions and that it is UTF-8"
        ) from error


def _entry(path: Path, number: int, entry: object) -> Acceptance:
    names = ("rule", "kind", "subject", "reason")
    fields = cast("dict[str, object]", entry) if isinstance(entry, dict) else {}
    for name in names:
        value = fields.get(name)
        if not isinstance(value, str) or not value.strip():
            raise ConfigError(
                f"{path}: entry {number} of accepted has no {name}",
                hint=f"each needs {', '.join(names)}",
            )
    rule, kind, subject, reason = (str(fields[name]) for name in names)
    return Acceptance(rule, kind, subject, reason, str(fields.get("date", "")))


def _without(path: Path, rule: str, kind: str, subject: str) -> str:
    """Return the file's text less the entries about one finding."""
    read(path)  # what is broken is refused, not made worse
    parts: list[list[str]] = [[]]
    for line in _text(path).splitlines(keepends=True):
        if line.lstrip().startswith("["):
            parts.append([])
        parts[-1].append(line)
    return "".join(part for part in map("".join, parts) if not _about(part, rule, kind, subject))


def _about(part: str, rule: str, kind: str, subject: str) -> bool:
    if not part.lstrip().startswith(_ENTRY):
        return False
    try:
        (entry,) = tomllib.loads(part)["accepted"]
    except tomllib.TOMLDecodeError:
        return False  # a bracket within a text of several lines: left as it is
    return (entry.get("rule"), entry.get("kind"), entry.get("subject")) == (rule, kind, subject)


def _quoted(text: str) -> str:
    # Strings of JSON are strings of TOML, but for DEL, which TOML wants escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _write(path: Path, text: str) -> None:
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be written: {error.strerror}", hint="check the folder's permissions"
        ) from error
