"""The manifest that ``rocperf collect`` leaves in its raw folder, and what it says of the runs.

``load`` calls `assign_passes` before runs are described, and `record_passes` after: the first
gives runs their pass, role and command, the second fills ``passes`` and ``requested_counters``.
Rows decide what they can: a counter counts as received when it has values, whatever the manifest
says.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rocperf.ingest.secrets import reduce, scrub

if TYPE_CHECKING:
    from rocperf.ingest.sink import StoreSink

MANIFEST = "manifest.json"
SCHEMA = "rocperf.raw/1"

# A manifest of a thousand passes has some MB; nothing larger is one.
_LIMIT = 64 << 20


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """Read the manifest of a raw folder.

    Parameters
    ----------
    folder
        The folder.

    Returns
    -------
    dict or None
        None where there is none, or it is another program's or damaged.
    """
    path = folder / MANIFEST
    try:
        if path.stat().st_size > _LIMIT:
            return None
        content: object = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(content, dict):
        return None
    found = cast("dict[str, Any]", content)
    if found.get("schema") != SCHEMA or not isinstance(found.get("passes"), list):
        return None
    return found


@dataclass(frozen=True, slots=True)
class _Collected:
    """One raw folder; its passes are numbered on from those of the profile."""

    root: Path
    content: dict[str, Any]
    offset: int

    @property
    def passes(self) -> list[dict[str, Any]]:
        """Its passes, without damaged entries."""
        found: list[dict[str, Any]] = []
        for each in self.content["passes"]:
            if isinstance(each, dict):
                one = cast("dict[str, Any]", each)
                if isinstance(one.get("number"), int) and isinstance(one.get("folder"), str):
                    found.append(one)
        return found

    def pass_of(self, path: Path) -> dict[str, Any] | None:
        """Return the pass whose folder holds a file."""
        return next((p for p in self.passes if path.is_relative_to(self.root / p["folder"])), None)


def assign_passes(sink: StoreSink, roots: Iterable[Path]) -> list[_Collected]:
    """Give the runs of raw folders their pass, and what only the manifest knows of them.

    Parameters
    ----------
    sink
        Holds runs and files.
    roots
        Folders that were read.

    Returns
    -------
    list
        For `record_passes`.
    """
    rows = sink.connection.execute('SELECT coalesce(max("pass"), 0) FROM passes').fetchall()
    offset = int(rows[0][0])
    folders: list[_Collected] = []
    for root in dict.fromkeys(roots):
        content = read_manifest(root) if root.is_dir() else None
        if content is not None:
            folders.append(_Collected(root, content, offset))
            offset += max((int(p["number"]) for p in folders[-1].passes), default=0)
    for record in sink.files:
        info = sink.runs.get(record.run_id) if record.run_id is not None else None
        for each in folders:
            found = each.pass_of(record.source.path)
            if info is None or record.run_id is None or found is None or info.pass_number:
                continue
            info.pass_number = each.offset + int(found["number"])
            if found.get("role") == "counters":
                info.role = "counters"
            if found.get("status") in ("interrupted", "failed"):
                info.status = "incomplete"
            _complete(sink, record.run_id, each.content)
    return folders


def _complete(sink: StoreSink, run_id: int, content: Mapping[str, Any]) -> None:
    """Add what the manifest knows of a run and its own files do not tell."""
    info = sink.runs[run_id]
    if info.command is None and isinstance(content.get("command"), list):
        info.command = scrub(shlex.join(map(str, content["command"])))
    if info.hostname is None and isinstance(content.get("hostname"), str):
        info.hostname = content["hostname"]
    environment = content.get("environment")
    if not info.environment and isinstance(environment, dict):
        known = cast("dict[object, object]", environment)
        info.environment = reduce({str(k): str(v) for k, v in known.items()})
    versions = content.get("versions")
    if isinstance(versions, dict):
        told = cast("dict[object, object]", versions)
        info.rocm_version = info.rocm_version or _text(told.get("rocm"))
        info.tool_version = info.tool_version or _text(told.get("rocprofv3"))
    machine = content.get("machine")
    if isinstance(machine, dict):
        _add_machine(sink, run_id, cast("dict[str, Any]", machine))


def _add_machine(sink: StoreSink, run_id: int, machine: Mapping[str, Any]) -> None:
    """Add the links between agents, and agents that the dispatches name and no file lists."""
    import polars as pl
    from polars.exceptions import PolarsError

    from rocperf.ingest.sink import INCOMING
    from rocperf.ingest.topology.rows import frames_of

    try:
        agents, links = frames_of(machine["agents"], machine["links"])
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError, PolarsError):
        return  # damaged: nothing depends on it
    named = sink.connection.execute(
        f"SELECT DISTINCT agent_id FROM {INCOMING} WHERE run_id = ? AND agent_id IS NOT NULL",
        [run_id],
    ).fetchall()
    listed = set(agents.filter(kind="GPU")["agent_id"].to_list())
    if len(listed) == 1 and len(named) == 1 and int(named[0][0]) not in listed:
        # However the profiler numbers agents, where there is one GPU it can be no other.
        agents = agents.filter(kind="GPU").with_columns(
            agent_id=pl.lit(int(named[0][0]), dtype=pl.UInt64)
        )
        listed = {int(named[0][0])}
    for table, frame in (("agents", agents), ("links", links)):
        ((count,),) = sink.connection.execute(
            f"SELECT count(*) FROM {table} WHERE run_id = ?", [run_id]
        ).fetchall()
        fits = table == "links" or {int(r[0]) for r in named} <= listed
        if fits and frame.height and not count:
            sink.append(table, frame, run_id=run_id, file_id=None)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _words(value: object) -> list[str]:
    return [str(word) for word in cast("list[object]", value)] if isinstance(value, list) else []


def _scrubbed(words: list[str]) -> list[str]:
    """Mask secrets in an argument list; the value of ``--token`` is the word after it."""
    clean: list[str] = []
    for before, word in zip(["", *words], words, strict=False):
        follows = before.startswith("-") and scrub(f"{before} x") != f"{before} x"
        clean.append("***" if follows else scrub(word))
    return clean


def record_passes(sink: StoreSink, folders: Sequence[_Collected]) -> None:
    """Fill ``passes`` and ``requested_counters``, and note what went wrong.

    Parameters
    ----------
    sink
        Its runs are described already.
    folders
        From `assign_passes`.
    """
    came: dict[int, set[str]] = {}
    for number, counter in sink.connection.execute(
        'SELECT DISTINCT r."pass", c.counter FROM counter_values c JOIN runs r USING (run_id)'
        ' WHERE r."pass" IS NOT NULL'
    ).fetchall():
        came.setdefault(int(number), set()).add(str(counter))
    for each in folders:
        for one in each.passes:
            number = each.offset + int(one["number"])
            _record(sink, number, one, came.get(number, set()))


def _record(sink: StoreSink, number: int, one: Mapping[str, Any], came: set[str]) -> None:
    argv = _scrubbed(_words(one.get("argv")))
    status, message = str(one.get("status")), _text(one.get("message"))
    code, duration = one.get("exit_code"), one.get("duration_ns")
    sink.connection.execute(
        "INSERT INTO passes VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            number,
            "counters" if one.get("role") == "counters" else "timing",
            _text(one.get("purpose")),
            json.dumps(argv),
            code if isinstance(code, int) else None,
            status,
            message,
            duration if isinstance(duration, int) else None,
        ],
    )
    for counter in dict.fromkeys(_words(one.get("counters"))):
        sink.connection.execute(
            "INSERT INTO requested_counters VALUES (?, ?, ?)",
            [number, counter, counter.partition(":")[0] in came],
        )
    if status != "complete" or message:
        sink.note("warning", f"pass-{status}", f"pass {number}: {message or 'not run'}")
