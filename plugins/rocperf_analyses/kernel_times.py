"""What every analysis of kernels asks first: which kernels cost how much time."""

from __future__ import annotations

from dataclasses import dataclass

from rocperf import Profile

#: Copies and fills that the runtime makes with kernels are nobody's code to change.
KERNEL_TIMES = """
SELECT k.kernel_id, k.name, k.short_name, count(*) AS dispatches,
       sum(CASE WHEN d.end_ns >= d.start_ns THEN d.end_ns - d.start_ns END)::BIGINT AS total_ns
FROM dispatches d JOIN kernels k USING (kernel_id)
WHERE k.role NOT IN ('copy', 'fill')
GROUP BY ALL ORDER BY total_ns DESC NULLS LAST, k.name
"""


@dataclass(frozen=True)
class KernelTime:
    """One kernel: its name, dispatches, nanoseconds, and share of all kernel time (0 to 1)."""

    kernel_id: int
    name: str
    short_name: str
    dispatches: int
    total_ns: int | None
    share: float | None


def kernel_times(profile: Profile, min_share: float) -> dict[int, KernelTime]:
    """Return kernels that take at least a share of kernel time; all where no time is known."""
    whole = profile.kernel_ns
    found: dict[int, KernelTime] = {}
    for kernel_id, name, short, dispatches, total in profile.sql(KERNEL_TIMES).iter_rows():
        share = total / whole if whole and total is not None else None
        if share is None or share >= min_share:
            found[kernel_id] = KernelTime(kernel_id, name, short, dispatches, total, share)
    return found
