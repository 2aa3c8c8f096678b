"""What may be kept of an environment and of a command line.

Profiler output holds the whole environment of the profiled process. Only variables that decide
how a GPU program runs are kept; everything else is dropped before it reaches a table or a log.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

# Variables of ROCm's runtimes and tools, of ranks, and of which devices are visible.
_PREFIXES = (
    "AMD_",
    "AMDGPU_",
    "GPU_",
    "HIP_",
    "HSA_",
    "MIOPEN_",
    "NCCL_",
    "RCCL_",
    "ROCBLAS_",
    "ROCM_",
    "ROCPROF_",
    "ROCPROFILER_",
    "ROCR_",
)
_NAMES = frozenset(
    {
        "CUDA_VISIBLE_DEVICES",
        "FLUX_TASK_RANK",
        "LOCAL_RANK",
        "LOCAL_WORLD_SIZE",
        "MPI_LOCALRANKID",
        "MPI_RANK",
        "MV2_COMM_WORLD_LOCAL_RANK",
        "MV2_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "PMIX_RANK",
        "PMI_RANK",
        "PMI_SIZE",
        "RANK",
        "ROCPROF",
        "SLURM_LOCALID",
        "SLURM_NTASKS",
        "SLURM_PROCID",
        "WORLD_SIZE",
    }
)
# A name of these is never kept, whatever its prefix.
_SECRET = re.compile(
    r"TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|PRIVATE|SESSION|COOKIE|BEARER|AUTH"
    r"|(?:API|ACCESS|SIGNING|SSH)_?KEY|_KEY$|^KEY$",
    re.IGNORECASE,
)
# Words of a command line that name a secret; the value follows after = or as the next word.
_WORD = (
    r"[\w.-]*(?:token|secret|passw(?:or)?d|passphrase|credential|api[-_]?key|access[-_]?key"
    r"|private[-_]?key|auth(?:orization)?)[\w.-]*"
)
_ASSIGNED = re.compile(
    rf"((?<![\w-])-{{0,2}}{_WORD}\s*[=:]\s*)(\"[^\"]*\"|'[^']*'|\S+)", re.IGNORECASE
)
_FOLLOWED = re.compile(rf"((?<![\w-])--?{_WORD}\s+)(\"[^\"]*\"|'[^']*'|[^\s-]\S*)", re.IGNORECASE)
_USERINFO = re.compile(r"(\b[a-z][\w+.-]*://)[^\s/@]+@", re.IGNORECASE)
# Shapes of keys that services hand out, wherever they stand.
_KEY_SHAPE = re.compile(
    r"\b(?:hf_\w{8,}|gh[oprsu]_\w{8,}|github_pat_\w+|sk-[\w-]{8,}|xox[abprs]-[\w-]+|AKIA\w{12,}"
    r"|eyJ[\w-]+\.[\w-]+\.[\w-]+)"
)
_MASK = "***"


def allowed(name: str) -> bool:
    """Say whether an environment variable may be kept.

    Parameters
    ----------
    name
        Its name.
    """
    known = name in _NAMES or name.startswith(_PREFIXES)
    return known and not _SECRET.search(name)


def reduce(environment: Mapping[str, str]) -> dict[str, str]:
    """Keep what may be kept of an environment, its values scrubbed.

    Parameters
    ----------
    environment
        All of it, as found in profiler output.
    """
    return {name: scrub(value) for name, value in environment.items() if allowed(name)}


def scrub(text: str) -> str:
    """Mask what looks like a secret in a command line or another free text.

    Parameters
    ----------
    text
        A command line. ``--token=x``, ``--token x``, ``API_KEY=x``, ``scheme://user:x@host`` and
        keys of well-known shapes lose their values.
    """
    text = _ASSIGNED.sub(rf"\1{_MASK}", text)
    text = _FOLLOWED.sub(rf"\1{_MASK}", text)
    text = _USERINFO.sub(rf"\1{_MASK}@", text)
    return _KEY_SHAPE.sub(_MASK, text)
