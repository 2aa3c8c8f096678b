"""Every recorded trace, from its files to the outcomes that a person read and found right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import rocperf
from rocperf import pipeline
from rocperf.ingest.load import ingest
from rocperf.model import Completed, Failed, Finding, Skipped

Ingested = Callable[[str], Path]

#: Every folder with events; the two topologies have none and are tested with their reader.
FOLDERS = (
    "mi300x_ubench/bank_conflict/conflict",
    "mi300x_ubench/bank_conflict/no_conflict",
    "mi300x_ubench/coalescing/coalesced",
    "mi300x_ubench/coalescing/uncoalesced",
    "compute_vcopy/MI200",
    "compute_vcopy/MI300X_A1",
    "compute_vcopy/MI300X_A1_rocpd",
    "compute_multikernel/MI200",
    "compute_gemm_mi325x/swizzle",
    "omniperf_v1_mixbench/mi200",
    "rocprofv3_csv_gfx950_lds",
    "rocprofv3_csv_gfx950_attention",
    "rocprofv3_csv_gfx950_wave",
    "rocprofv3_csv_mi325x_gemm",
    "rocprofv3_csv_gfx1151_decode",
    "rocprofv3_json_mi350x_rccl",
    "rocpd_gfx1201_llama",
    "rocpd_mi308x_copies",
    "rocprofv3_csv_mi300x_training",
    "rocprofv3_csv_gfx1201_bandwidth/rd_256MiB",
    "rocprofv3_csv_gfx1201_clock_gated",
    "rocprofv3_csv_gfx1201_pc_sampling",
    "rocprof_v1_basic_row",
    "rocprof_v1_blocked_matmul_32",
    "rocprof_v1_kokkos",
)


@pytest.fixture(scope="module")
def ingested(recorded: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Ingested:
    """Return the profile of a recorded trace; each is read once."""
    done: dict[str, Path] = {}

    def profile(name: str) -> Path:
        if name not in done:
            target = tmp_path_factory.mktemp("profile") / "trace.rocperf"
            done[name] = ingest([recorded(name)], target)
        return done[name]

    return profile


def findings(path: Path, analysis: str) -> list[Finding]:
    result = pipeline.analyze(path, pipeline.Selection(only=(analysis,)))
    [outcome] = result.outcomes
    assert isinstance(outcome, Completed), outcome
    return [ranked.finding for ranked in outcome.findings]


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_analysis_fails(ingested: Ingested, folder: str) -> None:
    result = pipeline.analyze(ingested(folder))
    assert not [o for o in result.outcomes if isinstance(o, Failed)]
    for outcome in result.outcomes:
        if isinstance(outcome, Skipped):
            assert outcome.missing
    for ranked in result.findings:
        saves = ranked.finding.saves_ns
        limit = result.summary.wall_ns or result.summary.kernel_ns
        assert saves is None or (limit is not None and 0 < saves <= limit)


def test_the_conflicting_transpose_is_flagged_with_a_bound_that_holds(
    ingested: Ingested,
) -> None:
    [finding] = findings(ingested("mi300x_ubench/bank_conflict/conflict"), "lds-bank-conflicts")
    assert "93.9" in finding.title
    assert finding.saves_ns is not None
    # The padded twin is 600 ns faster: 6249 against 5649.
    assert 600 <= finding.saves_ns <= 6249


def test_the_padded_transpose_is_not(ingested: Ingested) -> None:
    path = ingested("mi300x_ubench/bank_conflict/no_conflict")
    assert findings(path, "lds-bank-conflicts") == []


def test_the_strided_copy_is_flagged_with_a_bound_that_holds(ingested: Ingested) -> None:
    [finding] = findings(ingested("mi300x_ubench/coalescing/uncoalesced"), "coalescing")
    assert finding.saves_ns is not None
    # The unit-stride twin is 2243 ns faster: 5889 against 3646.
    assert 2243 <= finding.saves_ns <= 5889


def test_the_unit_stride_copy_is_not(ingested: Ingested) -> None:
    assert findings(ingested("mi300x_ubench/coalescing/coalesced"), "coalescing") == []


@pytest.mark.parametrize("workload", ["MI200", "MI300X_A1", "MI300X_A1_rocpd"])
def test_a_coalesced_copy_of_doubles_is_not_flagged(ingested: Ingested, workload: str) -> None:
    """The usual figure reads 25 % here, as for a fully scattered access of floats."""
    assert findings(ingested(f"compute_vcopy/{workload}"), "coalescing") == []


def test_the_attention_that_conflicts_is_flagged_and_the_other_is_not(
    ingested: Ingested,
) -> None:
    found = findings(ingested("rocprofv3_csv_gfx950_attention"), "lds-bank-conflicts")
    assert any("_attn_fwd" in finding.subject.name for finding in found)
    assert not any("attend_ker" in finding.subject.name for finding in found)


def test_conflicts_are_found_without_the_active_cycles(ingested: Ingested) -> None:
    found = findings(ingested("rocprofv3_csv_gfx950_lds"), "lds-bank-conflicts")
    assert len(found) == 1
    assert "60" in found[0].title
    assert "% of" not in found[0].title


def test_copies_with_sizes_are_judged_against_the_link(ingested: Ingested) -> None:
    result = pipeline.analyze(
        ingested("rocpd_mi308x_copies"), pipeline.Selection(only=("memcpy-bandwidth",))
    )
    [outcome] = result.outcomes
    assert not isinstance(outcome, Failed)


def test_no_bandwidth_is_stated_without_sizes(ingested: Ingested) -> None:
    result = pipeline.analyze(
        ingested("rocprofv3_csv_mi300x_training"),
        pipeline.Selection(only=("memcpy-bandwidth",)),
    )
    [outcome] = result.outcomes
    if isinstance(outcome, Completed):
        assert all("GB/s" not in ranked.finding.title for ranked in outcome.findings)
    else:
        assert isinstance(outcome, Skipped)
        assert "size" in " ".join(outcome.missing)


def test_without_registers_occupancy_is_skipped_with_the_reason(ingested: Ingested) -> None:
    result = pipeline.analyze(
        ingested("rocprofv3_csv_mi325x_gemm"), pipeline.Selection(only=("occupancy",))
    )
    [outcome] = result.outcomes
    assert isinstance(outcome, Skipped)
    assert "register" in " ".join(outcome.missing).lower()


def test_kernels_of_rccl_are_not_the_users_to_change(ingested: Ingested) -> None:
    """They hold few waves and leave units idle on purpose."""
    assert findings(ingested("rocprofv3_json_mi350x_rccl"), "occupancy") == []


@pytest.mark.parametrize(
    ("folder", "dispatches", "kernels"),
    [
        ("rocprofv3_json_mi350x_rccl", 43915, 80),
        ("rocpd_gfx1201_llama", 5687, None),
        ("rocpd_mi308x_copies", 1004, None),
        ("rocprofv3_csv_gfx950_wave", 1040, None),
        ("rocprofv3_csv_mi325x_gemm", 70, None),
        ("compute_multikernel/MI200", None, 7),
    ],
)
def test_dispatches_and_kernels_are_all_there(
    ingested: Ingested, folder: str, dispatches: int | None, kernels: int | None
) -> None:
    with rocperf.open(ingested(folder)) as profile:
        row = profile.sql(
            "SELECT count(*) AS n, count(DISTINCT kernel_id) AS k FROM dispatches"
        ).row(0, named=True)
    if dispatches is not None:
        assert row["n"] == dispatches
    if kernels is not None:
        assert row["k"] == kernels


def test_the_recorded_rccl_run_keeps_every_nanosecond(ingested: Ingested) -> None:
    with rocperf.open(ingested("rocprofv3_json_mi350x_rccl")) as profile:
        assert profile.kernel_ns == 4_441_741_378


def test_copies_of_the_transpose(ingested: Ingested) -> None:
    with rocperf.open(ingested("rocpd_mi308x_copies")) as profile:
        row = profile.sql(
            "SELECT count(*) AS n, sum(bytes)::BIGINT AS b, any_value(direction) AS d FROM copies"
        ).row(0, named=True)
        assert (row["n"], row["b"]) == (48, 1_574_502_400)
        sensors = profile.sql(
            "SELECT count(*) AS n FROM counter_values WHERE counter ILIKE 'device_%'"
        )
        assert sensors["n"].item() == 0
        assert profile.scalar("SELECT count(*) FROM sensor_samples") == 2684


def test_the_hottest_instruction_of_the_reading_kernel_is_named(ingested: Ingested) -> None:
    """720 of 731 samples lie on the addition that uses what was read before it."""
    [finding] = findings(ingested("rocprofv3_csv_gfx1201_pc_sampling"), "hot-lines")
    assert finding.rule == "hot-lines/instruction"
    assert "98.5 % of 731 samples at v_add_f32_e32 v0, v0, v2" in finding.title
    assert finding.saves_ns is None


def test_the_recorded_rank_waits_in_the_open(ingested: Ingested) -> None:
    """4.16 s of RCCL, of which 0.2 s run beside compute; the rest of its 15 s the GPU idles."""
    [finding] = findings(ingested("rocprofv3_json_mi350x_rccl"), "rccl-bandwidth")
    assert finding.rule == "rccl-bandwidth/exposed"
    assert finding.saves_ns == 3_962_709_684
    assert any("one rank cannot tell" in doubt for doubt in finding.doubts)


def test_recorded_copies_never_go_between_gpus(ingested: Ingested) -> None:
    """Source and destination are one agent in all 48; nothing can be said of links between."""
    assert findings(ingested("rocpd_mi308x_copies"), "peer-links") == []


def test_gpus_that_are_listed_but_not_used_are_nobodys(ingested: Ingested) -> None:
    """Eight are listed, one works: the other seven belong to other ranks."""
    assert findings(ingested("rocprofv3_json_mi350x_rccl"), "gpu-balance") == []


def test_where_no_link_is_recorded_no_memory_is_called_far(ingested: Ingested) -> None:
    result = pipeline.analyze(
        ingested("rocpd_mi308x_copies"), pipeline.Selection(only=("numa-affinity",))
    )
    [outcome] = result.outcomes
    assert isinstance(outcome, Skipped)
    assert "NUMA nodes" in outcome.missing[0]


def test_no_recording_holds_driver_events_and_that_is_said(ingested: Ingested) -> None:
    result = pipeline.analyze(
        ingested("rocpd_gfx1201_llama"), pipeline.Selection(only=("page-migration",))
    )
    [outcome] = result.outcomes
    assert isinstance(outcome, Skipped)
    assert "kfd_events" in outcome.missing[0]
    assert "--kfd-trace" in str(outcome.command)


def test_the_planted_secret_is_in_no_text(ingested: Ingested) -> None:
    with rocperf.open(ingested("rocpd_gfx1201_llama")) as profile:
        columns = profile.sql(
            "SELECT table_name, column_name FROM information_schema.columns"
            " WHERE data_type = 'VARCHAR'"
        )
        assert columns.height > 40
        for table, column in columns.iter_rows():
            hits = profile.scalar(
                f'SELECT count(*) FROM "{table}" WHERE "{column}" ILIKE \'%EXAMPLE_API_TOKEN%\''
            )
            assert hits == 0, f"{table}.{column}"


def test_a_gated_clock_makes_counters_untrustworthy(ingested: Ingested) -> None:
    with rocperf.open(ingested("rocprofv3_csv_gfx1201_clock_gated")) as profile:
        values = profile.metrics(["waves", "valu-utilisation"])
    states = set(values.filter(metric="valu-utilisation")["state"].to_list())
    assert "value" not in states
    reasons = " ".join(filter(None, values["reason"].to_list()))
    assert "gated" in reasons or states == {"not collected"}


@pytest.mark.parametrize(
    ("folder", "metric", "kernel", "moved"),
    [
        ("rd_32MiB", "fabric-read-bytes", "%", 32 << 20),
        ("rd_256MiB", "fabric-read-bytes", "%", 256 << 20),
    ],
)
def test_kernels_of_known_traffic_show_the_bytes_they_moved(
    ingested: Ingested, folder: str, metric: str, kernel: str, moved: int
) -> None:
    with rocperf.open(ingested(f"rocprofv3_csv_gfx1201_bandwidth/{folder}")) as profile:
        values = profile.metrics([metric], per="dispatch")
    best = values.filter(state="value")["value"].max()
    assert best == pytest.approx(moved, rel=0.01)
