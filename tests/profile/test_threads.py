"""A profile that many threads open at once, as a screen does."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rocperf.profile import open_profile
from rocperf.store import Store


def test_threads_open_one_profile_at_once(tmp_path: Path) -> None:
    path = tmp_path / "p.rocperf"
    with Store.create(path) as store:
        store.commit()

    def ask(number: int) -> int:
        with open_profile(path) as profile:
            return int(profile.scalar("SELECT $n::INTEGER", {"n": number}))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(400))) == list(range(400))
