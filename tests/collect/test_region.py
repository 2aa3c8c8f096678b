"""Regions through ROCm's module, its C library, or nothing."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator

import pytest

import rocperf
from rocperf.collect import region as regions
from rocperf.collect.regions import pattern


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    regions._ranges.cache_clear()
    yield
    regions._ranges.cache_clear()


def test_the_module_is_told_of_both_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[object] = []
    module = types.ModuleType("roctx")
    module.rangePush = said.append  # type: ignore[attr-defined]
    module.rangePop = lambda: said.append(None)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "roctx", module)

    @rocperf.region("step")
    def step() -> int:
        return 6

    with rocperf.region("outer"):
        assert step() == 6
    with pytest.raises(ZeroDivisionError), rocperf.region("fails"):
        _ = 1 // 0

    assert said == ["outer", "step", None, None, "fails", None]


def test_the_library_stands_in_for_the_module(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[object] = []

    class Function:
        argtypes: object = None

        def __call__(self, *words: object) -> int:
            said.append(words)
            return 0

    class Library:
        def __init__(self, name: str) -> None:
            if name != "librocprofiler-sdk-roctx.so.1":
                raise OSError(name)
            self.roctxRangePushA = Function()
            self.roctxRangePop = Function()

    monkeypatch.setitem(sys.modules, "roctx", None)
    monkeypatch.setattr(regions.ctypes, "CDLL", Library)

    with rocperf.region("größer"):
        pass

    assert said == [("größer".encode(),), ()]


def test_without_either_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "roctx", None)
    monkeypatch.setattr(regions.ctypes, "CDLL", _absent)

    with rocperf.region("x"):
        pass

    assert isinstance(regions._ranges(), regions._Nothing)


def _absent(name: str) -> None:
    raise OSError(name)


@pytest.mark.parametrize(
    ("names", "kernels", "text"),
    [
        (["k(int*)"], None, r"^(k\(int\*\))"),
        (["a<1>", "b[2]"], None, r"^(a<1>|b\[2\])"),
        (["gemm_a", "copy"], "^gemm", "^(gemm_a)"),
        (["copy"], "^gemm", None),
        ([], None, None),
        (["x" * 100_001], None, "."),
    ],
)
def test_kernels_as_a_filter(names: list[str], kernels: str | None, text: str | None) -> None:
    assert pattern(names, kernels) == text
