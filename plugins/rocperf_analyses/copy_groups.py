"""What copies of one direction between two agents are called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rocperf import Subject

WORDS = {
    "host_to_device": "host to GPU",
    "device_to_host": "GPU to host",
    "device_to_device": "GPU to GPU",
}


def subject(row: Mapping[str, Any], *, several: bool) -> Subject:
    """Name the copies of a direction and pair of agents, as every analysis of copies does.

    Parameters
    ----------
    row
        Their ``direction``, ``run_id``, ``src_agent_id`` and ``dst_agent_id``.
    several
        Whether there are copies of several runs to be told apart.
    """
    name = f"{WORDS[row['direction']]}, agent {row['src_agent_id']} to {row['dst_agent_id']}"
    if several:
        name += f", run {row['run_id']}"
    details = {key: row[key] for key in ("direction", "run_id", "src_agent_id", "dst_agent_id")}
    return Subject("copy", name, details)
