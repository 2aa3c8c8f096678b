"""Commands and environments, word for word."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocperf.collect.command import check_folder, counting, environment, formats, timing
from rocperf.collect.locate import Profiler
from rocperf.errors import InputError, UsageError

_HELP = frozenset(
    (
        "--kernel-trace",
        "--memory-copy-trace",
        "--hip-runtime-trace",
        "--marker-trace",
        "--rccl-trace",
        "--memory-allocation-trace",
        "--pmc",
        "--agent-index",
        "--kernel-include-regex",
    )
)
SEVEN = Profiler(Path("/opt/rocm/bin/rocprofv3"), (7, 0, 0), _HELP)
SIX = Profiler(Path("rocprofv3"), None, _HELP - {"--agent-index"})


def test_the_timing_run_of_seven() -> None:
    argv = timing(SEVEN, Path("/r/pass_1"), ["./app", "--pmc", "3", "-d", "/x"])

    assert argv == (
        "/opt/rocm/bin/rocprofv3", "--kernel-trace", "--memory-copy-trace", "--hip-runtime-trace",
        "--marker-trace", "--rccl-trace", "--memory-allocation-trace", "--agent-index", "absolute",
        "--output-format", "rocpd", "-d", "/r/pass_1", "-o", "%hostname%/%pid%", "--",
        "./app", "--pmc", "3", "-d", "/x",
    )  # fmt: skip


def test_older_releases_write_csv_and_json_and_get_only_what_they_know() -> None:
    few = Profiler(Path("rocprofv3"), None, frozenset({"--kernel-trace", "--pmc"}))

    assert formats(SIX) == ("csv", "json")
    assert "--agent-index" not in timing(SIX, Path("r"), ["app"])
    assert timing(few, Path("r"), ["app"])[1:3] == ("--kernel-trace", "--output-format")


def test_one_that_does_not_answer_gets_what_all_releases_know() -> None:
    silent = Profiler(Path("rocprofv3"), None)

    words = timing(silent, Path("r"), ["app"])

    assert "--kernel-trace" in words
    assert "--rccl-trace" not in words
    assert formats(silent) == ("csv", "json")


def test_a_help_that_knows_rocpd_is_believed_without_a_version() -> None:
    assert formats(Profiler(Path("rocprofv3"), None, _HELP, rocpd=True)) == ("rocpd",)


def test_counters_and_filters() -> None:
    argv = counting(
        SEVEN, Path("/r/p"), ["a b", "$(touch x)"], ["SQ_WAVES", "TCC_HIT_sum:device=1"],
        kernels="^-x y", launches="1-3,5",
    )  # fmt: skip

    assert argv[1:7] == (
        "--pmc", "SQ_WAVES", "TCC_HIT_sum:device=1", "--kernel-include-regex=^-x y",
        "--kernel-iteration-range", "[1-3,5]",
    )  # fmt: skip
    assert argv[-3:] == ("--", "a b", "$(touch x)")


@pytest.mark.parametrize("name", ["SQ_WAVES; id", "-d", "SQ_WAVES,TA", "", "SQ\nX"])
def test_only_names_are_counters(name: str) -> None:
    with pytest.raises(UsageError, match="not the name of a counter"):
        counting(SEVEN, Path("r"), ["app"], [name])


def test_settings_of_other_profilers_are_not_passed_on() -> None:
    inherited = {
        "ROCPROF_OUTPUT_FORMAT": "pftrace", "ROCPROF_KERNEL_TRACE": "1", "HSA_TOOLS_LIB": "x",
        "ROCP_TOOL_LIBRARIES": "y", "ROCPROFILER_CI": "1", "HSA_XNACK": "1", "PATH": "/bin",
        "ROCPROFILER_METRICS_PATH": "/m",
    }  # fmt: skip

    assert environment(inherited, Path("/r/tmp")) == {
        "HSA_XNACK": "1", "PATH": "/bin", "ROCPROFILER_METRICS_PATH": "/m",
        "ROCPROF_TMPDIR": "/r/tmp",
    }  # fmt: skip
    assert environment({"ROCPROF_TMPDIR": "/fast"}, Path("/t"))["ROCPROF_TMPDIR"] == "/fast"


@pytest.mark.parametrize("name", ["/a/50%pid%", "/a/{x}", "/$ENV{HOME}"])
def test_folders_that_would_be_changed_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="replaces"):
        check_folder(Path(name))
