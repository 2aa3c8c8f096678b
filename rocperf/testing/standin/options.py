"""rocprofv3's command line, release by release."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from rocperf.testing.simulator.request import VERSIONS

_TRUE = frozenset(("y", "yes", "t", "true", "on", "1"))
_FALSE = frozenset(("n", "no", "f", "false", "off", "0"))


def _boolean(text: str) -> bool:
    word = text.lower()
    if word in _TRUE | _FALSE:
        return word in _TRUE
    raise argparse.ArgumentTypeError(f"boolean value expected, not {text!r}")


@dataclass(frozen=True, slots=True)
class _Option:
    """One option: its flags, what it takes, and the releases that have it.

    ``takes`` is ``bool`` (an optional yes or no), ``one``, ``many``, ``groups`` (repeatable lists)
    or ``none``. Options without ``played`` are listed, and refused when used.
    """

    flags: tuple[str, ...]
    takes: str
    help: str
    since: str = "6.4"
    played: bool = True

    @property
    def name(self) -> str:
        return self.flags[-1].lstrip("-").replace("-", "_")


def _table(takes: str, rows: str, since: str = "6.4", *, played: bool = True) -> list[_Option]:
    """Read options of one kind: a line each, flags, then a word on them after ``:``."""
    options: list[_Option] = []
    for row in rows.strip().splitlines():
        flags, _, text = row.strip().partition(": ")
        options.append(_Option(tuple(flags.split()), takes, text, since, played))
    return options


_OPTIONS: tuple[_Option, ...] = (
    *_table("bool", """
        --kernel-trace: record kernel dispatches
        --memory-copy-trace: record copies
        --memory-allocation-trace: record allocations
        --scratch-memory-trace: record scratch allocations
        --hip-trace: record HIP runtime and compiler calls
        --hip-runtime-trace: record HIP runtime calls
        --hip-compiler-trace: record HIP compiler calls
        --marker-trace: record roctx ranges and marks
        --rccl-trace: record RCCL calls
        -r --runtime-trace: all of the above but HIP compiler calls
        -s --sys-trace: all of the above
        --hsa-trace: record HSA calls
        --hsa-core-trace: record core HSA calls
        --hsa-amd-trace: record AMD's HSA extensions
        --rocdecode-trace: record rocDecode calls
        --stats: summarise what was recorded
        -S --summary: print a summary
        -D --summary-per-domain: print a summary of each domain
        -M --mangled-kernels: leave kernel names as they are in the code object
        -T --truncate-kernels: cut kernel names to their base
        --kernel-rename: name kernels after the roctx range around them
        -L --list-avail: list counters
    """),
    *_table("bool", """
        --rocjpeg-trace: record rocJPEG calls
        --selected-regions: record only between resume and pause calls of the program
        --group-by-queue: show queues instead of streams
        --output-config: write the configuration as JSON
        --disable-signal-handlers: leave the signals to the program
        -v --version: print versions
    """, "7.0"),
    *_table("bool", """
        --kfd-trace: record driver events
        --hip-graph-trace: record launches of graphs
    """, "7.13"),
    *_table("one", """
        -d --output-directory: folder to write to
        -o --output-file: file name to write to
        --log-level: how much to log
        --kernel-include-regex: count only kernels whose name matches
        --kernel-exclude-regex: count no kernel whose name matches
        --rocm-root: folder of ROCm
        --collection-period-unit: unit of --collection-period
        --preload: libraries to load before the program
        -E --extra-counters: file with counter definitions
    """),
    *_table("one", """
        -A --agent-index: absolute, relative or type-relative
        --minimum-output-data: write nothing below this size in KiB
    """, "7.0"),
    *_table("many", "--output-format: csv, json, pftrace or otf2"),
    *_table("many", "--kernel-iteration-range: launches of each kernel to count, as [1-3,8]"),
    *_table("groups", "--pmc: counters to collect"),
    *_table("one", """
        -i --input: file with jobs
        --pc-sampling-method: how to sample
        --pc-sampling-unit: what to sample by
        --pc-sampling-interval: how often to sample
    """, played=False),
    *_table("bool", """
        --pc-sampling-beta-enabled: allow sampling of program counters
        --kokkos-trace: record Kokkos regions
    """, played=False),
    *_table("many", "-P --collection-period: when to collect", "7.0", played=False),
    *_table("bool", "--att: record a thread trace", "7.0", played=False),
    *_table("one", "--att-target-cu: compute unit of a thread trace", "7.0", played=False),
    *_table("one", "-p --pid --attach: process to attach to", "7.13", played=False),
)  # fmt: skip
#: What an aggregate switches on.
_RUNTIME = (
    "kernel_trace memory_copy_trace memory_allocation_trace scratch_memory_trace "
    "hip_runtime_trace marker_trace rccl_trace"
)
_AGGREGATES = {
    "sys_trace": [*_RUNTIME.split(), "hip_compiler_trace"],
    "runtime_trace": _RUNTIME.split(),
    "hip_trace": ["hip_runtime_trace", "hip_compiler_trace"],
}
#: Kind of record in the simulator by option.
_RECORDS = {
    "kernel_trace": "kernel",
    "memory_copy_trace": "copy",
    "memory_allocation_trace": "allocation",
    "scratch_memory_trace": "scratch",
    "hip_runtime_trace": "hip",
    "hip_compiler_trace": "hip_compiler",
    "marker_trace": "marker",
    "rccl_trace": "rccl",
}


class Options:
    """A parsed command line.

    Parameters
    ----------
    values
        Value by option name, absent where not given.
    application
        The program and its arguments: what followed ``--``.
    """

    def __init__(self, values: argparse.Namespace, application: Sequence[str]) -> None:
        self._values = values
        self.application = tuple(application)

    def text(self, name: str, default: str = "") -> str:
        """Return an option's text."""
        return getattr(self._values, name, None) or default

    def words(self, name: str) -> list[str]:
        """Return an option's list of words."""
        return list(getattr(self._values, name, None) or ())

    def on(self, name: str) -> bool:
        """Say whether a yes-or-no option is on."""
        return bool(getattr(self._values, name, None))

    @property
    def groups(self) -> list[tuple[str, ...]]:
        """Counters by run: one tuple for each ``--pmc``, commas and blanks alike."""
        given: list[list[str]] = getattr(self._values, "pmc", None) or []
        return [tuple(" ".join(words).replace(",", " ").split()) for words in given]

    @property
    def records(self) -> frozenset[str]:
        """Kinds of records asked for; an explicit no overrides an aggregate."""
        wanted = {name for name in _RECORDS if self.on(name)}
        for aggregate, parts in _AGGREGATES.items():
            if self.on(aggregate):
                wanted |= {p for p in parts if getattr(self._values, p, None) is not False}
        return frozenset(_RECORDS[name] for name in wanted)

    def refused(self, version: str) -> list[str]:
        """Name the options given that the stand-in does not play."""
        return [
            o.flags[-1]
            for o in _OPTIONS
            if not o.played and _has(o, version) and getattr(self._values, o.name, None)
        ]


