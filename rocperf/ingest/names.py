"""Kernel names: without the tails of tools, short for people, and what they are for."""

from __future__ import annotations

import re
from collections.abc import Iterable

#: Characters of a short name. A choice of ours: a column of a table at 80 characters.
SHORT = 48

# Tools differ in these tails only.
_TAIL = re.compile(r"(?:\s*\[clone [^\]]*\]|\s*\(\.kd\)|\.intern\.[0-9a-fA-F]+|\.kd)+\s*$")
_MANGLED = re.compile(r"^_Z(?:N?[KVr]*)?(?=\d)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
_ROLES = (
    ("copy", re.compile(r"^__amd_rocclr_copy|^__amd_rocclr_stream(?:Read|Write)")),
    ("fill", re.compile(r"^__amd_rocclr_(?:fill|initHeap)|^fillBuffer")),
    ("communication", re.compile(r"^(?:ncclDevKernel|ncclKernel|rccl|msccl)", re.IGNORECASE)),
)


def group_name(name: str) -> str:
    """Cut the tails that tools add, so that one kernel has one name.

    Parameters
    ----------
    name
        Full name, such as ``k(int) [clone .kd]``.
    """
    return _TAIL.sub("", name) or name


def role(name: str) -> str:
    """Say what a kernel is for: ``copy``, ``fill``, ``communication`` or ``compute``.

    Parameters
    ----------
    name
        Full name.
    """
    return next((word for word, pattern in _ROLES if pattern.search(name)), "compute")


def short_names(groups: Iterable[str]) -> dict[str, str]:
    """Give each kernel a short name that no other one has.

    Parameters
    ----------
    groups
        Names without tails.

    Returns
    -------
    dict
        Short name of each; equal ones get a number.
    """
    taken: set[str] = set()
    short: dict[str, str] = {}
    for group in dict.fromkeys(groups):
        plain = name = shorten(group)
        number = 1
        while name in taken:
            number += 1
            name = f"{plain} #{number}"
        taken.add(name)
        short[group] = name
    return short


def shorten(name: str) -> str:
    """Shorten a name for people: no return type, parameters, template arguments or namespaces.

    Parameters
    ----------
    name
        Name without tails.
    """
    mangled = _MANGLED.match(name)
    text = _last_part(name, mangled.end()) if mangled else _callee(name)
    text = _CONTROL.sub(" ", text).strip() or "unnamed"
    if len(text) <= SHORT:
        return text
    # Tuned kernels differ at their ends as often as at their beginnings.
    half = SHORT // 2
    return f"{text[:half]}…{text[1 - half :]}"


def _last_part(name: str, at: int) -> str:
    """Read the length-prefixed parts of a mangled name; return the last."""
    part = name
    while found := re.compile(r"\d{1,4}").match(name, at):
        end = found.end() + int(found.group())
        if end > len(name) or end == found.end():
            break
        part, at = name[found.end() : end], end
    return part


def _callee(name: str) -> str:
    """Take the function's own name out of a demangled signature."""
    text = name.replace("(anonymous namespace)::", "").replace("'lambda'", "lambda")
    kept: list[str] = []
    depth = 0
    for character in text:
        if character in "<{[":
            depth += 1
        elif character in ">}]":
            depth = max(0, depth - 1)
        elif depth == 0:
            if character == "(":
                break
            kept.append(character)
    words = "".join(kept).strip().rsplit("::", 1)[-1].split()
    return words[-1] if words else text
