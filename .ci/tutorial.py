"""Write the output of every command that the tutorial shows, or check that it is current.

A ``console`` block begins with ``$ rocperf …``; what follows is its standard output. The
commands run one after the other in an empty folder. With ``--check`` nothing is changed. Where
the machine's own paths would be shown, it says ``./app``.
"""

from __future__ import annotations

import difflib
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "tutorials" / "first-profile.md"
_BLOCK = re.compile(r"^```console\n\$ rocperf ([^\n]*)\n.*?^```$", re.MULTILINE | re.DOTALL)
#: The program of the demo as it is run, which differs from machine to machine.
_PROGRAM = re.compile(r"\S*python[\d.]* \S*demo_program\.py")


def main(arguments: list[str]) -> int:
    """Run the commands; write or compare."""
    old = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        new = _BLOCK.sub(lambda match: _block(match.group(1), Path(folder)), old)
    if new == old:
        return 0
    if arguments != ["--check"]:
        PAGE.write_text(new, encoding="utf-8")
        return 0
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), "tutorial", "now", lineterm="")
    print(*lines, sep="\n")
    print("run: python .ci/tutorial.py")
    return 1


def _block(command: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "rocperf", *shlex.split(command)],
        cwd=folder,
        env=os.environ | {"NO_COLOR": "1", "XDG_CACHE_HOME": str(folder / ".cache")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if done.returncode:
        raise SystemExit(f"rocperf {command}: exit {done.returncode}\n{done.stderr}")
    lines = [line.rstrip() for line in _portable(done.stdout).rstrip().splitlines()]
    return "\n".join(["```console", f"$ rocperf {command}", *lines, "```"])


def _portable(text: str) -> str:
    """Name the program alike on every machine; a command is one line again where it was broken."""
    whole = re.sub(r" \\\n +", " ", text)
    return _PROGRAM.sub("./app", whole) if _PROGRAM.search(whole) else text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
