"""What `rocperf collect` leaves out, and the commands with which people record it themselves."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocperf.model import Requires
    from rocperf.profile.opening import Profile

#: Why collect does not record a table.
WHY = {
    "pc_samples": "rocperf collect takes none: sampling is a beta that can hang the GPU",
    "kfd_events": "rocperf collect takes none: rocprofv3 has --kfd-trace from ROCm 7.13 on only",
    "scratch_events": "rocperf collect takes none: they can abort the writing of rocpd files",
    "counter_instances": "rocperf collect takes sums: single channels are 16 to 128 times as much",
}
#: What records a table, where that is the same on every GPU. An asynchronous reclaim of scratch
#: memory aborts rocpd output in every version that was looked at, so those events go to CSV.
_FLAGS = {
    "kfd_events": ("--kernel-trace", "--kfd-trace", "--output-format", "rocpd"),
    "scratch_events": ("--kernel-trace", "--scratch-memory-trace", "--output-format", "csv"),
    # CSV holds sums; of a counter without an ending JSON holds each channel.
    "counter_instances": ("--kernel-trace", "--pmc", "TCC_REQ", "--output-format", "json"),
}
#: Targets whose hardware samples by itself and tells why waves stall (ROCprofiler-SDK, "Using PC
#: sampling"); others from gfx90a on are sampled by a trap of the host.
_STOCHASTIC = ("gfx942", "gfx950")


def command(profile: Profile, requires: Requires) -> str | None:
    """Return what records the tables that collect leaves out; None when none is needed.

    Parameters
    ----------
    profile
        Tells the program's command line and the GPU.
    requires
        What an analysis needs.
    """
    names = [name for name in requires.tables if name in WHY]
    if not names:
        return None
    flags = _FLAGS.get(names[0]) or _samples(profile)
    folder = names[0]
    program = profile.scalar("SELECT any_value(command ORDER BY run_id) FROM runs") or "./app"
    return (
        f"rocprofv3 {' '.join(map(shlex.quote, flags))} -d {folder} -- {program}"
        f" && rocperf ingest {folder} -o {folder}.rocperf"
    )


def _samples(profile: Profile) -> tuple[str, ...]:
    # The hardware counts cycles to a power of two; the host's timer counts microseconds. A choice
    # of ours: half a millisecond at 2.1 GHz, and a tenth.
    method, unit, interval = "host_trap", "time", "100"
    if any(gpu.target in _STOCHASTIC for gpu in profile.agents):
        method, unit, interval = "stochastic", "cycles", str(1 << 20)
    return (
        "--kernel-trace",
        "--pc-sampling-beta-enabled",
        f"--pc-sampling-method={method}",
        f"--pc-sampling-unit={unit}",
        f"--pc-sampling-interval={interval}",
        "--output-format",  # rocpd holds no samples
        "csv",
    )
