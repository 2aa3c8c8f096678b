"""A stand-in for rocprofv3: the real command line and files, a simulated GPU behind them.

It runs the program that it is given, then writes only what was asked for, in the format asked for.
The environment chooses what it plays:

=============================  ====================================================================
``ROCPERF_STANDIN_VERSION``    ``6.4``, ``7.0`` (default) or ``7.13``
``ROCPERF_STANDIN_SCENARIO``   a name of `rocperf.testing.simulator.SCENARIOS`, default ``demo``
``ROCPERF_STANDIN_GPU``        ``gfx942`` (default), ``gfx90a``, ``gfx950`` or ``gfx1201``
``ROCPERF_STANDIN_FAIL``       failures, see `rocperf.testing.standin.faults.faults`
=============================  ====================================================================
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from rocperf.testing.standin.machine import played_machine

__all__ = ["demo_app", "install", "played_machine"]

#: A Python program without GPU work of its own, for demonstrations.
demo_app: Path = Path(__file__).with_name("demo_program.py")


def install(folder: Path) -> Path:
    """Make the stand-in an executable file named ``rocprofv3``.

    Parameters
    ----------
    folder
        Where to; made if missing.

    Returns
    -------
    Path
        The file. It runs this interpreter with this rocperf, whatever the current folder is.
    """
    folder.mkdir(parents=True, exist_ok=True)
    root = Path(__file__).resolve().parents[3]
    code = (
        f"import sys; sys.path.insert(0, {str(root)!r}); "
        "from rocperf.testing.standin.__main__ import main; raise SystemExit(main())"
    )
    path = folder / "rocprofv3"
    path.write_text(
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -I -c {shlex.quote(code)} "$@"\n',
        encoding="utf-8",
    )
    path.chmod(0o755)
    return path
