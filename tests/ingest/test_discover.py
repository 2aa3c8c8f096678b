"""Which files are read, by whom, and which of them are one workload."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from rocperf.errors import InputError
from rocperf.ingest import discover as room
from rocperf.ingest.discover import discover, head_of, readers, recognise
from rocperf.ingest.twins import sha256_of, twins_among
from rocperf.testing.simulator import Request, profile

KERNEL = (
    '"Kind","Agent_Id","Queue_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp",'
    '"End_Timestamp"\n'
)


def csv(path: Path, text: str = KERNEL) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def names(root: Path, *paths: Path) -> dict[str, list[str]]:
    """Workloads of paths: files by name of the workload, relative to a root."""
    return {
        each.name: [str(s.path.relative_to(root)) for s in each.sources]
        for each in discover(paths or (root,))
    }


def test_every_format_has_its_reader() -> None:
    assert set(readers()) == {
        "rocprofv3-csv",
        "rocpd",
        "rocprofv3-json",
        "compute-workload",
        "rocprof",
        "topology",
    }


@pytest.mark.parametrize(
    ("form", "expected"),
    [("csv", "rocprofv3-csv"), ("json", "rocprofv3-json"), ("rocpd", "rocpd")],
)
def test_content_decides_not_the_name(tmp_path: Path, form: str, expected: str) -> None:
    files = profile("tiny_grid", tmp_path / "4242", Request(), [form])
    for number, file in enumerate(files):
        other = tmp_path / f"download{number}.bin"
        other.write_bytes(file.read_bytes())
        found = recognise(other)
        assert found is not None, file
        assert (found.format, found.size) == (expected, other.stat().st_size)


def test_a_packed_json_is_known_by_what_is_inside(tmp_path: Path) -> None:
    (file,) = profile("tiny_grid", tmp_path / "4242", Request(), ["json"])
    packed = tmp_path / "x.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    found = recognise(packed)
    assert found is not None
    assert found.format == "rocprofv3-json"
    assert head_of(packed)[:20] == file.read_bytes()[:20]


def test_a_file_that_only_looks_packed_is_nobody_s(tmp_path: Path) -> None:
    file = tmp_path / "x.gz"
    file.write_bytes(b"\x1f\x8bthis is no gzip")
    assert recognise(file) is None
    assert head_of(file).startswith(b"\x1f\x8b")


def test_passes_belong_to_the_folder_above_them(tmp_path: Path) -> None:
    for place in ("timing", "counters_1", "pass_2/node7", "rank0", "host-3"):
        csv(tmp_path / "app" / place / "out_kernel_trace.csv")
    assert names(tmp_path, tmp_path / "app") == {
        "app": [
            "app/counters_1/out_kernel_trace.csv",
            "app/host-3/out_kernel_trace.csv",
            "app/pass_2/node7/out_kernel_trace.csv",
            "app/rank0/out_kernel_trace.csv",
            "app/timing/out_kernel_trace.csv",
        ]
    }


def test_a_host_s_folder_of_rocprofv3_is_no_workload_of_its_own(tmp_path: Path) -> None:
    csv(tmp_path / "app" / "anyhost" / "4242_kernel_trace.csv")
    csv(tmp_path / "app" / "other" / "4243_kernel_trace.csv")
    assert len(names(tmp_path, tmp_path / "app")["app"]) == 2


def test_folders_with_names_of_their_own_are_workloads(tmp_path: Path) -> None:
    csv(tmp_path / "gemm" / "timing" / "out_kernel_trace.csv")
    csv(tmp_path / "copy" / "out_kernel_trace.csv")
    assert names(tmp_path) == {
        "copy": ["copy/out_kernel_trace.csv"],
        "gemm": ["gemm/timing/out_kernel_trace.csv"],
    }


def test_a_manifest_bounds_a_workload(tmp_path: Path) -> None:
    for name in ("run1", "run2"):
        csv(tmp_path / name / "timing" / "out_kernel_trace.csv")
    assert list(names(tmp_path)) == [tmp_path.name]
    for name in ("run1", "run2"):
        (tmp_path / name / "manifest.json").write_text("{}")
    assert list(names(tmp_path)) == ["run1", "run2"]


def test_files_that_are_given_are_one_workload(tmp_path: Path) -> None:
    one, two = (
        csv(tmp_path / "a" / "x_kernel_trace.csv"),
        csv(tmp_path / "b" / "y_kernel_trace.csv"),
    )
    assert names(tmp_path, one, two) == {
        "x_kernel_trace.csv": ["a/x_kernel_trace.csv", "b/y_kernel_trace.csv"]
    }


def test_hidden_files_links_to_folders_and_foreign_files_are_not_read(tmp_path: Path) -> None:
    csv(tmp_path / "app" / "x_kernel_trace.csv")
    csv(tmp_path / "app" / ".hidden_kernel_trace.csv")
    csv(tmp_path / "app" / ".git" / "x_kernel_trace.csv")
    csv(tmp_path / "app" / "readme.txt", "hello\n")
    csv(tmp_path / "elsewhere" / "x_kernel_trace.csv")
    (tmp_path / "app" / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "app" / "loop").symlink_to(tmp_path / "app")
    assert names(tmp_path, tmp_path / "app") == {"app": ["app/x_kernel_trace.csv"]}


def test_a_folder_of_nothing_and_a_path_of_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing in this folder is profiler output") as error:
        discover([tmp_path])
    assert error.value.hint is not None
    assert "rocperf collect" in error.value.hint
    with pytest.raises(InputError, match="no such file or folder"):
        discover([tmp_path / "absent"])
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="neither a file nor a folder"):
        discover([tmp_path / "pipe"])


def test_a_pipe_in_a_folder_blocks_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x_kernel_trace.csv")
    csv(tmp_path / "y_kernel_trace.csv")
    assert names(tmp_path) == {tmp_path.name: ["y_kernel_trace.csv"]}


def test_a_folder_with_too_many_files_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "MOST_FILES", 3)
    for number in range(4):
        csv(tmp_path / f"{number}.txt", "x")
    with pytest.raises(InputError, match="holds more than 3 files"):
        discover([tmp_path])


def test_only_files_of_one_size_may_be_twins(tmp_path: Path) -> None:
    texts = {"a": KERNEL, "b": KERNEL, "c": KERNEL + "\n"}
    for name, text in texts.items():
        csv(tmp_path / f"{name}_kernel_trace.csv", text)
    (workload,) = discover([tmp_path])
    found = twins_among(workload.sources, everything=False)
    assert {path.name[0] for path in found} == {"a", "b"}
    assert len(twins_among(workload.sources, everything=True)) == 3
    assert len({sha256_of(path) for path in found}) == 1


def test_the_checksum_is_that_of_the_bytes(tmp_path: Path) -> None:
    # The published value for the three letters "abc".
    (tmp_path / "x").write_bytes(b"abc")
    assert sha256_of(tmp_path / "x") == (
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )
