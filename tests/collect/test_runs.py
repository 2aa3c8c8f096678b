"""Collecting with the stand-in, from the request to the profile."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rocperf import pipeline
from rocperf.collect import describe
from rocperf.errors import InputError, MachineError, NothingError, UsageError
from rocperf.model import Skipped
from rocperf.profile import open_profile

from .conftest import Run

Machine = Callable[..., None]


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    with open_profile(path) as profile:
        return profile.sql(query).rows()


@pytest.mark.parametrize("version", ["6.4", "7.0", "7.13"])
def test_every_release(run: Run, machine: Machine, version: str) -> None:
    machine(version=version)

    done = run(sys.executable, "-c", "raise SystemExit(3)")

    assert done.app_exit == 3
    assert done.exit_code(strict=True) == 0
    assert [each.status for each in done.passes] == ["complete", "complete"]
    assert rows(done.profile, 'SELECT "pass", role, status FROM runs ORDER BY 1') == [
        (1, "timing", "complete"), (2, "counters", "complete"),
    ]  # fmt: skip
    assert rows(done.profile, "SELECT count(*), count(DISTINCT launch_id) FROM all_dispatches") == [
        (360, 180)
    ]
    assert rows(done.profile, "SELECT count(*), bool_and(received) FROM requested_counters") == [
        (len(done.passes[1].counters), True)
    ]
    assert rows(done.profile, "SELECT count(*) > 0, bool_and(bytes > 0) FROM copies") == [
        (True, True)
    ]
    assert rows(done.profile, "SELECT DISTINCT command FROM runs")[0][0].startswith(sys.executable)  # type: ignore[attr-defined]


def test_the_raw_folder_is_private_and_described(run: Run) -> None:
    done = run()

    assert done.raw.stat().st_mode & 0o777 == 0o700
    content = json.loads((done.raw / "manifest.json").read_text())
    assert content["schema"] == "rocperf.raw/1"
    assert content["versions"] == {"rocprofv3": "1.0.0", "rocm": "7.0.0"}
    (file,) = content["passes"][0]["files"]
    assert (done.raw / "pass_1" / file["path"]).stat().st_size == file["bytes"]
    assert sorted(path.name for path in done.raw.iterdir()) == ["manifest.json", "pass_1", "pass_2"]
    assert not (done.raw / "pass_1" / "tmp").exists()


def test_a_failed_pass_keeps_the_others_and_is_resumed(run: Run, machine: Machine) -> None:
    machine(fail="SQ_LDS_IDX_ACTIVE:abort")
    first = run()

    assert [each.status for each in first.passes] == ["complete", "failed"]
    assert first.exit_code(strict=False) == 0
    assert first.exit_code(strict=True) == 5
    assert "ended by signal 6" in run.told
    assert "--resume app.rocperf" in run.told
    assert rows(first.profile, "SELECT status, message LIKE 'ended by signal 6%' FROM passes") == [
        ("complete", None), ("failed", True),
    ]  # fmt: skip
    assert rows(first.profile, "SELECT DISTINCT received FROM requested_counters") == [(False,)]
    before = first.passes[0]

    machine()
    plan = run.plan(resume=first.profile)
    assert [each.number for each in plan.passes] == [2]
    assert "1 of 2 passes are there already" in describe(plan)
    second = run(resume=first.profile)

    assert [each.status for each in second.passes] == ["complete", "complete"]
    assert second.passes[0] == before
    assert rows(second.profile, "SELECT count(*) FROM counter_values")[0][0] == 180 * 6


def test_a_skipped_analysis_tells_of_the_failed_pass(run: Run, machine: Machine) -> None:
    machine(fail="counters:abort")
    done = run()

    result = pipeline.analyze(done.profile, pipeline.Selection(only=("coalescing",)))

    (skipped,) = result.outcomes
    assert isinstance(skipped, Skipped)
    (text,) = skipped.missing
    assert text.startswith("counters TCP_TOTAL_CACHE_ACCESSES_sum, TA_TOTAL_WAVEFRONTS_sum")
    assert text.endswith("(unavailable: pass 2 ended by signal 6)")
    assert skipped.command == "rocperf collect --resume app.rocperf"


def test_resuming_goes_on_with_the_same(run: Run) -> None:
    done = run(kernels="transpose")

    with pytest.raises(UsageError, match="--kernels transpose"):
        run.plan(resume=done.raw, kernels="copy")
    assert run.plan(resume=done.raw).passes == ()
    with pytest.raises(InputError, match="nothing that rocperf collect wrote"):
        run.plan(resume=Path("other.rocperf"))


def test_nothing_is_overwritten(run: Run, tmp_path: Path) -> None:
    done = run(metrics=())

    with pytest.raises(InputError, match="already exists"):
        run.plan()
    done.profile.unlink()
    with pytest.raises(InputError, match="did not end") as error:
        run.plan()
    assert "--resume app.rocperf" in str(error.value.hint)
    assert run.plan(force=True)
    foreign = tmp_path / "mine.rocperf.raw"
    foreign.mkdir()
    (foreign / "thesis.txt").touch()
    with pytest.raises(InputError, match="not made by rocperf collect"):
        run.plan(output=Path("mine.rocperf"), force=True)


def test_a_counter_set_that_proves_too_large_is_split_once(run: Run, machine: Machine) -> None:
    machine(fail="TA_TOTAL_WAVEFRONTS_sum:too-many-counters")

    done = run()

    assert "exceeds what one pass can hold" in run.told
    assert "it is split in two" in run.told
    assert [(each.status, each.metrics) for each in done.passes] == [
        ("complete", ()),
        ("complete", ("lds-conflict-share",)),
        ("failed", ("coalescing",)),
    ]
    assert rows(done.profile, "SELECT count(DISTINCT counter) FROM counter_values") == [(4,)]


def test_counters_of_some_kernels_and_launches(run: Run) -> None:
    done = run(kernels="^transpose_lds_conflict", launches="2-3")

    assert rows(
        done.profile,
        "SELECT count(*), count(DISTINCT kernel_id) FROM all_dispatches JOIN runs USING (run_id)"
        " WHERE role = 'counters'",
    ) == [(2, 1)]


def test_a_filter_that_matches_nothing_is_named(run: Run) -> None:
    done = run(kernels="no_such_kernel")

    assert done.passes[1].status == "failed"
    assert "no kernel matches 'no_such_kernel'" in str(done.passes[1].message)


def test_missing_counters_are_named(run: Run, machine: Machine) -> None:
    machine(fail="missing-counter:SQ_LDS_IDX_ACTIVE")

    done = run()

    assert "requested, not returned: SQ_LDS_IDX_ACTIVE" in run.told
    assert done.exit_code(strict=True) == 5
    assert rows(done.profile, "SELECT counter FROM requested_counters WHERE NOT received") == [
        ("SQ_LDS_IDX_ACTIVE",)
    ]


def test_gated_clocks_are_explained(run: Run, machine: Machine) -> None:
    machine("gfx1201", fail="zero-counters")
    plan = run.plan(metrics=("lds-conflict-share", "wave-occupancy"))
    assert any("stops the clock" in text for text in plan.warnings)

    run(metrics=("lds-conflict-share", "wave-occupancy"))

    assert run.told.startswith("note: gfx1201 stops the clock")
    assert "their clock is gated" in run.told


def test_no_gpu_work_ends_the_collection(run: Run, machine: Machine) -> None:
    machine(fail="no-output")

    with pytest.raises(NothingError, match="no kernel dispatch rows") as error:
        run()

    assert error.value.exit_code == 4
    assert run.told.count("no kernel dispatch rows") == 1  # counters were not even tried
    assert (Path("app.rocperf.raw") / "manifest.json").is_file()
    assert not Path("app.rocperf").exists()


@pytest.mark.parametrize(
    ("fail", "kind", "said"),
    [
        ("permission", MachineError, "no permission to use the GPU"),
        ("crash-app", NothingError, "the program crashed, SIGSEGV"),
        ("truncated", NothingError, "cannot be read"),
    ],
)
def test_failures_in_words(
    run: Run, machine: Machine, fail: str, kind: type[Exception], said: str
) -> None:
    machine(fail=fail)

    with pytest.raises(kind, match=said):
        run(metrics=("coalescing",))


def test_a_program_that_does_not_exist(run: Run) -> None:
    with pytest.raises(MachineError, match="could not be started"):
        run("./no-such-program")


def test_a_program_whose_interpreter_is_missing(run: Run) -> None:
    Path("script").write_text("#!/no/such/interpreter\n")
    Path("script").chmod(0o755)
    with pytest.raises(MachineError, match="could not be started"):
        run("./script")


def test_a_hanging_pass_is_ended(run: Run, machine: Machine) -> None:
    machine(fail="counters:hang-hard")

    done = run(timeout_s=3.0)

    assert [each.status for each in done.passes] == ["complete", "failed"]
    assert "took more than 3 s" in str(done.passes[1].message)
    assert "HSA_XNACK" in str(done.passes[1].message)


def test_a_region_limits_what_is_counted(run: Run) -> None:
    with pytest.raises(UsageError, match="no_such_region"):
        run(region="no_such_region")
    found = run(region="step", force=True)

    counting = found.passes[1]
    assert any(word.startswith("--kernel-include-regex=^(") for word in counting.argv)
    assert counting.kernels is not None
    assert counting.kernels.startswith("^(")
    # Of a region without kernels nothing is counted, and the pass says why.
    empty = run(region="load", force=True)
    assert "no kernel was launched in region 'load'" in str(empty.passes[1].message)


def test_the_plan_as_text(run: Run) -> None:
    text = describe(run.plan("./my app", "$(x)"))

    assert "The program runs 2 times; its side effects" in text
    assert "counters: SQ_WAVES GRBM_GUI_ACTIVE" in text
    assert "-- './my app' '$(x)'" in text
    assert not Path("app.rocperf.raw").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"launches": "0"}, "counted from 1"),
        ({"launches": "3-1"}, "counted from 1"),
        ({"launches": "-1"}, "counted from 1"),
        ({"kernels": "("}, "regular expression|unterminated|missing"),
        ({"timeout_s": 0.0}, "above 0"),
        ({"stdin": Path("absent")}, "absent"),
    ],
)
def test_requests_that_cannot_be_meant(run: Run, options: dict[str, object], said: str) -> None:
    with pytest.raises((UsageError, InputError), match=said):
        run.plan(**options)


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        (("./build/app",), "app"),
        (("python3", "train.py", "x"), "train"),
        (("torchrun", "--nproc-per-node", "4", "train.py"), "train"),
        (("python", "-c", "import x; y"), "python"),
        (("env", "A=1", "./run"), "run"),
        (("mpirun", "-n", "4", "./app"), "mpirun"),
        (("./my app",), "app"),
    ],
)
def test_default_names(run: Run, argv: tuple[str, ...], name: str) -> None:
    assert run.plan(*argv, output=None).output == Path(f"{name}.rocperf")


def test_every_run_reads_the_same_input(run: Run, tmp_path: Path) -> None:
    given = tmp_path / "in.txt"
    given.write_text("forty-two\n")
    code = "import sys; open('seen', 'a').write(sys.stdin.read())"

    run(sys.executable, "-c", code, stdin=given)

    assert Path("seen").read_text() == "forty-two\n" * 2


def test_a_sum_over_two_passes_is_trusted_where_the_anchors_agree(run: Run) -> None:
    # Bytes over the fabric need five counters of the L2 on this GPU, and a run holds four.
    done = run(metrics=("fabric-bytes", "fabric-read-bytes", "fabric-write-bytes"))

    assert "fabric-bytes: added up over several runs" in run.told
    assert len(done.passes) == 3
    with open_profile(done.profile) as profile:
        metrics = ["fabric-bytes", "fabric-read-bytes", "fabric-write-bytes"]
        found = profile.metrics(metrics).filter(state="value")
    values = {
        (kernel, metric): value
        for kernel, metric, value in found.select("kernel_id", "metric", "value").iter_rows()
    }
    kernels = {kernel for kernel, _ in values}
    assert len(kernels) == 6
    for kernel in kernels:
        whole, read, written = (values[kernel, metric] for metric in metrics)
        assert whole == pytest.approx(read + written, rel=1e-9)
