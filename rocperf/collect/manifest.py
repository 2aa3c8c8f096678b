"""The manifest of a raw folder: what was run, how it ended, what it wrote."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import rocperf
from rocperf.collect import verify
from rocperf.errors import InputError
from rocperf.ingest.collected import MANIFEST, SCHEMA, read_manifest
from rocperf.ingest.secrets import reduce

_CHUNK = 1 << 20


@dataclass(frozen=True)
class Record:
    """One pass as the manifest has it.

    Parameters
    ----------
    number
        From 1.
    role
        ``timing`` or ``counters``.
    counters
        Asked for.
    received
        Those of them that have values.
    metrics
        Ids that it serves.
    folder
        Name of its folder within the raw folder.
    status
        ``complete``, ``failed``, ``interrupted`` or ``missing`` (not run yet).
    message
        What went wrong or was odd.
    duration_ns
        How long it took.
    files
        Path within its folder, size and checksum of each.
    kernels
        Filter of kernel names where it is not that of the whole collection.
    """

    number: int
    role: str
    purpose: str
    argv: tuple[str, ...]
    counters: tuple[str, ...]
    metrics: tuple[str, ...]
    folder: str
    status: str = "missing"
    message: str | None = None
    exit_code: int | None = None
    received: tuple[str, ...] = ()
    duration_ns: int | None = None
    files: tuple[dict[str, Any], ...] = ()
    kernels: str | None = None

    @property
    def complete(self) -> bool:
        """Whether it need not run again."""
        return self.status == "complete"


@dataclass(frozen=True)
class Manifest:
    """A raw folder's description.

    Parameters
    ----------
    command
        The program and its arguments.
    options
        Filters and the like that every pass of it shares.
    machine
        Rows of agents and links, as the driver listed them.
    passes
        In order of their numbers.
    """

    command: tuple[str, ...]
    target: str
    options: Mapping[str, Any]
    machine: Mapping[str, Any]
    versions: Mapping[str, Any]
    created: str
    passes: tuple[Record, ...]

    def with_pass(self, record: Record) -> Manifest:
        """Return it with a pass added, or replaced by number."""
        kept = [each for each in self.passes if each.number != record.number]
        ordered = sorted([*kept, record], key=lambda each: each.number)
        return replace(self, passes=tuple(ordered))


def new(
    command: Sequence[str],
    target: str,
    options: Mapping[str, Any],
    machine: Mapping[str, Any],
    versions: Mapping[str, Any],
) -> Manifest:
    """Begin a manifest."""
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return Manifest(tuple(command), target, dict(options), machine, versions, created, ())


def write(raw: Path, manifest: Manifest) -> None:
    """Write it into a raw folder, in one step, so that a kill leaves the old or the new one."""
    content = {
        "schema": SCHEMA,
        "rocperf": rocperf.__version__,
        "hostname": platform.node(),
        "environment": reduce(os.environ),
        **asdict(manifest),
    }
    part = raw / f".{MANIFEST}.part"
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    part.replace(raw / MANIFEST)


def read(raw: Path) -> Manifest:
    """Read the manifest of a raw folder.

    Raises
    ------
    InputError
        If there is none, or it is damaged.
    """
    content = read_manifest(raw)
    if content is None:
        raise InputError(
            f"{raw} holds nothing that rocperf collect wrote",
            hint="name the profile it was to make",
        )
    try:
        passes = tuple(_record(each) for each in content["passes"])
        return Manifest(
            tuple(map(str, content["command"])),
            str(content["target"]),
            dict(content["options"]),
            dict(content["machine"]),
            dict(content["versions"]),
            str(content["created"]),
            passes,
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{raw / MANIFEST} is damaged: {error!r}", hint="collect again") from error


def _record(content: Mapping[str, Any]) -> Record:
    lists = ("argv", "counters", "metrics", "received", "files")
    values: dict[str, Any] = {k: tuple(v) if k in lists else v for k, v in content.items()}
    record = Record(**values)
    # Folders are emptied before a pass: no other than our own may be named.
    if not isinstance(content["number"], int) or record.folder != f"pass_{record.number}":
        raise ValueError(f"folder {record.folder!r}")
    return record


def describe_files(folder: Path) -> tuple[dict[str, Any], ...]:
    """List the files of a pass with size and checksum."""
    found: list[dict[str, Any]] = []
    for path in verify.written(folder):
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
        found.append(
            {
                "path": str(path.relative_to(folder)),
                "bytes": path.stat().st_size,
                "sha256": digest.hexdigest(),
            }
        )
    return tuple(found)
