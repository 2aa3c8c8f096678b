"""The program that the demo profiles: its GPU work is simulated."""

from __future__ import annotations

import sys


def main() -> int:
    """Print what a small solver would print."""
    lines = (
        "demo: loading 192 MiB",
        "demo: 30 steps of transpose, copy and advection on a simulated MI300X",
        "demo: done",
    )
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
