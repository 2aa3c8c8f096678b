"""What ``--version`` and ``--list-avail`` print."""

from __future__ import annotations

from rocperf.testing.simulator import counters_of

_SDK = {"6.4": "0.6.0", "7.0": "1.0.0", "7.13": "1.3.0"}
_ROCM = {"6.4": "6.4.0", "7.0": "7.0.0", "7.13": "7.13.0"}


def version_text(version: str) -> str:
    """Return one line a key: its name right-justified in 20 columns, a colon, its value."""
    values = {
        "version": _SDK[version],
        "git_revision": "0" * 40,
        "library_arch": "x86_64-linux-gnu",
        "system_name": "Linux",
        "system_processor": "x86_64",
        "system_version": "6.8.0",
        "compiler_id": "GNU",
        "compiler_version": "13.3.0",
        "rocm_version": _ROCM[version],
    }
    return "\n".join(f"    {key:>16}: {value}" for key, value in values.items())


def list_counters(gfx: str) -> str:
    """Return the counters of a GPU, a block of lines each."""
    lines = ["GPU:0", f"Name:{gfx}"]
    for counter in counters_of(gfx).values():
        lines += ["", f"{'Counter_Name':<20}:\t{counter.name}"]
        lines.append(f"{'Description':<20}:\t{counter.description}")
        where = ("Block", counter.block) if counter.block else (
            "Expression", " ".join(counter.needs)
        )  # fmt: skip
        lines.append(f"{where[0]:<20}:\t{where[1]}")
        lines.append(f"{'Dimensions':<20}:\tDIMENSION_INSTANCE[0:{counter.instances - 1}]")
    return "\n".join(lines)
