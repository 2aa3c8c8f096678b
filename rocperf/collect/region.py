"""Name a part of a Python program, so that it can be collected and analysed on its own."""

from __future__ import annotations

import ctypes
import importlib
from contextlib import ContextDecorator
from functools import cache
from types import TracebackType
from typing import Any, Protocol, Self

#: Names of the C library: under rocprofv3 one of them is loaded already.
_LIBRARIES = (
    "librocprofiler-sdk-roctx.so",
    "librocprofiler-sdk-roctx.so.1",
    "librocprofiler-sdk-roctx.so.0",
)


class _Ranges(Protocol):
    def push(self, message: str) -> object: ...

    def pop(self) -> object: ...


class _Nothing:
    def push(self, message: str) -> None:
        """Do nothing."""

    def pop(self) -> None:
        """Do nothing."""


class _Module:
    def __init__(self, module: Any) -> None:
        self.push = module.rangePush
        self.pop = module.rangePop


class _Library:
    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        library.roctxRangePushA.argtypes = [ctypes.c_char_p]

    def push(self, message: str) -> object:
        """Open a range."""
        return self._library.roctxRangePushA(message.encode("utf-8", "replace"))

    def pop(self) -> object:
        """Close the innermost range."""
        return self._library.roctxRangePop()


@cache
def _ranges() -> _Ranges:
    """Find roctx: ROCm's Python module, else its C library, else nothing."""
    try:
        return _Module(importlib.import_module("roctx"))
    except (ImportError, AttributeError):
        pass
    for name in _LIBRARIES:
        try:
            return _Library(ctypes.CDLL(name))
        except (OSError, AttributeError):
            continue
    return _Nothing()


class region(ContextDecorator):  # noqa: N801  # used as a function: @rocperf.region("step")
    """Mark a part of a program with a roctx range; without ROCm it does nothing.

    Parameters
    ----------
    name
        Text of the range, as given to ``rocperf analyze --region``.

    Examples
    --------
    >>> with region("load"):
    ...     data = [1, 2, 3]
    >>> @region("step")
    ... def step() -> int:
    ...     return sum(data)
    >>> step()
    6
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> Self:
        _ranges().push(self.name)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _ranges().pop()
