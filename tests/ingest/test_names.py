"""Kernel names: one name a kernel, short for people, and never two kernels under one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocperf.ingest.names import SHORT, group_name, role, short_names, shorten


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("k(int*) [clone .kd]", "k(int*)"),
        ("k(int*) (.kd)", "k(int*)"),
        ("_Z1kPi.kd", "_Z1kPi"),
        ("_Z1kPi.intern.0f3A.kd", "_Z1kPi"),
        ("k(int*) [clone .intern.ab] [clone .kd]", "k(int*)"),
        ("k(int*)", "k(int*)"),
        (".kd", ".kd"),  # a name of nothing but a tail is kept
        ("", ""),
        ("f(lambda [clone .kd] x)", "f(lambda [clone .kd] x)"),  # in the middle it is no tail
    ],
)
def test_tails_that_tools_add_are_cut(name: str, group: str) -> None:
    assert group_name(name) == group


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("__amd_rocclr_copyBuffer", "copy"),
        ("__amd_rocclr_copyBufferRect.kd", "copy"),
        ("__amd_rocclr_fillBufferAligned", "fill"),
        ("ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", "communication"),
        ("my_copy(float*)", "compute"),
        ("use__amd_rocclr_copyBuffer", "compute"),
    ],
)
def test_a_kernel_that_copies_or_communicates_is_known_by_name(name: str, word: str) -> None:
    assert role(name) == word


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("void ns::inner::gemm<float, 128>(float*, int)", "gemm"),
        ("(anonymous namespace)::step(double)", "step"),
        ("vector_add(float*, float const*)", "vector_add"),
        ("_ZN2at6native17vectorized_kernelILi4EEEvi", "vectorized_kernel"),
        ("Cijk_Ailk_Bljk_SB_MT64x64x16", "Cijk_Ailk_Bljk_SB_MT64x64x16"),
        ("a\x1b\x07b", "a b"),
        ("", "unnamed"),
    ],
)
def test_short_names(name: str, short: str) -> None:
    assert shorten(name) == short


def test_a_long_name_keeps_both_ends() -> None:
    name = "Cijk_" + "x" * 10_000 + "_MT64x32"
    short = shorten(name)
    assert len(short) == SHORT
    assert short.startswith("Cijk_")
    assert short.endswith("_MT64x32")
    assert "…" in short


def test_names_that_differ_only_in_the_middle_get_numbers() -> None:
    names = [f"Cijk_{'a' * 5000}{letter}{'b' * 5000}" for letter in "xyz"]
    found = short_names(names)
    assert len(set(found.values())) == 3
    assert [each[-3:] for each in found.values()][1:] == [" #2", " #3"]


def test_a_number_that_is_taken_is_not_given_again() -> None:
    # `a #2` is the name of a kernel already when the second `a` asks for it.
    found = short_names(["n1::a #2", "n1::a", "n2::a", "n3::a"])
    assert len(set(found.values())) == 4


@given(st.lists(st.text(max_size=120), unique=True, max_size=12))
def test_short_names_are_short_unlike_and_without_controls(groups: list[str]) -> None:
    found = short_names(groups)
    assert set(found) == set(groups)
    assert len(set(found.values())) == len(groups)
    for short in found.values():
        assert 0 < len(short) <= SHORT + len(f" #{len(groups)}")
        assert not any(ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 for c in short)


@given(st.text(max_size=60))
def test_cutting_a_tail_twice_cuts_no_more(name: str) -> None:
    assert group_name(group_name(name)) == group_name(name)
    assert group_name(f"{name}x [clone .kd]") == f"{name}x"
