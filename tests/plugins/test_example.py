"""The project to copy works as it stands, and so does what the documentation shows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from rocperf import engine
from rocperf.model import Completed
from rocperf.plugin import Plugins, configure
from rocperf.profile import open_profile
from rocperf.testing import TraceBuilder, us

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLE = ROOT / "plugins" / "example"


def test_its_own_tests_pass(tmp_path: Path) -> None:
    folder = tmp_path / "example"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    done = run_pytest(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "10 passed" in done.stdout


def test_its_entry_point_names_what_is_there() -> None:
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    [(name, module)] = project["entry-points"]["rocperf"].items()
    plugins = Plugins()
    plugins.add_file(EXAMPLE / f"{module}.py")
    [row] = plugins.rows()
    assert row.error is None
    assert row.analyses == (name,)


def test_it_runs_as_a_file(tmp_path: Path) -> None:
    trace = TraceBuilder()
    for number in range(30):
        trace.dispatch("scale", start=us(50 * number), duration=us(3))
    plugins = Plugins()
    plugins.add_file(EXAMPLE / "short_kernels.py")
    analyses = configure(plugins.analyses(), ["short-kernels.launches=30"])
    with open_profile(trace.save(tmp_path / "p.rocperf")) as profile:
        [outcome] = engine.analyze(profile, analyses, external=plugins.external())
    assert isinstance(outcome, Completed)
    assert outcome.findings[0].finding.saves_ns == 90_000


def test_the_plugin_that_the_documentation_shows_works(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "how-to" / "write-a-plugin.md").read_text(encoding="utf-8")
    code, test = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    file = tmp_path / "shown.py"
    file.write_text(code, encoding="utf-8")
    plugins = Plugins()
    plugins.add_file(file)
    [row] = plugins.rows()
    assert row.error is None
    assert row.analyses == ("many-launches",)
    done = pytest_of(tmp_path, code + test)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "8 passed" in done.stdout


def pytest_of(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Run the tests in a text."""
    (folder / "test_shown.py").write_text(code, encoding="utf-8")
    return run_pytest(folder)


def run_pytest(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=folder,
        env={k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
        | {"PYTHONPATH": str(folder)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
