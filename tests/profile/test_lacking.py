"""What an analysis lacks, and the reason that the passes give."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rocperf.model import Requires
from rocperf.profile import open_profile
from rocperf.profile.lacking import Lack
from rocperf.store import Store

SHARE = Requires(metrics=("lds-conflict-share",))
ASKED = ("SQ_LDS_BANK_CONFLICT", "SQ_LDS_IDX_ACTIVE")
ABORTED = {
    "pass": 3,
    "exit_code": -6,
    "message": "ended by signal 6 (it was ended, SIGABRT); nothing was written",
}

Collected = Callable[..., Path]


@pytest.fixture
def collected(tmp_path: Path) -> Collected:
    """Return a maker of profiles whose passes were to bring two counters."""

    def make(*passes: dict[str, Any], came: tuple[str, ...] = ()) -> Path:
        rows: dict[str, list[dict[str, Any]]] = {
            "runs": [{"run_id": 1, "process_id": 1, "role": "timing", "status": "complete"}],
            "agents": [{"run_id": 1, "agent_id": 4, "kind": "GPU", "target": "gfx942"}],
            "passes": [{"role": "counters", "status": "failed"} | each for each in passes],
            "requested_counters": [
                {"pass": each["pass"], "counter": counter, "received": counter in came}
                for each in passes
                for counter in ASKED
            ],
            "counter_values": [
                {"run_id": 1, "dispatch_id": 1, "counter": counter, "value": 1.0}
                for counter in came
            ],
        }
        with Store.create(tmp_path / "app.rocperf", replace=True) as store:
            for table, each in rows.items():
                if each:
                    store.append(table, pl.DataFrame(each, infer_schema_length=None))
            return store.commit()

    return make


def missing(path: Path, requires: Requires = SHARE) -> tuple[str, ...]:
    with open_profile(path) as profile:
        return profile.missing(requires)


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (ABORTED, "pass 3 ended by signal 6"),
        (
            {"pass": 2, "message": "took more than 60 s and was ended; nothing was written"},
            "pass 2 failed: took more than 60 s and was ended",
        ),
        ({"pass": 2, "exit_code": 1}, "pass 2 failed"),
        ({"pass": 2, "status": "interrupted", "message": "x"}, "pass 2 was interrupted"),
        ({"pass": 2, "status": "missing"}, "pass 2 was not run"),
        (
            {"pass": 2, "status": "missing", "message": "not run: k waits; --allow-serialised"},
            "pass 2 was not run: k waits",
        ),
        ({"pass": 2, "status": "complete"}, "asked for in pass 2, which did not return them"),
    ],
)
def test_the_pass_that_was_to_bring_counters_says_why(
    collected: Collected, one: dict[str, Any], why: str
) -> None:
    assert missing(collected(one)) == (f"counters {', '.join(ASKED)} (unavailable: {why})",)


def test_a_long_message_is_cut(collected: Collected) -> None:
    (text,) = missing(collected({"pass": 2, "message": "x" * 5000}))

    assert 150 < text.count("x") <= 160


def test_only_what_is_missing_is_named(collected: Collected) -> None:
    (text,) = missing(collected(ABORTED, came=(ASKED[0],)))

    assert text == f"counters {ASKED[1]} (unavailable: pass 3 ended by signal 6)"
    assert missing(collected(ABORTED, came=ASKED)) == ()


def test_every_pass_that_failed_is_named_once(collected: Collected) -> None:
    (text,) = missing(collected({"pass": 2, "exit_code": -6}, {"pass": 4, "exit_code": -11}))

    assert text.endswith(
        "(unavailable: pass 2 ended by signal 6; pass 4 ended by signal 11)"
    )  # fmt: skip


def test_what_nobody_asked_for_has_no_reason(collected: Collected) -> None:
    assert missing(collected()) == (f"counters {', '.join(ASKED)}",)


def test_metrics_that_lack_for_one_reason_are_named_together(collected: Collected) -> None:
    both = Requires(metrics=("lds-conflict-share", "lds-conflicts-per-instruction"))

    assert missing(collected(), both) == (
        "counters SQ_LDS_BANK_CONFLICT, SQ_LDS_IDX_ACTIVE, SQ_INSTS_LDS",
    )


def test_alternatives_say_one_reason_once(collected: Collected) -> None:
    either = Requires(any_of=((("lds-conflict-share",), ("lds-conflicts-per-instruction",)),))

    assert missing(collected(ABORTED), either) == (
        "counters SQ_LDS_BANK_CONFLICT, SQ_LDS_IDX_ACTIVE or counters SQ_LDS_BANK_CONFLICT,"
        " SQ_INSTS_LDS (unavailable: pass 3 ended by signal 6)",
    )


def test_unfinished_passes_are_gone_on_with(collected: Collected) -> None:
    path = collected(ABORTED)
    with open_profile(path) as profile:
        assert profile.command_for("x", SHARE) == "rocperf collect --for x -- ./app"
        path.with_name("app.rocperf.raw").mkdir()
        assert profile.command_for("x", SHARE) == f"rocperf collect --resume {path}"
        # Nobody asked for the counters of this one: going on would not bring them.
        coalescing = Requires(metrics=("coalescing",))
        assert profile.command_for("x", coalescing) == "rocperf collect --for x -- ./app"
        assert profile.command_for("x") == "rocperf collect --for x -- ./app"
    with open_profile(collected(ABORTED | {"status": "complete"})) as profile:
        assert profile.command_for("x", SHARE) == "rocperf collect --for x -- ./app"


def test_rows_of_a_timing_run_that_failed_are_gone_on_for(collected: Collected) -> None:
    path = collected({"pass": 1, "role": "timing", "exit_code": -6})
    path.with_name("app.rocperf.raw").mkdir()
    copies = Requires(tables=("copies",))
    with open_profile(path) as profile:
        assert profile.missing(copies) == ("rows in copies",)
        assert profile.command_for("x", copies) == f"rocperf collect --resume {path}"


def test_what_the_program_does_not_do_has_no_command(collected: Collected) -> None:
    copies = Requires(tables=("copies",))
    with open_profile(collected({"pass": 1, "role": "timing", "status": "complete"})) as profile:
        assert profile.missing(copies) == ("rows in copies (the timing run recorded none)",)
        assert profile.command_for("x", copies) is None
    with open_profile(collected()) as profile:  # of somebody else: what was traced is not known
        assert profile.missing(copies) == ("rows in copies",)
        assert profile.command_for("x", copies) == "rocperf collect --for x -- ./app"


def test_a_metric_that_no_gpu_of_the_profile_has_comes_with_no_command(tmp_path: Path) -> None:
    agent = {"run_id": 1, "agent_id": 4, "kind": "GPU", "target": "gfx1201"}
    with Store.create(tmp_path / "radeon.rocperf") as store:
        store.append("agents", pl.DataFrame([agent]))
        path = store.commit()
    lines, share = "lines-per-vmem", "lds-conflict-share"
    with open_profile(path) as profile:
        assert profile.missing(Requires(metrics=(lines,))) == (
            f"{lines} (not available on gfx1201)",
        )
        assert profile.command_for("x", Requires(metrics=(lines,))) is None
        assert profile.command_for("x", Requires(any_of=(((lines,),),))) is None
        assert profile.command_for("x", Requires(any_of=(((lines,), (share,)),))) is not None


def test_what_was_held_back_needs_to_be_allowed(collected: Collected) -> None:
    message = "not run: k may wait for other kernels; --allow-serialised runs them nevertheless"
    path = collected({"pass": 2, "status": "missing", "message": message})
    path.with_name("app.rocperf.raw").mkdir()

    with open_profile(path) as profile:
        command = profile.command_for("x", SHARE)

    assert command == f"rocperf collect --resume {path} --allow-serialised"


def test_of_many_names_the_first_are_told_and_the_others_counted() -> None:
    six = tuple("ABCDEF")
    assert str(Lack(six, counters=True)) == "counters A, B, C, D, E, F"
    assert str(Lack((*six, "G"), "why", counters=True)) == "counters A, B, C, D and 3 more (why)"


def test_where_the_gpu_is_not_known_collecting_would_tell(tmp_path: Path) -> None:
    with Store.create(tmp_path / "csv.rocperf") as store:
        path = store.commit()
    one = Requires(metrics=("fabric-read-bandwidth",))
    with open_profile(path) as profile:
        (text,) = profile.missing(one)
        assert "on unknown" not in text
        assert profile.command_for("x", one) == "rocperf collect --for x -- ./app"
