"""Plugins that raise, exit, hang, crash, print or lie spoil nothing but their own outcome."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from rocperf import engine
from rocperf.model import Completed, Failed, Outcome, Skipped
from rocperf.plugin import Plugins, configure
from rocperf.profile import Profile
from rocperf.testing import TraceBuilder, us

PLUGIN = """
import rocperf
from rocperf import Finding, Subject
{top}

def finding(**other):
    values = dict(rule="{id}/x", subject=Subject("kernel", "k"), title="t", advice="a",
                  saves_ns=None, reasoning="r")
    return Finding(**(values | other))

class Bad(rocperf.Analysis[rocperf.Options]):
    id, title = "{id}", "A plugin"

    def run(self, profile):
{body}

@rocperf.hookimpl
def rocperf_analyses():
    return [Bad]
"""

GOOD = 'yield finding(title=f"{profile.kernel_ns} ns")'

#: What `run` does -> a part of the reason that must be given.
BODIES = {
    "raises": ("raise RuntimeError('boom')", "RuntimeError: boom"),
    "exits": ("import sys; sys.exit(0)", "SystemExit"),
    "interrupts": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "ends": ("import os; os._exit(3)", "exit code 3"),
    "crashes": ("import os; os.kill(os.getpid(), 11)", "SIGSEGV"),
    "sleeps": ("import time; time.sleep(600)", "more than 8 s"),
    "spins": ("while True: pass", "more than 8 s"),
    "nothing": ("return None", "TypeError"),
    "garbage": ("return [{'severity': object()}]", "yielded a dict"),
    "cyclic": ("a = []; a.append(a); return [a]", "yielded a list"),
    "endless": ("while True: yield finding()", "more than 10,000 findings"),
    "large": ("return [bytearray(5 * 10**9)]", "MemoryError"),
    "drops": ("profile.sql('DROP TABLE all_dispatches'); return []", "read-only"),
    "prints": ("print('\\x1b[2J spoiled'); return []", "it printed"),
    "warns": ("import sys; sys.stderr.write('careful'); return []", "it printed 'careful'"),
    "negative": ("yield finding(saves_ns=-1)", "saves_ns"),
    "fraction": ("yield finding(saves_ns=1.5)", "saves_ns"),
    "title": ("yield finding(title=7)", "title must be text"),
    "unsure": ("yield finding(confidence='fairly')", "confidence"),
    "rule": ("yield finding(rule='other/x')", "other/x"),
    "noise": ("print('y' * 10**7); raise ValueError('after much noise')", "after much noise"),
    "closes": ("import os; [os.close(n) for n in range(3, 64)]; return []", ""),
}


def plugin(folder: Path, name: str, body: str, top: str = "") -> Path:
    path = folder / f"{name}.py"
    lines = textwrap.indent(textwrap.dedent(body), " " * 8)
    path.write_text(PLUGIN.format(id=name, top=top, body=lines), encoding="utf-8")
    return path


@pytest.fixture
def profile(trace: TraceBuilder) -> Profile:
    return trace.dispatch("k", start=0, duration=us(7)).profile()


def ask(profile: Profile, *files: Path, limit_s: float = 30) -> dict[str, Outcome]:
    plugins = Plugins()
    for file in files:
        plugins.add_file(file)
    assert [row.error for row in plugins.rows()] == [None] * len(files)
    analyses = configure(plugins.analyses(), [])
    outcomes = engine.analyze(profile, analyses, external=plugins.external(), limit_s=limit_s)
    return {outcome.analysis: outcome for outcome in outcomes}


@pytest.mark.parametrize("name", BODIES)
def test_a_bad_plugin_fails_alone(
    name: str, profile: Profile, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    body, reason = BODIES[name]
    bad = plugin(tmp_path, f"m-{name}", body)
    # One healthy plugin before it and one after it, in the order in which they run.
    first, last = plugin(tmp_path, "a-good", GOOD), plugin(tmp_path, "z-good", GOOD)
    outcomes = ask(profile, first, bad, last, limit_s=8)
    failed = outcomes[f"m-{name}"]
    assert isinstance(failed, Failed)
    assert reason in failed.error
    assert len(failed.error.splitlines()) == 1
    for good in ("a-good", "z-good"):
        done = outcomes[good]
        assert isinstance(done, Completed)
        assert [ranked.finding.title for ranked in done.findings] == ["7000 ns"]
    assert capfd.readouterr() == ("", "")
    assert profile.scalar("SELECT count(*) FROM all_dispatches") == 1


#: What the module does when it is imported -> a part of the reason that must be given.
TOPS = {
    "absent": ("import does_not_exist_xyz", "No module named 'does_not_exist_xyz'"),
    "syntax": ("def broken(:", "SyntaxError"),
    "exits": ("raise SystemExit(0)", "SystemExit"),
    "interrupts": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "ends": ("import os; os._exit(0)", "exit code 0"),
    "spins": ("while True: pass", "more than 8 s"),
    "prints": ("print('hello')", "it printed 'hello'"),
}


@pytest.mark.parametrize("name", TOPS)
def test_a_plugin_that_cannot_be_imported_is_a_row(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    top, reason = TOPS[name]
    plugins = Plugins(limit_s=8)
    plugins.add_file(plugin(tmp_path, name, GOOD, top))
    plugins.add_file(plugin(tmp_path, "good", GOOD))
    broken, good = plugins.rows()
    assert (broken.name, broken.analyses) == (name, ())
    assert broken.error is not None
    assert reason in broken.error
    assert (good.analyses, good.error) == (("good",), None)
    assert list(plugins.analyses()) == ["good"]
    assert capfd.readouterr() == ("", "")


def test_a_plugin_is_never_imported_in_this_process(profile: Profile, tmp_path: Path) -> None:
    witness = tmp_path / "pid"
    top = f"import os; open({str(witness)!r}, 'w').write(str(os.getpid()))"
    ask(profile, plugin(tmp_path, "good", GOOD, top))
    assert int(witness.read_text(encoding="utf-8")) != os.getpid()
    assert not any(name.startswith("rocperf_plugin_") for name in sys.modules)


def test_plugins_share_one_process_until_one_fails(profile: Profile, tmp_path: Path) -> None:
    pid = "import os; yield finding(title=str(os.getpid()))"
    files = [plugin(tmp_path, name, pid) for name in ("a", "b", "d")]
    files.append(plugin(tmp_path, "c", "raise ValueError"))
    outcomes = ask(profile, *files)
    titles = {
        name: outcome.findings[0].finding.title
        for name, outcome in outcomes.items()
        if isinstance(outcome, Completed)
    }
    assert titles["a"] == titles["b"] != titles["d"]


def test_a_plugin_may_say_that_it_cannot_judge(profile: Profile, tmp_path: Path) -> None:
    """That is no failure: the process goes on."""
    pid = "import os; yield finding(title=str(os.getpid()))"
    files = [plugin(tmp_path, name, pid) for name in ("a", "c")]
    files.append(plugin(tmp_path, "b", "raise rocperf.UnjudgedError('no clocks')"))
    files.append(plugin(tmp_path, "h", "raise rocperf.UnjudgedError('no faults', hint='do')"))
    outcomes = ask(profile, *files)
    assert outcomes["b"] == Skipped("b", ("no clocks",), "rocperf collect --for b -- ./app")
    assert outcomes["h"] == Skipped("h", ("no faults",), "do")
    first, last = outcomes["a"], outcomes["c"]
    assert isinstance(first, Completed)
    assert isinstance(last, Completed)
    assert first.findings[0].finding.title == last.findings[0].finding.title


def test_nothing_in_the_current_folder_is_loaded(
    profile: Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = tmp_path / "here"
    trap.mkdir()
    for name in ("rocperf", "polars", "duckdb", "json", "sitecustomize"):
        (trap / f"{name}.py").write_text("raise SystemExit('trapped')", encoding="utf-8")
    monkeypatch.chdir(trap)
    outcomes = ask(profile, plugin(tmp_path, "good", GOOD))
    assert isinstance(outcomes["good"], Completed)


def test_the_region_reaches_the_worker(tmp_path: Path) -> None:
    trace = TraceBuilder().marker("step", start=0, duration=us(10))
    trace.dispatch("k", start=us(1), duration=us(3)).dispatch("k", start=us(50), duration=us(4))
    from rocperf.profile import open_profile

    path = trace.save(tmp_path / "p.rocperf")
    with open_profile(path, region="step") as profile:
        outcome = ask(profile, plugin(tmp_path, "good", GOOD))["good"]
    assert isinstance(outcome, Completed)
    assert outcome.findings[0].finding.title == "3000 ns"


CTRL_C = """
import sys
from pathlib import Path
import rocperf
from rocperf import engine
from rocperf.plugin import Plugins, configure
plugins = Plugins()
plugins.add_file(Path(sys.argv[2]))
with rocperf.open(sys.argv[1]) as profile:
    print("started", flush=True)
    engine.analyze(profile, configure(plugins.analyses(), []), external=plugins.external())
print("went on", flush=True)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_ending_rocperf_ends_the_plugin(how: signal.Signals, tmp_path: Path) -> None:
    """Ctrl-C is the user's, whatever a plugin does; and a kill leaves no process behind."""
    witness = tmp_path / "pid"
    body = f"import os; open({str(witness)!r}, 'w').write(str(os.getpid()))\nwhile True: pass"
    path = TraceBuilder().dispatch("k", start=0, duration=us(7)).save(tmp_path / "p.rocperf")
    bad = plugin(tmp_path, "spins", body)
    process = subprocess.Popen(
        [sys.executable, "-c", CTRL_C, str(path), str(bad)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "started\n"
        wait_for(lambda: witness.exists() and bool(witness.read_text(encoding="utf-8")))
        process.send_signal(how)
        assert process.wait(timeout=20) == -how
        assert "went on" not in process.stdout.read()
    finally:
        process.kill()
        process.stdout.close()
    child = int(witness.read_text(encoding="utf-8"))
    wait_for(lambda: not running(child))


def wait_for(condition: object, seconds: float = 20) -> None:
    assert callable(condition)
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.05)


def running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
