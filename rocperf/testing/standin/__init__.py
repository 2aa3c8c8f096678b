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

__all__ = ["demo_app", "install", "install_bindings", "played_machine"]

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


def install_bindings(rocprofv3: Path) -> Path:
    """Put a Python module ``avail`` where ROCm 7.0 has it, beside an installed stand-in.

    Parameters
    ----------
    rocprofv3
        From `install`; its folder is one of a ROCm folder.

    Returns
    -------
    Path
        The module. A library that is only a name is put where the module would load it from.
    """
    module = rocprofv3.parent / "rocprofv3_avail_module" / "avail.py"
    library = rocprofv3.parent.parent / "libexec/rocprofiler-sdk/librocprofv3-list-avail.so"
    root = Path(__file__).resolve().parents[3]
    for path, text in (
        (
            module,
            f"import sys\nsys.path.insert(0, {str(root)!r})\n"
            "from rocperf.testing.standin.avail import *\n",
        ),
        (library, ""),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return module
