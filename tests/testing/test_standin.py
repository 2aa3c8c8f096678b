"""The stand-in as its callers see it: a command line, files, signals and exit codes."""

from __future__ import annotations

import csv
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rocperf.testing.standin import demo_app, played_machine

_HELLO = (sys.executable, "-c", "print('hello'); raise SystemExit(7)")
_TRUE = (sys.executable, "-c", "")
Result = subprocess.CompletedProcess[str]
Call = Callable[..., Result]


def _names(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def _counters(path: Path) -> set[str]:
    with path.open(newline="") as file:
        return {row["Counter_Name"] for row in csv.DictReader(file)}


def test_the_app_runs_and_its_exit_code_is_kept(call: Call, tmp_path: Path) -> None:
    result = call("--kernel-trace", "-d", "out", "-o", "x", app=_HELLO)

    assert result.returncode == 7
    assert result.stdout == "hello\n"
    assert _names(tmp_path) == ["out/x_results.db"]  # rocpd is the default of 7.0
    assert "Opened result file: out/x_results.db" in result.stderr


def test_default_names_hold_host_and_process(call: Call, tmp_path: Path) -> None:
    call("--kernel-trace", "--output-format", "csv")

    (name, *_) = _names(tmp_path)
    host, _, file = name.partition("/")
    assert host == os.uname().nodename
    assert file.partition("_")[0].isdigit()


def test_only_what_was_asked_for_is_written(call: Call, tmp_path: Path) -> None:
    call("--kernel-trace", "--memory-copy-trace", "-o", "x", "--output-format", "csv", "json")

    assert _names(tmp_path) == [
        "x_agent_info.csv", "x_kernel_trace.csv", "x_memory_copy_trace.csv", "x_results.json",
    ]  # fmt: skip


def test_only_the_counters_asked_for_are_written(call: Call, tmp_path: Path) -> None:
    result = call("--pmc", "SQ_WAVES,GRBM_COUNT", "NOPE", "-o", "x", "-f", "csv")

    assert _names(tmp_path) == ["x_agent_info.csv", "x_counter_collection.csv"]
    assert _counters(tmp_path / "x_counter_collection.csv") == {"SQ_WAVES", "GRBM_COUNT"}
    assert "Unable to find all counters" in result.stderr
    assert "Missing: ['NOPE']" in result.stderr


def test_counter_runs_have_other_times_than_timing_runs(call: Call, tmp_path: Path) -> None:
    call("--kernel-trace", "-o", "t", "-f", "csv")
    call("--kernel-trace", "--pmc", "SQ_WAVES", "-o", "c", "-f", "csv")

    def times(name: str) -> list[tuple[int, int]]:
        with (tmp_path / name).open(newline="") as file:
            rows = list(csv.DictReader(file))
        return [(int(r["Start_Timestamp"]), int(r["End_Timestamp"])) for r in rows]

    timing, counted = times("t_kernel_trace.csv"), times("c_kernel_trace.csv")
    assert len(timing) == len(counted) == 180
    assert not {start for start, _ in timing} & {start for start, _ in counted}
    assert sum(b - a for a, b in counted) > sum(b - a for a, b in timing)


def test_counter_filters(call: Call, tmp_path: Path) -> None:
    call(
        "--pmc", "SQ_WAVES", "--kernel-include-regex", "transpose", "--kernel-exclude-regex",
        "padded", "--kernel-iteration-range", "[1-2,5]", "-o", "x", "-f", "csv",
    )  # fmt: skip

    with (tmp_path / "x_counter_collection.csv").open(newline="") as file:
        names = [row["Kernel_Name"] for row in csv.DictReader(file)]
    assert len(names) == 3
    assert all(name.startswith("transpose_lds_conflict(") for name in names)


def test_hip_trace_records_calls_and_nothing_else(call: Call, tmp_path: Path) -> None:
    call("--hip-trace", "-o", "x", "-f", "csv")

    assert _names(tmp_path) == ["x_agent_info.csv", "x_hip_api_trace.csv"]
    text = (tmp_path / "x_hip_api_trace.csv").read_text()
    assert "HIP_COMPILER_API_EXT" in text
    assert "HIP_RUNTIME_API_EXT" in text


def test_an_aggregate_can_be_narrowed(call: Call, tmp_path: Path) -> None:
    call(
        "--runtime-trace", "--hip-runtime-trace=no", "--kernel-trace", "off", "-o", "x", "-f", "csv"
    )

    names = _names(tmp_path)
    assert "x_memory_copy_trace.csv" in names
    assert not {"x_hip_api_trace.csv", "x_kernel_trace.csv"} & set(names)


@pytest.mark.parametrize(
    ("version", "code", "text"),
    [("6.4", 2, ""), ("7.0", 0, "rocm_version: 7.0.0"), ("7.13", 0, "version: 1.3.0")],
)
def test_version(call: Call, version: str, code: int, text: str) -> None:
    result = call("--version", app=None, version=version)

    assert result.returncode == code
    assert text in result.stdout


@pytest.mark.parametrize(
    ("version", "absent", "present"),
    [
        ("6.4", {"--agent-index", "--selected-regions", "rocpd", "--kfd-trace"}, {"--pmc"}),
        ("7.0", {"--kfd-trace", "--attach"}, {"--agent-index", "rocpd", "--list-avail"}),
        ("7.13", set[str](), {"--kfd-trace", "--attach", "--selected-regions"}),
    ],
)
def test_help_lists_the_options_of_the_release(
    call: Call, version: str, absent: set[str], present: set[str]
) -> None:
    result = call("--help", app=None, version=version)

    assert result.returncode == 0
    assert not {word for word in absent if word in result.stdout}
    assert all(word in result.stdout for word in present)


def test_options_of_later_releases_are_errors(call: Call) -> None:
    assert call("--agent-index", "absolute", version="6.4").returncode == 2
    assert call("--output-format", "rocpd", version="6.4").returncode == 2
    assert call("--kernel-tra").returncode == 2  # no abbreviations


def test_6_4_writes_csv_by_default(call: Call, tmp_path: Path) -> None:
    call("--kernel-trace", "-o", "x", version="6.4")

    assert _names(tmp_path) == ["x_agent_info.csv", "x_kernel_trace.csv"]


def test_repeated_pmc_is_several_runs_from_7_13_and_the_last_one_before(
    call: Call, tmp_path: Path
) -> None:
    words = ("--pmc", "SQ_WAVES", "--pmc", "GRBM_COUNT", "-f", "csv", "-o", "x", "-d")
    call(*words, "old")
    call(*words, "new", version="7.13")

    assert _counters(tmp_path / "old/x_counter_collection.csv") == {"GRBM_COUNT"}
    assert _counters(tmp_path / "new/pass_1/x_counter_collection.csv") == {"SQ_WAVES"}
    assert _counters(tmp_path / "new/pass_2/x_counter_collection.csv") == {"GRBM_COUNT"}


def test_keys_in_names(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_PROCID", "3")
    monkeypatch.setenv("TAG", "a b/c")

    call("--kernel-trace", "-f", "csv", "-d", "r%rank%", "-o", "%env{TAG}%_{rank}_%r_%nid%")

    assert "r3/a_b_c_3_3_3_kernel_trace.csv" in _names(tmp_path)


def test_usage_errors(call: Call) -> None:
    nothing = call("--kernel-trace", app=None)
    missing = call("--kernel-trace", app=("/nonexistent/app",))
    untraced = call(app=_HELLO)
    unplayed = call("--att")

    assert (nothing.returncode, missing.returncode, unplayed.returncode) == (1, 1, 1)
    assert "Fatal error: No application provided" in nothing.stderr
    assert "FileNotFoundError" in missing.stderr
    assert "--att" in unplayed.stderr
    assert untraced.returncode == 7
    assert "No tracing options were enabled" in untraced.stderr


def test_list_of_counters(call: Call) -> None:
    result = call("--list-avail", app=None)

    assert result.returncode == 0
    assert "Counter_Name        :\tSQ_LDS_BANK_CONFLICT\n" in result.stdout


def test_a_module_of_the_current_folder_is_not_imported(call: Call, tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('planted')")

    assert call("--version", app=None).returncode == 0


def test_the_module_is_the_same_program(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "rocperf.testing.standin", "--version"],
        env=dict(os.environ), capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert "rocm_version: 7.0.0" in result.stdout


def test_the_whole_environment_is_stored(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_TOKEN", "planted")

    call("--kernel-trace", "-o", "x")

    connection = sqlite3.connect(tmp_path / "x_results.db")
    ((text,),) = connection.execute("SELECT environment FROM rocpd_info_process").fetchall()
    connection.close()
    assert json.loads(text)["SOME_API_TOKEN"] == "planted"


def test_it_starts_without_heavy_imports() -> None:
    code = (
        "import sys, rocperf.testing, rocperf.testing.standin.run\n"
        "print([m for m in ('duckdb', 'polars', 'pyarrow', 'numpy') if m in sys.modules])"
    )

    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert result.stdout == "[]\n"


def test_importing_the_kit_loads_none_of_its_modules() -> None:
    code = (
        "import sys, rocperf.testing\n"
        "print([m for m in sys.modules if m.startswith('rocperf.testing.')])"
    )

    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert result.stdout == "[]\n"


def test_the_demo_program_prints_and_succeeds(call: Call) -> None:
    result = call("--kernel-trace", "-o", "x", app=(sys.executable, str(demo_app)))

    assert result.returncode == 0
    assert len(result.stdout.splitlines()) == 3


def test_played_machine(tmp_path: Path) -> None:
    environment = played_machine(tmp_path)

    nodes = Path(environment["ROCPERF_SYSFS"]) / "class/kfd/kfd/topology/nodes"
    lines = (nodes / "1/properties").read_text().splitlines()
    properties = {name: int(value) for name, value in (line.split() for line in lines)}
    assert (nodes / "1/gpu_id").read_text() != "0\n"
    assert (nodes / "0/gpu_id").read_text() == "0\n"
    assert properties["gfx_target_version"] == 90402
    assert properties["simd_count"] == 1216  # 304 compute units of four
    assert properties["num_xcc"] == 8
    assert (Path(environment["ROCPERF_DEV"]) / "kfd").exists()
    assert (Path(environment["ROCPERF_DEV"]) / "dri/renderD128").exists()
