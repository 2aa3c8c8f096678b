"""What the link that a copy takes can do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rocperf import Gpu

PIN = (
    "Allocate the host side with hipHostMalloc, or pin it once with hipHostRegister, and copy "
    "with hipMemcpyAsync: pageable memory is staged in chunks."
)
PEER = (
    "Enable peer access (hipDeviceEnablePeerAccess) so that the copy takes the direct link, and "
    "check with rocm-smi --showtopo that there is one."
)
LOCAL = "Swap the two buffers or fuse the copy into the kernel that reads it next."


@dataclass(frozen=True)
class Best:
    """The rate that a link allows: its name, bytes a second, and whether a source is sure."""

    name: str
    rate: float
    sure: bool
    advice: str


def best_of(row: Mapping[str, Any], gpu: Gpu | None, host_rate: float) -> Best | None:
    """Return what the link of a group of copies can do; None when it is not known.

    Parameters
    ----------
    row
        Its ``direction``, ``src_agent_id`` and ``dst_agent_id``.
    gpu
        The GPU at one end; None when the trace does not describe it.
    host_rate
        Rate of the host link in GB/s as the user set it; 0 takes it from the product.
    """
    if row["direction"] == "device_to_device":
        return None if gpu is None else _between(row, gpu)
    if host_rate:
        return Best("the link as set", host_rate * 1e9, sure=True, advice=PIN)
    link = gpu.host_link() if gpu is not None else None
    if link is None:
        return None
    rate = link.achievable_bytes_per_s or link.peak_bytes_per_s
    return Best(link.name, rate, sure=not link.unconfirmed, advice=PIN)


def _between(row: Mapping[str, Any], gpu: Gpu) -> Best | None:
    if row["src_agent_id"] == row["dst_agent_id"]:
        if gpu.dram_bytes_per_s is None:
            return None
        # Every byte is read and written in the same memory.
        return Best("half of the memory's peak", gpu.dram_bytes_per_s / 2, sure=True, advice=LOCAL)
    link = gpu.peer_link()
    if link is None:
        return None
    rate = link.achievable_bytes_per_s or link.peak_bytes_per_s
    return Best(link.name, rate, sure=not link.unconfirmed, advice=PEER)
