"""Kernels that wait for others: what shows them, and that counters are not taken of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rocperf.collect import collect, prepare
from rocperf.collect.waiting import waiting
from rocperf.testing.builder import TraceBuilder, us

from .conftest import Run
from .small_profilers import COUNTERS, TRACE, profiler, request, write

_CALLS = (
    '"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp",'
    '"End_Timestamp"\n"HIP_RUNTIME_API","{name}",7,7,1,500,900\n'
)


def found(*kernels: str, call: str = "", correlation: int = 1, **columns: Any) -> tuple[str, ...]:
    trace = TraceBuilder()
    for number, name in enumerate(kernels, 1):
        trace.dispatch(
            name, start=us(10 * number), duration=us(5), correlation_id=number, **columns
        )
    if call:
        trace.call(call, start=0, duration=us(1), correlation_id=correlation)
    with trace.profile() as profile:
        return waiting(profile)


@pytest.mark.parametrize(
    "name",
    [
        "void vllm::cross_device_reduce_1stage<float, 8>(vllm::RankData*)",
        "cross_device_reduce_2stage(float*)",
        "void quickreduce::allreduce_prototype_twoshot<__half>(int)",
        "rocshmem_barrier_all_kernel",
    ],
)
def test_kernels_that_communicate_are_known_by_name(name: str) -> None:
    (text,) = found(name)

    assert text.endswith("(communicates)")


def test_kernels_with_the_role_are_known() -> None:
    assert found("ncclDevKernel_Generic", role="communication") == (
        "ncclDevKernel_Generic (communicates)",
    )


@pytest.mark.parametrize(
    "name",
    [
        "void softmax<BlockAllReduce>(float*)",
        "reduce_cross_device(float*)",
        "gemm(float*, float*)",
        "mycross_device_reduce(int)",
    ],
)
def test_others_are_not(name: str) -> None:
    assert found(name) == ()


@pytest.mark.parametrize(
    "call",
    [
        "hipLaunchCooperativeKernel",
        "hipModuleLaunchCooperativeKernel",
        "hipLaunchCooperativeKernelMultiDevice",
        "hipExtLaunchMultiKernelMultiDevice",
    ],
)
def test_a_cooperative_launch_names_its_kernel(call: str) -> None:
    assert found("step", "other", call=call, correlation=1) == (f"step (launched by {call})",)


def test_a_call_whose_kernel_is_unknown_is_named() -> None:
    assert found("step", call="hipLaunchCooperativeKernel", correlation=99) == (
        "kernels of hipLaunchCooperativeKernel",
    )
    assert found("step", call="ncclAllReduce", correlation=99) == ("kernels of ncclAllReduce",)


def test_ordinary_calls_are_no_sign() -> None:
    for call in ("hipLaunchKernel", "hipMemcpyAsync", "ncclCommInitRank", "ncclGetUniqueId"):
        assert found("step", call=call) == ()


def test_cooperative_kernels_need_to_be_allowed(
    machine: Callable[..., None], tmp_path: Path
) -> None:
    trace = write(tmp_path, "kernel_trace.csv", TRACE.format(name="k", grid=640))
    calls = write(tmp_path, "hip_api_trace.csv", _CALLS.format(name="hipLaunchCooperativeKernel"))
    counted = write(tmp_path, "counter_collection.csv", COUNTERS.format(waves=10))
    path = profiler(tmp_path, f"{trace}\n{calls}", counted)
    told: list[object] = []

    done = collect(prepare(request(path)), told.append)

    assert [each.status for each in done.passes] == ["complete", "missing"]
    assert "k (launched by hipLaunchCooperativeKernel) may wait" in str(done.passes[1].message)
    assert "--allow-serialised" in "\n".join(map(str, told))

    allowed = collect(prepare(request(path, force=True, allow_serialised=True)), told.append)
    assert [each.status for each in allowed.passes] == ["complete", "complete"]


def test_collectives_of_the_simulator_need_to_be_allowed(
    run: Run, machine: Callable[..., None]
) -> None:
    machine(scenario="collective")

    done = run()

    assert [each.status for each in done.passes] == ["complete", "missing"]
    assert "(communicates) may wait for other kernels" in str(done.passes[1].message)
    assert "--resume app.rocperf --allow-serialised runs what is missing" in run.told
    resumed = run(resume=done.profile, allow_serialised=True)
    assert [each.status for each in resumed.passes] == ["complete", "complete"]