def parse(arguments: Sequence[str], version: str) -> Options:
    """Parse a command line as the rocprofv3 of a release would.

    Parameters
    ----------
    arguments
        Without the program's own name.
    version
        One of `rocperf.testing.simulator.VERSIONS`.

    Raises
    ------
    SystemExit
        0 after ``--help``; 2 for an option that the release does not have.
    """
    words = list(arguments)
    own, rest = words, []
    if "--" in words:
        cut = words.index("--")
        own, rest = words[:cut], words[cut + 1 :]
    return Options(_parser(version).parse_args(own), rest)


def _has(option: _Option, version: str) -> bool:
    return VERSIONS.index(option.since) <= VERSIONS.index(version)


def _parser(version: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rocprofv3",
        usage="%(prog)s [options] -- <application> [application options]",
        description=f"Stand-in for the rocprofv3 of ROCm {version}: it plays a simulated GPU.",
        allow_abbrev=False,
    )
    for option in _OPTIONS:
        if not _has(option, version):
            continue
        flags, text = list(option.flags), option.help
        if option.takes == "bool":
            parser.add_argument(
                *flags, dest=option.name, nargs="?", type=_boolean, const=True, metavar="BOOL",
                help=text,
            )  # fmt: skip
        elif option.takes == "one":
            parser.add_argument(*flags, dest=option.name, metavar="VALUE", help=text)
        elif option.takes == "many":
            _add_list(parser, option, flags, version)
        else:
            # Before 7.13 a second --pmc silently replaced the first.
            action = "append" if version == "7.13" else _Replace
            parser.add_argument(*flags, action=action, nargs="*", metavar="COUNTER", help=text)
    return parser


def _add_list(
    parser: argparse.ArgumentParser, option: _Option, flags: list[str], version: str
) -> None:
    if option.name != "output_format":
        parser.add_argument(*flags, dest=option.name, nargs="+", metavar="VALUE", help=option.help)
        return
    formats = ["csv", "json", "pftrace", "otf2"]
    if version != "6.4":
        flags, formats = ["-f", *flags], [*formats, "rocpd"]
    parser.add_argument(
        *flags, dest=option.name, nargs="+", choices=formats, type=str.lower, help=option.help
    )


class _Replace(argparse.Action):
    """Keep only the last list, in a list of lists."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[object] | None,
        option_string: str | None = None,
    ) -> None:
        del parser, option_string
        setattr(namespace, self.dest, [values])
