"""A command that is shown on several lines is still one when it is pasted."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocperf.report.command_lines import wrap_command


def test_a_command_that_fits_is_left_alone() -> None:
    assert wrap_command("rocperf collect -- ./app 1", 60, "$ ", "  ") == [
        "$ rocperf collect -- ./app 1"
    ]


def test_a_long_one_goes_on_after_a_backslash() -> None:
    assert wrap_command("rocperf collect --for a,b -- ./app -n 1048576", 31, "  $ ", "    ") == [
        "  $ rocperf collect --for a,b \\",
        "    -- ./app -n 1048576",
    ]


def test_a_word_is_never_broken() -> None:
    long = "x" * 100
    assert wrap_command(f"run {long} 'a  b' end", 20, "$ ", "  ") == [
        "$ run \\",
        f"  {long} \\",
        "  'a  b' end",
    ]


@pytest.mark.parametrize("width", [20, 60])
def test_a_shell_reads_the_same_words(width: int) -> None:
    words = ["rocperf", "collect", "--", "./a b", "it's", "-n", "x" * 50, "", "$HOME", "*"]
    lines = wrap_command(shlex.join(["printf", "%s\\n", *words]), width, "", "  ")
    done = subprocess.run(["sh", "-c", "\n".join(lines)], capture_output=True, check=True)
    assert done.stdout.decode() == "".join(f"{word}\n" for word in words)


@given(st.lists(st.text("abc '\"\\$", max_size=12), min_size=1), st.integers(10, 80))
def test_no_word_is_lost(words: list[str], width: int) -> None:
    lines = wrap_command(shlex.join(words), width, "", "")
    joined = "\n".join(lines).replace(" \\\n", " ")
    assert shlex.split(joined) == words
