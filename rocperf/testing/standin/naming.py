"""Keys such as ``%pid%`` in the names of output files and folders."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from rocperf.testing.simulator import Session

_RANKS = (
    "MPI_RANK", "MPI_LOCALRANKID", "MPI_RANKID", "MV2_COMM_WORLD_RANK", "OMPI_COMM_WORLD_RANK",
)  # fmt: skip
_SIZES = ("MPI_SIZE", "MV2_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_SIZE")
_ENVIRONMENT = re.compile(r"%env\{([A-Z0-9_]+)\}%|\$ENV\{([A-Z0-9_]+)\}")


def expand(text: str, session: Session) -> str:
    """Replace the keys in a file or folder name.

    Parameters
    ----------
    text
        Value of ``-d`` or ``-o``.
    session
        The profiled process.
    """
    environment, command = session.environment, session.command
    rank = _first(environment, (*reversed(_RANKS), "SLURM_PROCID"), "0")
    known = any(name in environment for name in (*_RANKS, "SLURM_PROCID"))
    keys = {
        "pid": str(session.pid), "ppid": str(session.ppid), "hostname": session.hostname,
        "rank": rank, "size": _first(environment, _SIZES, "1"),
        "nid": rank if known else str(session.pid),
        "job": environment.get("SLURM_JOB_ID", "0"), "cwd": str(Path.cwd()),
        "argt": Path(command[0]).name, "tag": Path(command[0]).name,
    }  # fmt: skip
    for key, value in keys.items():
        text = text.replace(f"%{key}%", value).replace(f"{{{key}}}", value)
    for short, key in (("%h", "hostname"), ("%p", "pid"), ("%r", "rank"), ("%s", "size")):
        # A function, so that a backslash in a host name stays what it is.
        text = re.sub(re.escape(short) + r"(?![a-z]*%)", partial(_constant, keys[key]), text)
    return _ENVIRONMENT.sub(
        lambda m: re.sub(r"[ \t/]", "_", environment.get(m[1] or m[2], "")), text
    )


def _constant(value: str, match: re.Match[str]) -> str:
    del match
    return value


def _first(environment: Mapping[str, str], names: tuple[str, ...], default: str) -> str:
    return next((environment[name] for name in names if name in environment), default)
