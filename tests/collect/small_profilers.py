"""Profilers of a few lines of shell that do one thing, and the files that they write."""

from __future__ import annotations

import os
from pathlib import Path

from rocperf.collect import Request

TRACE = (
    '"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name",'
    '"Correlation_Id","Start_Timestamp","End_Timestamp","LDS_Block_Size","Scratch_Size",'
    '"VGPR_Count","Accum_VGPR_Count","SGPR_Count","Workgroup_Size_X","Workgroup_Size_Y",'
    '"Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"\n'
    '"KERNEL_DISPATCH","Agent 1",1,1,7,1,1,"{name}",1,1000,2000,0,0,8,0,16,64,1,1,{grid},1,1\n'
)
COUNTERS = (
    '"Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size",'
    '"Kernel_Id","Kernel_Name","Workgroup_Size","LDS_Block_Size","Scratch_Size","VGPR_Count",'
    '"Accum_VGPR_Count","SGPR_Count","Counter_Name","Counter_Value","Start_Timestamp",'
    '"End_Timestamp"\n1,1,"Agent 1",1,7,7,640,1,"k",64,0,0,8,0,16,"SQ_WAVES",{waves},1000,2000\n'
)


def profiler(folder: Path, timing: str, counting: str = "exit 0") -> Path:
    """A rocprofv3 of 7.0 that does one thing when it traces, another when it counts."""
    path = folder / "bin" / "rocprofv3"
    path.parent.mkdir()
    path.write_text(
        "#!/bin/sh\n"
        'case "$1" in --version) echo "rocm_version: 7.0.0"; exit;;\n'
        '--help) echo "--pmc --kernel-trace"; exit;; esac\n'
        'counting=no; out=; previous=\n'
        'for word in "$@"; do\n'
        '  [ "$previous" = -d ] && out=$word\n'
        '  [ "$word" = --pmc ] && counting=yes\n'
        '  [ "$word" = -- ] && break\n'
        '  previous=$word\n'
        "done\n"
        f"if [ $counting = yes ]; then\n{counting}\nelse\n{timing}\nfi\n"
    )  # fmt: skip
    path.chmod(0o755)
    return path


def request(path: Path, **options: object) -> Request:
    settings: dict[str, object] = {
        "metrics": ("waves",), "output": Path("app.rocperf"), "rocprofv3": str(path),
        "stdin": Path(os.devnull),
    }  # fmt: skip
    return Request(("./app",), **(settings | options))  # type: ignore[arg-type]


def write(folder: Path, name: str, text: str) -> str:
    """Return a shell command that writes a file of the profiler."""
    (folder / name).write_text(text)
    return f'cp {folder / name} "$out/7_{name}"'
