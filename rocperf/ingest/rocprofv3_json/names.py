"""What records of rocprofv3's JSON name by number, and how their numbers are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

Record = Mapping[str, Any]
Row = tuple[Any, ...]

_MOST = 2**64


@dataclass
class Names:
    """What records name by number.

    Parameters
    ----------
    kinds
        Name and operations of each kind of record, by its number.
    nodes
        Node of each agent's handle.
    kernels
        Name, static LDS, registers of each kernel.
    counters
        Counter of each handle.
    messages
        Text of a marker, by correlation id.
    instructions, comments
        Of sampled code, by place.
    """

    kinds: list[tuple[str, list[str]]] = field(default_factory=list[tuple[str, list[str]]])
    nodes: dict[int, int] = field(default_factory=dict[int, int])
    kernels: dict[int, Row] = field(default_factory=dict[int, Row])
    counters: dict[int, str] = field(default_factory=dict[int, str])
    messages: dict[int, str] = field(default_factory=dict[int, str])
    instructions: list[str] = field(default_factory=list[str])
    comments: list[str] = field(default_factory=list[str])

    def kind(self, record: Record, otherwise: str) -> str:
        """Name the kind of a record, such as ``HIP_RUNTIME_API_EXT``."""
        number = record.get("kind")
        known = isinstance(number, int) and 0 <= number < len(self.kinds)
        return self.kinds[number][0] if known and number is not None else otherwise

    def operation(self, record: Record, otherwise: tuple[str, ...] = ()) -> str:
        """Name the operation of a record, such as ``hipMalloc``."""
        kind, number = record.get("kind"), record.get("operation")
        if not isinstance(number, int) or number < 0:
            return "unknown"
        if isinstance(kind, int) and 0 <= kind < len(self.kinds):
            names = self.kinds[kind][1]
            if number < len(names):
                return names[number]
        return otherwise[number] if number < len(otherwise) else f"operation {number}"


def mapping(value: Any) -> Record:
    """Return an object of JSON; an empty one for anything else."""
    return cast("Record", value) if isinstance(value, dict) else {}


def listing(value: Any) -> list[Any]:
    """Return an array of JSON; an empty one for anything else."""
    items: list[Any] = []
    if isinstance(value, list):
        items.extend(value)  # pyright: ignore[reportUnknownArgumentType]  # of JSON
    return items


def handle(value: Any) -> int | None:
    """Read ``{"handle": 5}`` and ``5``; None when it is neither."""
    return number(mapping(value).get("handle")) if isinstance(value, dict) else number(value)


def number(value: Any) -> int | None:
    """Read an unsigned number of 64 bits; None when it is none."""
    return value if isinstance(value, int) and 0 <= value < _MOST else None


def small(value: Any) -> int | None:
    """Read an unsigned number of 32 bits; None when it is none."""
    return value if isinstance(value, int) and 0 <= value < 2**32 else None


def times(record: Record) -> tuple[int | None, int | None]:
    """Read start and end, nanoseconds; None for both when they cannot be."""
    start, end = number(record.get("start_timestamp")), number(record.get("end_timestamp"))
    if not start or end is None or not start <= end < 2**63:
        return None, None
    return start, end


def correlation(record: Record) -> int | None:
    """Read the id of the call that caused a record."""
    value = record.get("correlation_id")
    return number(mapping(value).get("internal")) if isinstance(value, dict) else number(value)


def agent(value: Any, names: Names) -> int | None:
    """Return the node of an agent; the handle itself when the file does not list it."""
    number = handle(value)
    return None if number is None else names.nodes.get(number, number)


def address(value: Any) -> int | None:
    """Read an address, stated as a number or in hexadecimal."""
    if isinstance(value, dict):
        stated = mapping(value)
        value = stated.get("handle", stated.get("value"))
    if isinstance(value, str):
        try:
            value = int(value, 0)
        except ValueError:
            return None
    return number(value)
