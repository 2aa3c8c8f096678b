"""``rocperf metrics``: values with their states, as text, JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from rocperf.cli import main
from rocperf.ingest.load import ingest
from rocperf.metrics.evaluate import SCHEMA
from rocperf.report.metrics import Answer, text

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def vcopy(recorded: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a profile of three launches of a vector copy, every counter taken."""
    folder = tmp_path_factory.mktemp("metrics")
    return str(ingest([recorded("compute_vcopy/MI200")], folder / "vcopy.rocperf"))


def told(capsys: Capture, *words: str) -> str:
    assert main(["metrics", *words]) == 0
    return capsys.readouterr().out


def test_text_groups_by_section_and_fits_the_screen(vcopy: str, capsys: Capture) -> None:
    lines = told(capsys, vcopy).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == "vecCopy"
    assert lines[1] == "  gfx90a, 3 dispatches counted"
    sections = [line.strip() for line in lines if line.startswith("  ") and line[2:3].isupper()]
    assert sections[:2] == ["Waves and occupancy", "Instructions"]
    assert "    waves                                       49,152 waves" in lines
    assert any(line.startswith("    l2-bytes") and " 50,331,648 B  [" in line for line in lines)


def test_text_says_why_and_marks_what_it_concerns(vcopy: str, capsys: Capture) -> None:
    shown = told(capsys, vcopy, "--metric", "wave-occupancy", "lds-conflict-share", "ipc")
    assert "wave-occupancy                     not trustworthy  [1]" in shown
    assert "[1] the counter run has no times to hold its cycles against" in shown
    assert "lds-conflict-share                  not applicable" in shown
    assert "SQ_LDS_IDX_ACTIVE is 0" in shown
    assert "0.16594 instructions" in shown


def test_a_metric_asked_for_is_never_left_out(vcopy: str, capsys: Capture) -> None:
    shown = told(capsys, vcopy, "--metric", "mfma-flops-f8")
    assert "mfma-flops-f8                        not collected  [1]" in shown
    assert "[1] not available on gfx90a" in shown
    everything = told(capsys, vcopy)
    assert "mfma-flops-f8" not in everything
    assert "metrics were not collected: --metric ID says why" in everything


def test_spread_over_dispatches(vcopy: str, capsys: Capture) -> None:
    """IPC of the three launches: 0.2466, 0.1400 and 0.1453; their mean is 0.1773."""
    shown = told(capsys, vcopy, "--metric", "ipc", "--spread")
    assert "single dispatches 0.14 to 0.2466, mean 0.1773" in shown
    document = json.loads(told(capsys, vcopy, "--metric", "ipc", "--spread", "--format", "json"))
    [value] = document["values"]
    spread = value["spread"]
    assert spread["min"] <= spread["mean"] <= spread["max"]
    assert spread["dispatches"] == 3
    assert value["value"] != pytest.approx(spread["mean"], rel=1e-3)  # the ratio of sums


def test_json_has_provenance(vcopy: str, capsys: Capture) -> None:
    words = ("--metric", "waves", "ipc", "--format", "json", "--per", "dispatch")
    document = json.loads(told(capsys, vcopy, *words))
    assert document["schema"] == "rocperf.metrics/1"
    assert document["catalogue"] >= 2
    assert document["metrics"]["ipc"] == {
        "title": "Instructions per cycle",
        "section": "Instructions",
        "unit": "instructions",
        "low": 0,
        "high": 5,
        "better": "high",
    }
    assert len(document["values"]) == 6
    ipc = next(value for value in document["values"] if value["metric"] == "ipc")
    assert ipc["formula"] == "SQ_INSTS / SQ_BUSY_CU_CYCLES"
    assert ipc["stitched"] is True
    assert len(ipc["runs"]) == 2
    assert (ipc["n"], ipc["gpu"], ipc["launch"]) == (1, "gfx90a", 1)
    assert ipc["kernel"]["name"].startswith("vecCopy(double*")
    assert "spread" not in ipc


def test_csv_has_one_header_and_a_row_a_value(vcopy: str, capsys: Capture) -> None:
    shown = told(capsys, vcopy, "--metric", "waves", "--per", "dispatch", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(shown)))
    assert [float(row["value"]) for row in rows] == [16_384.0] * 3
    assert shown.splitlines()[0].startswith("kernel,kernel_id,launch_id,run_id,dispatch_id,target")
    assert {(row["unit"], row["state"], row["reason"]) for row in rows} == {("waves", "value", "")}


def test_kernels_are_chosen_by_name(vcopy: str, capsys: Capture) -> None:
    assert "vecCopy" in told(capsys, vcopy, "--kernel", "^vec.*double", "--metric", "waves")
    assert main(["metrics", vcopy, "--kernel", "nothing-like-it"]) == 4
    assert "no kernel matches 'nothing-like-it'" in capsys.readouterr().err
    assert main(["metrics", vcopy, "--kernel", "("]) == 2
    assert "is not a regular expression" in capsys.readouterr().err


def test_an_unknown_metric_names_the_nearest(tmp_path: Path, capsys: Capture) -> None:
    missing = str(tmp_path / "no.rocperf")  # refused before anything is read
    assert main(["metrics", missing, "--metric", "lds_conflict_shar"]) == 2
    err = capsys.readouterr().err
    assert "there is no metric 'lds_conflict_shar'" in err
    assert "did you mean lds-conflict-share" in err


def test_a_profile_without_counters(
    recorded: Callable[[str], Path], tmp_path: Path, capsys: Capture
) -> None:
    path = ingest([recorded("rocpd_mi308x_copies")], tmp_path / "t.rocperf")
    assert main(["metrics", str(path)]) == 4
    err = capsys.readouterr().err
    assert "there are no counters" in err
    assert "rocperf collect" in err
    assert "Traceback" not in err


def test_raw_output_is_read_directly(
    recorded: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = str(recorded("rocprofv3_csv_gfx1201_clock_gated"))
    shown = told(capsys, path, "--quiet", "--metric", "valu-instructions", "waves")
    assert "not trustworthy" in shown
    assert "amd-smi set --perf-level STABLE_STD" in " ".join(shown.split())


def test_hostile_names_do_not_act_on_the_terminal() -> None:
    row: dict[str, object] = {
        "kernel_id": 1,
        "target": "gfx\x1b[31m",
        "metric": "waves",
        "value": 1.0,
        "raw": 1.0,
    }
    row |= {"state": "value", "reason": "\x1b]0;x\x07", "confidence": "medium", "n": 1}
    frame = pl.DataFrame([row], schema=SCHEMA, orient="row").with_columns(
        kernel=pl.lit("k\x1b[2J"), short_name=pl.lit("k\x1b[2J")
    )
    printed = "".join(text(Answer(frame, "p", "id", named=True)))
    assert "\x1b" not in printed
    assert "\x07" not in printed
