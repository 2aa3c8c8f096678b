"""More metrics of the kernels that findings name, as further passes of the same collection."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from rocperf import pipeline
from rocperf.cli import main
from rocperf.collect import Plan, collect, describe
from rocperf.collect.deepen import measured
from rocperf.collect.manifest import Manifest, Record, read
from rocperf.errors import InputError, NothingError
from rocperf.metrics import catalogue
from rocperf.profile import open_profile
from rocperf.testing.standin import install, install_bindings

from .conftest import Run

Machine = Callable[..., None]
#: What the demo's kernel with conflicts is called.
CONFLICT = "transpose_lds_conflict(float*, float const*, int, int)"
MORE = ("lds-conflict-share", "fabric-read-bytes", "valu-instructions")


def deeper(run: Run, *names: str, metrics: tuple[str, ...] = MORE, **options: object) -> Plan:
    return run.plan(resume=Path("app.rocperf"), deepen=names, metrics=metrics, **options)


def test_passes_are_added_for_some_kernels_only(run: Run) -> None:
    run()

    plan = deeper(run, CONFLICT)

    (added,) = plan.passes
    assert added.number == 3
    assert added.metrics == ("fabric-read-bytes", "valu-instructions")
    # The share was measured of every kernel already.
    assert "lds-conflict-share" not in added.metrics
    pattern = r"^(transpose_lds_conflict\(float\*, float const\*, int, int\))"
    assert f"--kernel-include-regex={pattern}" in added.argv
    assert CONFLICT in describe(plan)


def test_they_join_the_profile_as_a_new_generation(run: Run) -> None:
    first = run()
    with open_profile(first.profile) as profile:
        before = profile.id

    done = collect(deeper(run, CONFLICT), run.events.append)

    assert [each.status for each in done.passes] == ["complete"] * 3
    assert done.passes[:2] == first.passes
    with open_profile(done.profile) as profile:
        assert profile.id != before
        assert profile.sql(
            'SELECT "pass", count(*), count(DISTINCT kernel_id) FROM all_dispatches'
            " JOIN runs USING (run_id) GROUP BY ALL ORDER BY 1"
        ).rows() == [(1, 180, 6), (2, 180, 6), (3, 30, 1)]
        # Each of its launches is one of the timing run's.
        assert (
            profile.scalar(
                "SELECT count(*) FROM all_dispatches d JOIN runs USING (run_id)"
                ' WHERE "pass" = 3 AND launch_id IN (SELECT launch_id FROM dispatches)'
            )
            == 30
        )
        found = profile.metrics(["fabric-read-bytes"]).filter(state="value")
        named = profile.scalar(
            "SELECT kernel_id FROM kernels WHERE group_name = $name", {"name": CONFLICT}
        )
        assert found["kernel_id"].to_list() == [named]


def test_what_the_gpu_cannot_measure_is_not_worth_a_word(run: Run) -> None:
    run()

    plan = deeper(run, CONFLICT, metrics=tuple(catalogue.metrics()))

    assert len(plan.passes) > 3
    assert not any("has no counters" in text for text in plan.warnings)


def test_what_is_there_already_is_not_collected_again(run: Run) -> None:
    run()
    collect(deeper(run, CONFLICT), run.events.append)

    with pytest.raises(NothingError, match="holds every metric that can be measured on gfx942"):
        deeper(run, CONFLICT)
    # Of other kernels it is not.
    (added,) = deeper(run, CONFLICT, "copy_strided(float*, float const*, int)").passes
    assert added.metrics == ("fabric-read-bytes", "valu-instructions")


def test_a_failed_pass_of_it_is_resumed_with_its_filter(run: Run, machine: Machine) -> None:
    run()
    machine(fail="TCC_BUBBLE_sum:abort")
    first = collect(deeper(run, CONFLICT), run.events.append)
    assert [each.status for each in first.passes] == ["complete", "complete", "failed"]
    # What failed is tried again, also when more is asked for.
    assert deeper(run, CONFLICT).passes[0].metrics == ("fabric-read-bytes", "valu-instructions")

    machine()
    done = run(resume=first.profile)

    assert [each.status for each in done.passes] == ["complete"] * 3
    with open_profile(done.profile) as profile:
        assert (
            profile.scalar(
                'SELECT count(*) FROM all_dispatches JOIN runs USING (run_id) WHERE "pass" = 3'
            )
            == 30
        )


def test_a_set_that_is_too_large_is_split_with_its_filter(run: Run, machine: Machine) -> None:
    run()
    machine(fail="TCC_BUBBLE_sum:too-many-counters")

    done = collect(deeper(run, CONFLICT), run.events.append)

    assert [(each.status, each.metrics) for each in done.passes[2:]] == [
        ("failed", ("fabric-read-bytes",)),
        ("complete", ("valu-instructions",)),
    ]
    assert all(CONFLICT.split("(")[0] in " ".join(each.argv) for each in done.passes[2:])


def test_the_filter_of_the_first_collection_still_holds(run: Run) -> None:
    run(kernels="^copy")

    with pytest.raises(NothingError, match="no finding names a kernel"):
        deeper(run, CONFLICT)
    (added,) = deeper(run, CONFLICT, "copy_strided(float*, float const*, int)").passes
    assert "transpose" not in " ".join(added.argv)


def test_without_what_collect_wrote_there_is_nothing_to_go_on_with(run: Run) -> None:
    done = run(metrics=())
    shutil.rmtree(done.raw)

    with pytest.raises(InputError, match="nothing that rocperf collect wrote"):
        deeper(run, CONFLICT)


def a_manifest(*passes: Record, kernels: str | None = None) -> Manifest:
    return Manifest(("./app",), "gfx942", {"kernels": kernels}, {}, {}, "", passes)


def a_pass(status: str = "complete", *, came: bool = True, kernels: str | None = None) -> Record:
    counters = ("SQ_WAVES", "GRBM_GUI_ACTIVE", "SQ_LDS_BANK_CONFLICT", "SQ_LDS_IDX_ACTIVE")
    return Record(
        2, "counters", "", (), counters, ("lds-conflict-share",), "pass_2", status,
        received=counters if came else counters[:3], kernels=kernels,
    )  # fmt: skip


ASKED = ("lds-conflict-share", "lds-conflicts-per-access", "coalescing", "waves")


@pytest.mark.parametrize(
    ("found", "had"),
    [
        (a_manifest(a_pass()), {"lds-conflict-share", "lds-conflicts-per-access", "waves"}),
        # What a complete pass did not return is not asked for again; of a failed one it is.
        (a_manifest(a_pass(came=False)), {"lds-conflict-share", "waves"}),
        (a_manifest(a_pass("failed", came=False)), {"waves"}),
        (a_manifest(a_pass(kernels="^(k)")), {"lds-conflict-share", "lds-conflicts-per-access",
                                              "waves"}),
        (a_manifest(a_pass(kernels="^(other)")), set()),
        (a_manifest(a_pass(), kernels="k"), {"lds-conflict-share", "lds-conflicts-per-access",
                                             "waves"}),
        (a_manifest(), set()),
    ],
)  # fmt: skip
def test_what_passes_measured(found: Manifest, had: set[str]) -> None:
    assert measured(found, "^(k)", ASKED) == had


def test_from_the_command_line(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    rocprofv3 = install(tmp_path / "rocm" / "bin")
    install_bindings(rocprofv3)  # only what the simulated GPU lists is planned
    monkeypatch.setenv("ROCPERF_ROCPROFV3", str(rocprofv3))
    needed = pipeline.metrics_needed(pipeline.Selection())
    run(metrics=needed)
    before = read(Path("app.rocperf.raw")).passes
    only = ["--for", "lds-bank-conflicts"]

    assert main(["collect", "--deepen", "app.rocperf", *only, "--dry-run"]) == 0
    shown = capfd.readouterr().out
    assert "Counters of the kernels that findings name:\n   transpose_lds_conflict(" in shown
    assert "copy_strided" not in shown
    assert read(Path("app.rocperf.raw")).passes == before

    assert main(["collect", "--deepen", "app.rocperf", *only, "--stdin", "/dev/null"]) == 0
    after = read(Path("app.rocperf.raw")).passes
    assert len(after) > len(before)
    assert all(each.complete and set(each.counters) == set(each.received) for each in after)
    capfd.readouterr()
    assert main(["collect", "--deepen", "app.rocperf", *only]) == 4
    assert "holds every metric" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--resume", "app.rocperf"], "leave --resume out"),
        (["-o", "b.rocperf"], "leave -o out"),
        (["--kernels", "k"], "leave --kernels out"),
        (["--", "./other"], "leave a program out"),
    ],
)
def test_what_does_not_go_with_it(
    run: Run, capfd: pytest.CaptureFixture[str], more: list[str], said: str
) -> None:
    run(metrics=())

    assert main(["collect", "--deepen", "app.rocperf", *more]) == 2
    assert said in capfd.readouterr().err


def test_a_profile_whose_findings_name_no_kernel(run: Run, tmp_path: Path) -> None:
    run(metrics=())
    names, _ = pipeline.deeper(Path("app.rocperf"), pipeline.Selection(only=("memcpy-bandwidth",)))

    assert names == ()
    with pytest.raises(NothingError, match="no finding names a kernel"):
        deeper(run, *names)


def test_metrics_of_the_analyses_come_first(run: Run) -> None:
    run(metrics=())
    selection = pipeline.Selection(only=("coalescing",))
    needed = pipeline.metrics_needed(selection)

    _, metrics = pipeline.deeper(Path("app.rocperf"), selection)

    assert metrics[: len(needed)] == needed
    assert len(metrics) == len(set(metrics)) > len(needed)
