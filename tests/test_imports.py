"""The command line starts fast: it loads what it needs, when it needs it."""

from __future__ import annotations

import subprocess
import sys

HEAVY = {"duckdb", "polars", "pyarrow", "textual", "ijson"}


def loaded_by(code: str) -> set[str]:
    """Run code in a new interpreter and return the top-level modules it loaded."""
    packages = "sorted({name.partition('.')[0] for name in sys.modules})"
    printing = f"import sys\n{code}\nprint('LOADED', *{packages})"
    done = subprocess.run(
        [sys.executable, "-c", printing], capture_output=True, text=True, check=True, timeout=60
    )
    last = done.stdout.splitlines()[-1].split()
    assert last[0] == "LOADED"
    return set(last[1:])


def run_and_load(*arguments: str) -> set[str]:
    """Run the command line in a new interpreter, whatever it exits with."""
    return loaded_by(
        "from rocperf.cli import main\n"
        f"try:\n    main({list(arguments)!r})\nexcept SystemExit:\n    pass"
    )


def test_help_loads_nothing_heavy() -> None:
    assert not run_and_load("--help") & HEAVY


def test_help_of_a_verb_loads_nothing_heavy() -> None:
    for verb in ("collect", "ingest", "analyze", "view", "query", "demo"):
        assert not run_and_load(verb, "--help") & HEAVY, verb


def test_the_version_loads_nothing_heavy() -> None:
    assert not run_and_load("--version") & HEAVY


def test_the_test_sees_a_heavy_import() -> None:
    assert "polars" in loaded_by("import polars")


def test_public_names_are_all_there() -> None:
    code = "import rocperf\nfor name in rocperf.__all__: getattr(rocperf, name)"
    assert "duckdb" in loaded_by(code)
