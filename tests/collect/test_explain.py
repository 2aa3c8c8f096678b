"""Each way to fail in its own words."""

from __future__ import annotations

import pytest

from rocperf.collect.explain import Asked, explain
from rocperf.collect.supervise import Ended
from rocperf.collect.verify import Seen

COUNTING = Asked(("SQ_WAVES", "TCC_HIT_sum"), None, "gfx942", {"HSA_XNACK": "1"}, 60.0)
TIMING = Asked((), None, "gfx942", {}, None)
NOTHING = Seen(())


def ended(code: int = 0, how: str = "exited", **left: int) -> Ended:
    return Ended(how, code, 1.0, {pid: name for name, pid in left.items()})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("asked", "code", "log", "kind", "said"),
    [
        (
            COUNTING, -6,
            "F20261201 02:25:12.000000 1 t.cpp:1] Could not construct profile cfg failed with error"
            " code 38: Request exceeds the capabilities of the hardware to collect",
            "capacity", "exceeds what one pass can hold: SQ_WAVES TCC_HIT_sum",
        ),
        (COUNTING, -6, "ROCPROFILER_STATUS_ERROR_EXCEEDS_HW_LIMIT", "capacity", "exceeds"),
        (
            TIMING, 127, "./app: error while loading shared libraries: libsqlite3.so: cannot open",
            "machine", "missing: libsqlite3.so",
        ),
        (
            TIMING, 1, "Fatal error: Failed to resolve path. '/opt/rocm/lib/librocprofiler-sdk.so'"
            " does not exist", "machine", "librocprofiler-sdk.so",
        ),
        (
            TIMING, 0, "ERROR: ld.so: object '/x/librocprofiler-sdk-tool.so' from LD_PRELOAD cannot"
            " be preloaded (cannot open shared object file): ignored.",
            "machine", "librocprofiler-sdk-tool.so",
        ),
        (
            TIMING, 0, "Unable to open /dev/kfd read-write: Permission denied",
            "machine", "no permission to use the GPU",
        ),
        (
            TIMING, 1, "Traceback\nFileNotFoundError: [Errno 2] No such file: './app'",
            "machine", "could not be started",
        ),
        (TIMING, 1, "refused: another profiler instance is active", "failed", "already running"),
        (TIMING, -11, "", "failed", "the program crashed, SIGSEGV"),
        (TIMING, -9, "", "failed", "it was ended, SIGKILL"),
        (TIMING, 1, "[rocprofv3] Fatal error: No application", "failed", "No application"),
        (TIMING, 2, "usage: x\nunknown option --foo", "failed", "code 2: unknown option --foo"),
        (TIMING, 0, "", "nothing", "no kernel dispatch rows"),
        (COUNTING, 0, "", "nothing", "none of the counters may exist on this GPU: SQ_WAVES"),
    ],
)  # fmt: skip
def test_causes(asked: Asked, code: int, log: str, kind: str, said: str) -> None:
    verdict = explain(asked, ended(code), NOTHING, log)

    assert verdict.kind == kind
    assert said in str(verdict.message)


def test_healthy_logs_are_no_causes() -> None:
    seen = Seen(
        ("1_results.db",), 4, counters={"SQ_WAVES": 8.0, "TCC_HIT": 2.0, "TCC_HIT_sum": 2.0}
    )
    log = "E20261201 02:25:12.0 1 o.cpp:110] Opened result file: 1_results.db\npermission denied"

    assert explain(COUNTING, ended(), seen, log) == explain(COUNTING, ended(), seen, "")
    assert explain(COUNTING, ended(), seen, log).message is None


def test_files_without_dispatches_are_named() -> None:
    seen = Seen(("7_agent_info.csv", "7_hip_api_trace.csv"), domains={"api_calls": 1200})

    said = str(explain(TIMING, ended(), seen, "").message)

    assert "7_agent_info.csv, 7_hip_api_trace.csv, which hold 1,200 api_calls" in said


def test_a_time_limit_mentions_xnack_only_where_it_is_unset_and_exists() -> None:
    def said(target: str, **environment: str) -> str:
        asked = Asked((), None, target, environment, 60.0)
        return str(explain(asked, ended(-9, "timeout"), NOTHING, "").message)

    assert "took more than 60 s" in said("gfx942")
    assert "HSA_XNACK=1" in said("gfx942")
    assert "HSA_XNACK" not in said("gfx942", HSA_XNACK="0")
    assert "HSA_XNACK" not in said("gfx1201")


def test_oddities_of_a_pass_that_brought_data() -> None:
    counters = {"SQ_WAVES": 8.0, "GRBM_GUI_ACTIVE": 5.0, "SQ_INSTS_VALU": 0.0, "B": 0.0}
    seen = Seen(("x",), 4, counters=counters, odd_waves=(1, 4))
    asked = Asked(("SQ_WAVES", "GRBM_GUI_ACTIVE", *counters, "C"), None, "gfx1201", {}, None)
    log = "W1201 00:00:00.0 1 a] Device 0 could not be locked for profiling"

    verdict = explain(asked, ended(3, worker=77), seen, log)

    assert verdict.kind == "fine"
    for text in (
        "exit code 3", "requested, not returned: C", "their clock is gated",
        "SQ_WAVES differs from the size of the launch in 1 of 4 dispatches", "CAP_PERFMON",
        "worker (process 77)",
    ):  # fmt: skip
        assert text in str(verdict.message)


def test_a_counter_run_without_any_counter_failed() -> None:
    verdict = explain(COUNTING, ended(), Seen(("x",), 4), "")

    assert (verdict.kind, verdict.message) == (
        "failed", "requested, not returned: SQ_WAVES, TCC_HIT_sum",
    )  # fmt: skip


def test_a_long_list_of_missing_counters_is_cut() -> None:
    asked = Asked(("A", *(f"C{n}" for n in range(9))), None, "gfx942", {}, None)

    verdict = explain(asked, ended(), Seen(("x",), 4, counters={"A": 1.0}), "")

    assert verdict.message == "requested, not returned: C0, C1, C2, C3, C4, C5 and 3 more"
