"""Kernels that wait for other kernels, as the timing run shows them.

Counter runs let one kernel of a GPU run at a time. A kernel that waits for one that is held back
never ends, and no filter of rocprofv3 switches that off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocperf.profile import Profile

#: Names of kernels that wait for those of other GPUs, beside RCCL's own (which have the role
#: ``communication``): all-reduces that inference servers bring along, and SHMEM.
NAMES = r"^(void )?([A-Za-z_]\w*::)*(cross_device_reduce|allreduce_prototype|rocshmem|roc_shmem)"
#: Calls that launch kernels which may wait for each other. A kernel that waits only for its own
#: workgroups is launched by them, too; no trace tells the two apart.
COOPERATIVE = r"^hip\w*(Cooperative|MultiKernelMultiDevice)"
#: Calls of RCCL after which its kernels wait for those of other processes or GPUs.
COLLECTIVE = r"^(nccl|rccl)\w*(Reduce|Broadcast|Bcast|Gather|Scatter|AllToAll|Alltoall|Send|Recv)"

_KERNELS = """
SELECT short_name || ' (communicates)' AS what, 1 AS place FROM kernels
WHERE role = 'communication' OR regexp_matches(name, $names)
UNION
SELECT k.short_name || ' (launched by ' || c.name || ')', 2
FROM api_calls c JOIN all_dispatches d USING (run_id, correlation_id)
JOIN kernels k USING (kernel_id)
WHERE regexp_matches(c.name, $cooperative)
ORDER BY place, what
"""
_CALLS = """
SELECT DISTINCT name FROM api_calls
WHERE regexp_matches(name, $cooperative) OR regexp_matches(name, $collective) ORDER BY 1
"""


def waiting(profile: Profile) -> tuple[str, ...]:
    """Name the kernels of a timing run that may wait for others, with what shows it.

    Where calls show it and no kernel can be told to be theirs, the calls are named.

    Parameters
    ----------
    profile
        Of the timing run.
    """
    found = profile.sql(_KERNELS, {"names": NAMES, "cooperative": COOPERATIVE})
    if found.height:
        return tuple(str(name) for name in found["what"])
    calls = profile.sql(_CALLS, {"cooperative": COOPERATIVE, "collective": COLLECTIVE})
    return tuple(f"kernels of {name}" for name in calls["name"])
