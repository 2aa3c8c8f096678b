"""The kernels of a roctx range as a filter that rocprofv3 understands: pure.

rocprofv3 can pause and resume by itself, but only where the program asks for it, and pausing
counter runs is known to hang. Names work with every program and release.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

#: Bytes of a filter beyond which everything is counted: one argument or variable may have 128 KiB.
LONGEST = 100_000

# What has a meaning in the regular expressions of C++ (ECMAScript).
_SPECIAL = re.compile(r"([\\^$.*+?()\[\]{}|/])")


def pattern(names: Sequence[str], kernels: str | None) -> str | None:
    """Build the filter of some kernels.

    Parameters
    ----------
    names
        Their full names.
    kernels
        A regular expression that they must match, too.

    Returns
    -------
    str or None
        None when no kernel is left.
    """
    wanted = [name for name in names if kernels is None or re.search(kernels, name)]
    if not wanted:
        return None
    escaped = (_SPECIAL.sub(r"\\\1", name) for name in wanted)
    text = f"^({'|'.join(escaped)})"
    return text if len(text.encode()) <= LONGEST else (kernels or ".")
