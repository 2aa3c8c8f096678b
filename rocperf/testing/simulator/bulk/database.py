"""Big databases, row by row into the tables of an ordinary one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rocperf.testing.simulator.bulk.workload import (
    CALLS,
    COPY_EVERY,
    COUNTERS,
    DIRECTIONS,
    PERIOD,
    START,
    Kind,
    begin,
    copy_beside,
    seed,
)
from rocperf.testing.simulator.counters import counters_of
from rocperf.testing.simulator.recording import Dispatch
from rocperf.testing.simulator.request import Session
from rocperf.testing.simulator.rocpd_file import write_rocpd


def write_database(prefix: Path, run: str, count: int, kinds: list[Kind]) -> None:
    """Let the ordinary writer make the database for one dispatch, then fill its tables."""
    empty = seed(run, kinds)
    first = Dispatch(1, 2, kinds[0].kernel_id, kinds[0].launch, 0, 1, START, START + 1, False)
    empty = replace(empty, dispatches=(first,))
    (path,) = write_rocpd(empty, prefix)
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous=off")
        connection.execute("PRAGMA journal_mode=off")
        connection.execute("BEGIN")
        _Filler(connection, run, count, kinds, empty.session).fill()
        connection.execute("COMMIT")
    finally:
        connection.close()


class _Filler:
    def __init__(
        self,
        connection: sqlite3.Connection,
        run: str,
        count: int,
        kinds: list[Kind],
        session: Session,
    ) -> None:
        self._connection, self._run, self._count, self.kinds = connection, run, count, kinds
        (uuid,) = connection.execute("SELECT value FROM rocpd_metadata WHERE tag='uuid'").fetchone()
        (self._guid,) = connection.execute(
            "SELECT value FROM rocpd_metadata WHERE tag='guid'"
        ).fetchone()
        self._suffix: str = uuid
        self._own = (session.node, session.pid)
        self._names: dict[str, int] = {}
        for number, text in connection.execute("SELECT id, string FROM rocpd_string"):
            self._names[text] = number

    def fill(self) -> None:
        for table in ("event", "kernel_dispatch"):
            self._connection.execute(f'DELETE FROM "rocpd_{table}{self._suffix}"')
        for name in ("KERNEL_DISPATCH", "HIP_RUNTIME_API_EXT", "MEMORY_COPY", *CALLS):
            self._string(name)
        for direction, _, _ in DIRECTIONS:
            self._string(f"MEMORY_COPY_{direction}")
        self._insert("event", self._events())
        self._insert("kernel_dispatch", self._dispatches())
        if self._run == "counters":
            self._insert("pmc_event", self._values())
        else:
            self._insert("region", self._regions())
            self._insert("memory_copy", self._copies())

    def _string(self, text: str) -> None:
        if text not in self._names:
            self._names[text] = len(self._names) + 1
            self._insert("string", iter([(self._names[text], self._guid, text)]))

    def _insert(self, table: str, rows: Iterator[tuple[object, ...]]) -> None:
        first = next(rows, None)
        if first is None:
            return
        sql = f'INSERT INTO "rocpd_{table}{self._suffix}" VALUES ({",".join("?" * len(first))})'
        self._connection.execute(sql, first)
        self._connection.executemany(sql, rows)

    def _events(self) -> Iterator[tuple[object, ...]]:
        """Of dispatches (1 to n), then of calls (to 5 n), then of copies."""
        guid, count = self._guid, self._count
        kernel, call, copy = (
            self._names[n] for n in ("KERNEL_DISPATCH", "HIP_RUNTIME_API_EXT", "MEMORY_COPY")
        )
        for n in range(count):
            stack = 4 * n + 2
            yield n + 1, guid, kernel, stack, stack, 0, "{}", "{}", "{}"
        if self._run == "counters":
            return
        for n in range(4 * count):
            yield count + n + 1, guid, call, n + 1, 0, 0, "{}", "{}", "{}"
        for turn, n in enumerate(range(0, count, COPY_EVERY)):
            stack = 4 * n + 1
            yield 5 * count + turn + 1, guid, copy, stack, stack, 0, "{}", "{}", "{}"

    def _dispatches(self) -> Iterator[tuple[object, ...]]:
        node, pid = self._own
        fixed = [
            (k.kernel_id, (k.launch.kernel.scratch, k.launch.lds, *k.launch.workgroup,
                           *k.launch.grid), k.duration[self._run])
            for k in self.kinds
        ]  # fmt: skip
        for n in range(self._count):
            kernel, sizes, duration = fixed[n % 8]
            start, stream = begin(self._run, n), n & 1
            yield (n + 1, self._guid, node, pid, pid, 1, kernel, n + 1, stream + 1, stream, start,
                   start + duration, *sizes, 1, n + 1, "{}")  # fmt: skip

    def _values(self) -> Iterator[tuple[object, ...]]:
        known = list(counters_of("gfx942"))
        numbers = [1000 + known.index(name) for name in COUNTERS]
        for n in range(self._count):
            for slot, value in enumerate(self.kinds[n % 8].counters):
                yield 4 * n + slot + 1, self._guid, n + 1, numbers[slot], value, "{}"

    def _regions(self) -> Iterator[tuple[object, ...]]:
        node, pid = self._own
        names = [self._names[name] for name in CALLS]
        for n in range(self._count):
            start = START + n * PERIOD - 9_000
            for call, name in enumerate(names):
                number, begin = 4 * n + call + 1, start + call * 2_000
                yield (number, self._guid, node, pid, pid, begin, begin + 1_500, name,
                       self._count + number, "{}")  # fmt: skip

    def _copies(self) -> Iterator[tuple[object, ...]]:
        node, pid = self._own
        for turn, n in enumerate(range(0, self._count, COPY_EVERY)):
            direction, source, target, size, start, end = copy_beside(n)
            name = self._names[f"MEMORY_COPY_{direction}"]
            yield (turn + 1, self._guid, node, pid, pid, start, end, name, target, 1 << 40, source,
                   1 << 41, size, None, 0, None, 5 * self._count + turn + 1, "{}")  # fmt: skip
