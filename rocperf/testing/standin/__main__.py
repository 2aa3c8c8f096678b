"""Run the stand-in: ``python -m rocperf.testing.standin [options] -- program [arguments]``."""

from __future__ import annotations

import os
import sys

from rocperf.testing.standin.run import Standin


def main() -> int:
    """Run with this process's arguments and environment."""
    return Standin(dict(os.environ)).main(sys.argv[1:])


if __name__ == "__main__":
    raise SystemExit(main())
