"""Nothing of an environment is kept but names that are known to matter."""

from __future__ import annotations

import pytest

from rocperf.ingest.secrets import allowed, reduce, scrub


@pytest.mark.parametrize(
    "name", ["HIP_VISIBLE_DEVICES", "HSA_XNACK", "OMPI_COMM_WORLD_RANK", "RANK", "ROCM_PATH"]
)
def test_names_that_decide_a_run_are_kept(name: str) -> None:
    assert allowed(name)


@pytest.mark.parametrize(
    "name",
    ["EXAMPLE_API_TOKEN", "HOME", "PATH", "AWS_SECRET_ACCESS_KEY", "GPU_CLOUD_API_KEY", "rank"],
)
def test_other_names_are_not(name: str) -> None:
    assert not allowed(name)


def test_an_environment_is_reduced() -> None:
    assert reduce({"RANK": "3", "SOME_TOKEN": "x"}) == {"RANK": "3"}


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("./app --token=abc -n 3", "./app --token=*** -n 3"),
        ("./app --api-key abc 4", "./app --api-key *** 4"),
        ("env API_KEY='a b' ./app", "env API_KEY=*** ./app"),
        ("get https://me:pw@host/x", "get https://***@host/x"),
        ("./app hf_abcdefghijkl", "./app ***"),
        ("./app --tokens-per-second", "./app --tokens-per-second"),
        ("./app -n 3 input.bin", "./app -n 3 input.bin"),
    ],
)
def test_secrets_of_a_command_line_are_masked(text: str, clean: str) -> None:
    assert scrub(text) == clean
