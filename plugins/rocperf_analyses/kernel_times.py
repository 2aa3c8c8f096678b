"""What every analysis of kernels asks first: which kernels cost how much time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rocperf import UnjudgedError

if TYPE_CHECKING:  # it loads DuckDB, and only annotations need it
    from rocperf import Profile

#: Copies and fills of the runtime and kernels of RCCL are nobody's code to change.
KERNEL_TIMES = """
SELECT k.kernel_id, k.name, k.short_name, count(*) AS dispatches,
       sum(CASE WHEN d.end_ns >= d.start_ns THEN d.end_ns - d.start_ns END)::BIGINT AS total_ns
FROM dispatches d JOIN kernels k USING (kernel_id)
WHERE k.role NOT IN ('copy', 'fill', 'communication')
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


def saving(profile: Profile, total_ns: int | None, part: float) -> int | None:
    """Return a part of a kernel's time, no more than the wall time; None without times.

    On several GPUs kernels run beside each other, so their summed time can exceed the wall's.
    """
    if total_ns is None:
        return None
    whole = profile.wall_ns
    return round(min(total_ns * part, whole) if whole else total_ns * part)


def judged(
    profile: Profile,
    deciding: tuple[str, ...],
    helping: tuple[str, ...],
    kernels: Mapping[int, KernelTime],
) -> dict[int, dict[str, dict[str, Any]]]:
    """Evaluate metrics of kernels: by kernel and metric the row, where there is a value.

    Raises
    ------
    UnjudgedError
        If of the deciding metrics none can be trusted for any kernel.
    """
    found: dict[int, dict[str, dict[str, Any]]] = {}
    refused: list[str] = []
    decided = False
    for row in profile.metrics([*deciding, *helping]).to_dicts():
        metric, state = row["metric"], row["state"]
        if row["kernel_id"] not in kernels:
            continue
        if state == "value":
            found.setdefault(row["kernel_id"], {}).setdefault(metric, row)
        if metric in deciding:
            decided |= state in ("value", "not applicable")
            if state == "not trustworthy":
                refused.append(f"a trustworthy {metric}: {row['reason']}")
    if refused and not decided:
        raise UnjudgedError("; ".join(_once(refused)))
    return found


def _once(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))[:3]
