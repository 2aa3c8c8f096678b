"""A running analysis is ended from another thread, at once and leaving nothing behind."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rocperf
from rocperf import engine
from rocperf.engine import Stop
from rocperf.errors import InterruptedRunError
from rocperf.plugin import Plugins, configure
from rocperf.profile import Profile
from rocperf.testing import TraceBuilder, us

#: Counting that takes DuckDB minutes on any machine.
LONG = "SELECT count(*) FROM range(3_000_000) a JOIN range(3_000_000) b ON a.range < b.range"

SLEEPER = """
import time
import rocperf

class Sleeper(rocperf.Analysis[rocperf.Options]):
    id, title = "sleeper", "Sleeps"

    def run(self, profile):
        open({mark!r}, "w").close()
        time.sleep(50)
        return []

@rocperf.hookimpl
def rocperf_analyses():
    return [Sleeper]
"""


@pytest.fixture
def profile(trace: TraceBuilder) -> Profile:
    return trace.dispatch("k", start=0, duration=us(7)).profile()


class Endless(rocperf.Analysis[rocperf.Options]):
    """Ask a question without end."""

    id, title = "endless", "Endless"
    begun = threading.Event()

    def run(self, profile: Profile) -> Iterator[rocperf.Finding]:
        """Yield nothing."""
        self.begun.set()
        profile.sql(LONG)
        yield from ()


def stopped_after(profile: Profile, begun: Any, **arguments: Any) -> tuple[float, object]:
    """Analyse in a thread, stop it once it has begun; return seconds until it ended, and how."""
    stop, how = Stop(), list[object]()

    def work() -> None:
        try:
            how.append(engine.analyze(profile, stop=stop, **arguments))
        except BaseException as error:  # noqa: BLE001
            how.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    until = time.monotonic() + 60
    while not begun() and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(0.2)  # into the query
    assert not how
    asked = time.monotonic()
    stop.now()
    thread.join(30)
    return time.monotonic() - asked, how[0] if how else "running still"


def test_a_query_is_broken_off_and_its_outcome_not_kept(profile: Profile) -> None:
    analyses = {"endless": Endless(rocperf.Options()), "second": Endless(rocperf.Options())}
    seconds, how = stopped_after(profile, Endless.begun.is_set, analyses=analyses)
    assert isinstance(how, InterruptedRunError)
    assert seconds < 20
    assert profile.path is not None
    assert not profile.path.with_name(profile.path.name + ".findings.json").exists()
    assert profile.kernel_ns == 7000  # it answers still


def test_a_plugin_of_others_is_ended(profile: Profile, tmp_path: Path) -> None:
    mark, file = tmp_path / "begun", tmp_path / "sleeper.py"
    file.write_text(SLEEPER.format(mark=str(mark)), encoding="utf-8")
    plugins = Plugins()
    plugins.add_file(file)
    seconds, how = stopped_after(
        profile,
        mark.exists,
        analyses=configure(plugins.analyses(), ()),
        external=plugins.external(),
    )
    assert isinstance(how, InterruptedRunError)
    assert seconds < 20


def test_what_was_stopped_before_it_began_does_not_begin(profile: Profile) -> None:
    stop = Stop()
    stop.now()
    with pytest.raises(InterruptedRunError):
        engine.analyze(profile, {"endless": Endless(rocperf.Options())}, stop=stop)


def test_nothing_is_ended_after_its_block() -> None:
    stop, ended = Stop(), list[str]()
    with stop.watching(lambda: ended.append("first")):
        pass
    stop.now()
    time.sleep(0.2)
    assert ended == []
