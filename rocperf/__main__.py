"""Run the command line as ``python -m rocperf``."""

from __future__ import annotations

import sys

from rocperf.cli import main

if __name__ == "__main__":
    sys.exit(main())
