"""``rocperf occupancy``: how many waves of a kernel fit, what limits them, and what if."""

from __future__ import annotations

import argparse
import sys
from typing import Any


def add(verbs: Any, shared: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    verb = verbs.add_parser(
        "occupancy",
        parents=[shared],
        help="calculate how many waves of a kernel fit, and what limits them",
        description=(
            "Calculate the occupancy of a kernel from what the compiler prints of it: no GPU "
            "and no profile needed. It answers in whole workgroups, as the hardware places them."
        ),
    )
    verb.add_argument(
        "--gpu", required=True, metavar="GFX", help="target or product: gfx942, MI300X"
    )
    verb.add_argument(
        "--vgpr", required=True, type=int, metavar="N", help="vector registers a lane"
    )
    verb.add_argument(
        "--agpr", type=int, default=0, metavar="N", help="accumulation registers a lane (CDNA)"
    )
    verb.add_argument(
        "--sgpr", type=int, metavar="N", help="scalar registers, with VCC; no limit on RDNA"
    )
    verb.add_argument(
        "--lds", type=int, default=0, metavar="BYTES", help="LDS of a workgroup, dynamic included"
    )
    verb.add_argument(
        "--workgroup", required=True, type=int, metavar="N", help="work-items of a workgroup"
    )
    verb.add_argument("--wave", type=int, metavar="{32,64}", help="lanes of a wave (RDNA)")
    verb.add_argument("--cu-mode", action="store_true", help="workgroups stay on one CU (RDNA)")
    verb.add_argument("--format", choices=("text", "json"), default="text", help="how to print")
    verb.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Calculate and print."""
    from rocperf.errors import UsageError
    from rocperf.hardware import KernelResources, calculate, find_gpu
    from rocperf.report.occupancy import calculation_json, calculation_text

    facts = find_gpu(arguments.gpu)
    for name in ("vgpr", "agpr", "sgpr", "lds"):
        if (getattr(arguments, name) or 0) < 0:
            raise UsageError(f"--{name} cannot be negative", hint="give what the compiler prints")
    if arguments.workgroup < 1:
        raise UsageError(
            f"--workgroup {arguments.workgroup}: a workgroup has at least one work-item",
            hint="give the product of its dimensions, such as 256",
        )
    resources = KernelResources(
        vgpr=arguments.vgpr,
        agpr=arguments.agpr,
        sgpr=arguments.sgpr,
        lds_bytes=arguments.lds,
        workgroup_size=arguments.workgroup,
    )
    found = calculate(facts, resources, arguments.wave, cu_mode=arguments.cu_mode)
    render = calculation_json if arguments.format == "json" else calculation_text
    sys.stdout.write(render(found))
    return 0
