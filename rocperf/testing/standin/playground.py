"""Set up a machine to play with: ``eval "$(python -m rocperf.testing.standin.playground FOLDER)"``.

The folder gets a stand-in for rocprofv3 and the files by which a GPU is found; what is printed
makes a shell use them.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from rocperf.testing.simulator import GPUS
from rocperf.testing.standin import install, played_machine


def main(argv: Sequence[str] | None = None) -> int:
    """Write the machine, and print the variables that lead to it."""
    parser = argparse.ArgumentParser(
        prog="python -m rocperf.testing.standin.playground", description=__doc__
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where to put the machine")
    parser.add_argument("--gpu", choices=sorted(GPUS), default="gfx942", help="what it plays")
    arguments = parser.parse_args(argv)
    folder = arguments.folder.resolve()
    variables = {
        "ROCPERF_ROCPROFV3": str(install(folder / "bin")),
        "ROCPERF_STANDIN_GPU": arguments.gpu,
        **played_machine(folder / "machine", arguments.gpu),
    }
    for name, value in variables.items():
        sys.stdout.write(f"export {name}={shlex.quote(value)}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
