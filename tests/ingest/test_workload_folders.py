"""Workload folders of rocprofiler-compute and omniperf, on recordings and on small made ones."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import duckdb
import polars as pl
import pytest

from rocperf.errors import InputError
from rocperf.ingest import compute_workload
from rocperf.ingest.compute_workload.columns import understand
from rocperf.ingest.source import RunInfo, SourceFile
from rocperf.schema import BY_NAME


class Kept:
    """A sink that keeps what it is given."""

    def __init__(self) -> None:
        self.connection = duckdb.connect()
        self.infos: dict[int, RunInfo] = {}
        self.notes: list[tuple[str, str]] = []
        self.files: list[SourceFile] = []
        self.ignored: list[str] = []
        self.stored: dict[str, tuple[int, int]] = {}
        self._runs: dict[tuple[str, ...], int] = {}
        self._frames: dict[str, list[pl.DataFrame]] = {}

    def run(self, info: RunInfo) -> int:
        number = self._runs.setdefault(info.key, len(self._runs) + 1)
        self.infos[number] = info
        return number

    def file(self, source: SourceFile, run_id: int | None) -> int:
        self.files.append(source)
        return len(self.files)

    def refuse(self, source: SourceFile, reason: str) -> None:
        raise AssertionError(reason)

    def ignore(self, source: SourceFile, reason: str) -> None:
        self.ignored.append(source.path.name)

    def records(self, file_id: int, *, stored: int, rejected: int) -> None:
        self.stored[self.files[file_id - 1].path.name] = (stored, rejected)

    def append(self, table: str, frame: pl.DataFrame, *, run_id: int, file_id: int | None) -> None:
        unknown = set(frame.columns) - set(BY_NAME[table].column_names) - {"kernel"}
        assert not unknown
        self._frames.setdefault(table, []).append(frame.with_columns(run_id=pl.lit(run_id)))

    def gathering(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def mark(self) -> tuple[int, int]:
        raise AssertionError("nothing is taken back")

    def back_to(self, mark: tuple[int, int]) -> None:
        raise AssertionError(mark)

    def append_sql(
        self,
        table: str,
        select: str,
        params: Sequence[object],
        *,
        run_id: int,
        file_id: int | None,
    ) -> int:
        raise AssertionError("these readers give frames")

    def note(
        self,
        severity: str,
        code: str,
        message: str,
        *,
        file_id: int | None = None,
        row: int | None = None,
        rows: int | None = None,
        run_id: int | None = None,
    ) -> None:
        self.notes.append((code, message))

    def progress(self, file: SourceFile, rows: int, bytes_done: int) -> None: ...

    def table(self, name: str) -> pl.DataFrame:
        return pl.concat(self._frames[name], how="diagonal_relaxed")

    def has(self, name: str) -> bool:
        return name in self._frames

    def value(self, counter: str, dispatch: int | None = None) -> list[float]:
        rows = self.table("counter_values").filter(pl.col("counter") == counter)
        if dispatch is not None:
            rows = rows.filter(pl.col("dispatch_id") == dispatch)
        return rows["value"].to_list()


def ingested(folder: Path) -> Kept:
    found: list[SourceFile] = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            source = compute_workload.recognise(path, path.read_bytes()[:65536])
            found += [source] if source else []
    kept = Kept()
    compute_workload.read(found, kept)
    return kept


def made(folder: Path, name: str, lines: Iterable[str]) -> Path:
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def test_conflicting_transpose_has_the_recorded_counts(recorded: Callable[[str], Path]) -> None:
    kept = ingested(recorded("mi300x_ubench/bank_conflict/conflict"))
    assert kept.value("SQ_LDS_BANK_CONFLICT") == [1015808]
    assert kept.value("SQ_LDS_IDX_ACTIVE") == [1081344]
    other = ingested(recorded("mi300x_ubench/bank_conflict/no_conflict"))
    assert other.value("SQ_LDS_BANK_CONFLICT") == [0]
    assert other.value("SQ_LDS_IDX_ACTIVE") == [65536]


@pytest.mark.parametrize(
    ("trace", "duration"),
    [
        ("bank_conflict/conflict", 6249),
        ("bank_conflict/no_conflict", 5649),
        ("coalescing/coalesced", 3646),
        ("coalescing/uncoalesced", 5889),
    ],
)
def test_kernel_times_are_of_a_run_of_their_own(
    recorded: Callable[[str], Path], trace: str, duration: int
) -> None:
    kept = ingested(recorded(f"mi300x_ubench/{trace}"))
    timed = kept.table("all_dispatches").drop_nulls("start_ns")
    assert (timed["end_ns"] - timed["start_ns"]).to_list() == [duration]
    (run,) = timed["run_id"].to_list()
    # Which pass the times are of is not recorded, so they stand for serialised ones.
    assert kept.infos[run].role == "counters"
    assert run not in kept.table("counter_values")["run_id"].to_list()


def test_passes_of_a_joined_table_stay_apart(recorded: Callable[[str], Path]) -> None:
    kept = ingested(recorded("mi300x_ubench/bank_conflict/conflict"))
    values = kept.table("counter_values")
    # The header repeats obj as obj_1 … obj_13: 14 passes.
    assert values["run_id"].n_unique() == 14
    assert sorted(i.pass_number for i in kept.infos.values() if i.pass_number) == list(range(1, 15))
    assert len({info.key[:2] for info in kept.infos.values()}) == 1

    def run_of(counter: str) -> list[int]:
        return values.filter(pl.col("counter") == counter)["run_id"].to_list()

    # obj_2 precedes the conflicts, obj_4 the accesses: not measured together.
    assert run_of("SQ_LDS_BANK_CONFLICT") != run_of("SQ_LDS_IDX_ACTIVE")
    # SQ_WAVES and SQ_WAVES_11 are two measurements of one counter.
    assert kept.value("SQ_WAVES") == [16384, 16384]


def test_accumulations_are_named_after_their_level(recorded: Callable[[str], Path]) -> None:
    kept = ingested(recorded("mi300x_ubench/bank_conflict/conflict"))
    assert kept.value("SQ_LEVEL_WAVES_ACCUM") == [58962088]
    assert not any(
        name.startswith("SQ_ACCUM") for name in kept.table("counter_values")["counter"].unique()
    )
    vcopy = ingested(recorded("compute_vcopy/MI300X_A1"))
    # From SQ_LEVEL_WAVES.csv and SQ_INST_LEVEL_VMEM.csv.
    assert vcopy.value("SQ_LEVEL_WAVES_ACCUM", 0) == [155189876]
    assert vcopy.value("SQ_INST_LEVEL_VMEM_ACCUM", 0) == [40323912]


def test_channels_are_summed_once_and_kept(tmp_path: Path) -> None:
    folder = made(
        tmp_path,
        "pmc_perf.csv",
        [
            "Dispatch_ID,Kernel_Name,GPU_ID,Grid_Size,TCC_HIT[0],TCC_HIT[1],TCC_MISS[0],"
            "TCC_MISS[1],TCC_MISS_sum",
            '7,"k(int, int)",2,64,3,4,10,20,31',
        ],
    )
    kept = ingested(folder)
    assert kept.value("TCC_HIT_sum") == [7]
    assert kept.value("TCC_MISS_sum") == [31]
    assert ("channels-disagree", "pmc_perf.csv: channels do not add up: TCC_MISS_sum") in kept.notes
    parts = kept.table("counter_instances").filter(pl.col("counter") == "TCC_HIT")
    assert parts.select("instance", "value").rows() == [(0, 3.0), (1, 4.0)]
    assert kept.table("all_dispatches")["kernel"].to_list() == ["k(int, int)"]


def test_stacked_table_holds_twelve_passes_of_three(recorded: Callable[[str], Path]) -> None:
    kept = ingested(recorded("compute_vcopy/MI300X_A1_rocpd"))
    dispatches = kept.table("all_dispatches")
    assert len(dispatches) == 36
    assert dispatches.group_by("run_id").len()["len"].to_list() == [3] * 12
    for run in kept.infos:
        ids = dispatches.filter(pl.col("run_id") == run)["dispatch_id"].sort().to_list()
        assert ids == [1, 2, 3]
    # 16,777,216 bytes a dispatch are 1,048,576 work-items: 16,384 waves of 64.
    assert kept.value("SQ_WAVES") == [16384] * 3
    assert kept.value("SQ_IFETCH_LEVEL_ACCUM", 1) == [3395062]
    # 6027 records, of which 5376 are channels: the other 651 stand as they are.
    parts = kept.table("counter_instances")
    assert len(parts) == 5376
    sums = kept.table("counter_values").filter(
        pl.col("counter").is_in((parts["counter"] + "_sum").unique().to_list())
    )
    assert len(kept.table("counter_values")) >= 651
    assert not sums.is_empty()
    static = dispatches["static_lds_bytes"].to_list()
    assert static == [0] * 36
    assert "lds_bytes" not in dispatches.columns


def test_times_rounded_by_a_spreadsheet_are_absent(recorded: Callable[[str], Path]) -> None:
    kept = ingested(recorded("compute_vcopy/MI300X_A1"))
    assert kept.table("all_dispatches")["start_ns"].null_count() == 3 * len(kept.infos)
    assert [code for code, _ in kept.notes] == ["timestamps-rounded"]
    assert "timestamps rounded in 3 rows" in kept.notes[0][1]


def test_times_beside_a_run_for_times_are_copies(recorded: Callable[[str], Path]) -> None:
    kept = ingested(recorded("compute_vcopy/MI200"))
    timed = kept.table("all_dispatches").drop_nulls("start_ns")
    assert timed["run_id"].n_unique() == 1
    assert kept.infos[timed["run_id"][0]].role == "timing"
    # 52,320 ns over three dispatches, by the tool's own summary.
    assert (timed["end_ns"] - timed["start_ns"]).sum() == 52320


def test_seven_kernels_of_tiny_grids(recorded: Callable[[str], Path]) -> None:
    dispatches = ingested(recorded("compute_multikernel/MI200")).table("all_dispatches")
    assert dispatches["kernel"].n_unique() == 7
    assert dispatches["grid_size"].min() == 1


def test_contradicting_sysinfo_is_noticed(recorded: Callable[[str], Path]) -> None:
    kept = ingested(recorded("compute_gemm_mi325x/swizzle"))
    code, message = kept.notes[0]
    assert code == "sysinfo-contradiction"
    assert "304 CUs on 1 XCC" in message
    agents = kept.table("agents")
    assert agents["num_xcc"].null_count() == len(agents)
    assert agents["l2_channels"].null_count() == len(agents)
    assert set(agents["cu_count"]) == {304}
    timed = kept.table("all_dispatches").drop_nulls("start_ns")
    assert len(timed) == 270


def test_sysinfo_becomes_agent_and_run(recorded: Callable[[str], Path]) -> None:
    kept = ingested(recorded("mi300x_ubench/bank_conflict/conflict"))
    agent = kept.table("agents").row(0, named=True)
    assert (agent["target"], agent["product"]) == ("gfx942", "MI300X_A1")
    assert (agent["cu_count"], agent["num_xcc"], agent["clock_mhz"]) == (304, 8, 2100)
    assert (agent["l2_channels"], agent["compute_partition"]) == (128, "SPX")
    info = kept.infos[1]
    assert (info.command, info.rocm_version) == ("./conflict.out", "6.4.1-83")


def test_first_generation_ingests_with_passes_told_by_slots(
    recorded: Callable[[str], Path],
) -> None:
    kept = ingested(recorded("omniperf_v1_mixbench/mi200"))
    dispatches = kept.table("all_dispatches")
    timed = dispatches.drop_nulls("start_ns")
    assert len(timed) == 167
    assert any("benchmark_func<short" in name for name in timed["kernel"])
    assert [code for code, _ in kept.notes] == ["passes-inferred"]
    most = (
        kept.table("counter_values")
        .filter(pl.col("counter").str.starts_with("SQ"))
        .group_by("run_id", "dispatch_id")
        .len()["len"]
        .max()
    )
    assert most == 8
    assert kept.table("agents")["target"].unique().to_list() == ["gfx90a"]


def test_wholly_empty_column_is_dropped_with_a_note(tmp_path: Path) -> None:
    folder = made(
        tmp_path,
        "pmc_perf.csv",
        [
            "Dispatch_ID,GPU_ID,Grid_Size,Kernel_Name,Wave_Size,SQ_WAVES,Wave_Size_1,SQ_WAVES_3",
            '0,4,64,"k(int*)",64,1,64,',
            '1,4,64,"k(int*)",64,2,64,',
        ],
    )
    kept = ingested(folder)
    assert kept.value("SQ_WAVES") == [1, 2]
    assert ("column-empty", "pmc_perf.csv: SQ_WAVES_3 empty, dropped") in kept.notes


def test_partly_empty_cell_has_a_reason_and_wrapped_grid_none(tmp_path: Path) -> None:
    folder = made(
        tmp_path,
        "pmc_perf.csv",
        [
            "Dispatch_ID,GPU_ID,Grid_Size,Workgroup_Size,Kernel_Name,SQ_WAVES",
            "0,4,0,64,k,12",
            "1,4,64,64,k,",
            ",4,64,64,k,3",
        ],
    )
    kept = ingested(folder)
    rows = kept.table("counter_values").select("dispatch_id", "value", "reason").rows()
    assert rows == [(0, 12.0, None), (1, None, "no number in the file")]
    assert kept.table("all_dispatches")["grid_size"].to_list() == [None, 64]
    assert {code for code, _ in kept.notes} == {"counter-unusable", "grid-wrapped", "rows-unusable"}


def test_repeated_ids_are_replaced_by_record_numbers(tmp_path: Path) -> None:
    lines = ["Dispatch_ID,GPU_ID,Grid_Size,Kernel_Name,SQ_WAVES", "0,4,64,k,1", "0,4,64,k,2"]
    kept = ingested(made(tmp_path, "pmc_perf.csv", lines))
    assert kept.value("SQ_WAVES", 1) == [1]
    assert kept.value("SQ_WAVES", 2) == [2]
    assert "dispatch-ids-repeat" in dict(kept.notes)


def test_summaries_are_left_aside_and_records_counted(recorded: Callable[[str], Path]) -> None:
    kept = ingested(recorded("compute_vcopy/MI200"))
    assert kept.ignored == ["pmc_kernel_top.csv", "pmc_dispatch_info.csv", "roofline.csv"]
    assert kept.stored["pmc_perf.csv"] == (3, 0)
    long = ingested(recorded("compute_vcopy/MI300X_A1_rocpd"))
    assert long.stored == {"pmc_perf.csv": (6027, 0)}


def test_name_with_glob_characters_is_a_name(tmp_path: Path) -> None:
    folder = tmp_path / "run[1]*"
    folder.mkdir()
    lines = ["Dispatch_ID,GPU_ID,Grid_Size,Kernel_Name,SQ_WAVES", "0,4,64,k,1"]
    assert ingested(made(folder, "pmc_perf.csv", lines)).value("SQ_WAVES") == [1]


def test_record_with_too_many_fields_is_an_error(tmp_path: Path) -> None:
    lines = ["Dispatch_ID,GPU_ID,Grid_Size,Kernel_Name,SQ_WAVES", "0,4,64,k,1,2,3"]
    with pytest.raises(InputError, match=r"pmc_perf\.csv"):
        ingested(made(tmp_path, "pmc_perf.csv", lines))


def test_header_only_is_said(tmp_path: Path) -> None:
    kept = ingested(
        made(tmp_path, "pmc_perf.csv", ["Dispatch_ID,GPU_ID,Grid_Size,Kernel_Name,SQ_WAVES"])
    )
    assert ("file-empty", "pmc_perf.csv: 0 rows") in kept.notes
    assert not kept.has("counter_values") or kept.table("counter_values").is_empty()


def test_counter_with_a_number_at_its_end_is_no_repeat() -> None:
    names = ["Dispatch_ID", "Kernel_Name", "GPU_ID", "SQC_DCACHE_REQ_READ_1", "SQ_WAVES"]
    columns = understand([*names, "obj_1", "SQ_WAVES_1"])
    assert [c.counter for c in columns.counters[:2]] == ["SQC_DCACHE_REQ_READ_1", "SQ_WAVES"]
