"""Counter files: one row a dispatch and counter, into dispatches and values.

Every row repeats what is known of its launch, so a file is mostly repetition. Where it is whole
and each dispatch has some counter just once, only dispatch, counter and value of all rows are
staged, and the launches are read from the rows of that counter: a third of the time and memory.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from rocperf.ingest.instances import REASON, USABLE, note_unusable, repeats
from rocperf.ingest.rocprofv3_csv.launches import Launches
from rocperf.ingest.rocprofv3_csv.plain import UnfitError, plain_rows
from rocperf.ingest.rocprofv3_csv.selects import counted, select
from rocperf.ingest.rocprofv3_csv.table import STAGED, any_rejected
from rocperf.ingest.sink import INCOMING

if TYPE_CHECKING:
    from rocperf.ingest.rocprofv3_csv.table import Table
    from rocperf.ingest.source import Sink

_STAGE = "scratch.main.stage"
_FIRST = "scratch.main.first_rows"
# Smallest wave there is: the most waves that a launch can have.
_SMALLEST_WAVE = 32
_VALUES = ("Dispatch_Id", "Counter_Name", "Counter_Value")


def stage_values(table: Table, sink: Sink) -> str | None:
    """Stage only what differs from row to row of a counter file, where that is enough.

    Parameters
    ----------
    table
        Any file.
    sink
        Its connection holds the staged rows.

    Returns
    -------
    str or None
        A counter that every dispatch has exactly once; None when the whole rows have to be
        staged: another kind of file, damage, several processes, or no such counter.
    """
    if table.source.kind != "counter_collection" or not set(_VALUES) <= set(table.header):
        return None
    # A row of no counter, or of another process than the first, shows as one without a dispatch.
    usual = '"Counter_Name" IS NOT NULL'
    if table.process_column is not None:
        if table.process is None:
            return None
        usual += f' AND "{table.process_column}" = {table.process}'
    dispatch = f'CASE WHEN {usual} THEN "Dispatch_Id" END'
    values = (f'{dispatch} AS "Dispatch_Id"', '"Counter_Name"', '"Counter_Value"')
    table.stage(sink, ", ".join(values))
    if any_rejected(sink):
        return None
    return _counted_once(table, sink)


def _counted_once(table: Table, sink: Sink) -> str | None:
    """Find a counter that every dispatch of the staged values has exactly once."""
    run = sink.connection.execute
    run(
        f'CREATE OR REPLACE TABLE {_FIRST} AS SELECT "Dispatch_Id" AS dispatch_id,'
        f' min(row) AS row FROM {table.relation} GROUP BY "Dispatch_Id"'
    )
    row = run(f"SELECT count(*), count(dispatch_id) FROM {_FIRST}").fetchall()[0]
    if row[0] != row[1]:
        return None
    # As many rows as dispatches, and as many different dispatches: each has it once.
    candidates = run(
        f'SELECT "Counter_Name" FROM {table.relation} WHERE "Counter_Name" IS NOT NULL'
        ' GROUP BY 1 HAVING count(*) = ? ORDER BY "Counter_Name" = ? DESC, 1 LIMIT 1',
        [row[0], table.counter or ""],
    ).fetchall()
    for (name,) in candidates:
        found = run(
            f'SELECT count(DISTINCT "Dispatch_Id") FROM {table.relation} WHERE "Counter_Name" = ?',
            [name],
        ).fetchall()
        if found[0] == row[:1]:
            return str(name)
    return None


@contextlib.contextmanager
def plain_values(table: Table, sink: Sink) -> Generator[tuple[Table, str, str]]:
    """Read a counter file that has no damage once: stage its values, keep its launches aside.

    Parameters
    ----------
    table
        The file, see `rocperf.ingest.rocprofv3_csv.plain.fits`.
    sink
        Its connection holds the staged rows.

    Yields
    ------
    tuple
        The file with what is staged, a counter that every dispatch has exactly once, and the
        relation of its rows, which can be read once.

    Raises
    ------
    UnfitError
        If the file is not so, or there is no such counter.
    """
    if table.counter is None:
        raise UnfitError("no counter")
    run = sink.connection.execute
    with contextlib.closing(Launches(table.counter)) as launches:
        run(f"DROP TABLE IF EXISTS {STAGED}")
        with plain_rows(table, sink, _VALUES, launches.take) as rows:
            run(f"CREATE TABLE {STAGED} AS SELECT * FROM {rows}")
        staged = replace(table, numbered=True)
        once = _counted_once(staged, sink)
        if once is None:
            raise UnfitError("no counter that each dispatch has once")
        with launches.relation(sink, once) as relation:
            yield staged, once, relation


class Counters:
    """Stores the rows of one run from a counter file.

    Parameters
    ----------
    table
        The file.
    sink
        Takes the rows.
    run_id, file_id
        Their numbers.
    nodes
        Node of each label of an agent that does not state it.
    launches
        The rows of one counter, where they were kept aside.
    """

    def __init__(
        self,
        table: Table,
        sink: Sink,
        run_id: int,
        file_id: int,
        nodes: Mapping[str, int],
        launches: str | None = None,
    ) -> None:
        self._table, self._sink, self._kept = table, sink, launches
        self._run_id, self._file_id, self._nodes = run_id, file_id, nodes

    def store(self, relation: str, once: str | None) -> int:
        """Store rows; return how many were read.

        Parameters
        ----------
        relation
            The rows, with the file's columns; with `once` only those of the values.
        once
            A counter that each dispatch has once, whose rows tell of the launches.
        """
        run = self._sink.connection.execute
        expressions = counted(self._table.header, self._nodes, self._table.rounded)
        if once is not None and not self._launches(once, expressions):
            self._table.stage(self._sink)
            once = None
        if once is not None:
            expressions = {"dispatch_id": 'f."Dispatch_Id"', "row": "f.row"}
        expressions |= {"counter": 'f."Counter_Name"', "value": self._table.value}
        # Over the staged file a view does: each query below scans the columns that it needs.
        kind = "VIEW" if self._table.relation in relation else "TABLE"
        run(f"CREATE {kind} {_STAGE} AS {select(expressions, relation)}")
        row = run(f"SELECT count(*) FROM {_STAGE}").fetchone()
        if once is None:
            self._dispatches()
        repeated = self._repeated()
        if repeated is None:
            self._values()
        else:
            self._values_once()
            self._sink.note(
                "warning",
                "counter-repeated",
                f"{self._table.source.path.name}: {repeated[1]} rows for one counter of one"
                " dispatch (replay?); equal values are taken once, others not at all",
                file_id=self._file_id,
                rows=repeated[0],
            )
        name = self._table.source.path.name
        note_unusable(self._sink, _STAGE, file_id=self._file_id, name=name)
        self._wrapped_grids()
        run(f"DROP {kind} {_STAGE}")
        return int(row[0]) if row else 0

    def _append(self, table: str, query: str, *params: object) -> int:
        return self._sink.append_sql(
            table, query, params, run_id=self._run_id, file_id=self._file_id
        )

    def _launches(self, once: str, expressions: Mapping[str, str]) -> bool:
        """Store the dispatches from the rows of one counter.

        Returns
        -------
        bool
            False when a field that only these rows are read for is damaged: nothing is stored.
        """
        run = self._sink.connection.execute
        mark = self._sink.mark()
        # The number of a row comes with its dispatch here, so that order does not matter.
        run("SET preserve_insertion_order = false")
        rows = self._kept or self._table.scan
        launches = (
            f"(SELECT s.*, n.row FROM {rows} s JOIN {_FIRST} n"
            ' ON n.dispatch_id = s."Dispatch_Id" WHERE s."Counter_Name" = ?)'
        )
        query = f"SELECT * FROM ({select(dict(expressions), launches)}) s WHERE {self._unseen}"
        self._append("all_dispatches", query, once)
        if self._kept is not None:
            return True
        run("SET preserve_insertion_order = true")
        if any_rejected(self._sink):
            run(
                f"DELETE FROM {INCOMING} WHERE run_id = {self._run_id}"
                f" AND file_id = {self._file_id}"
            )
            self._sink.back_to(mark)
            return False
        return True

    def _dispatches(self) -> None:
        """Store each dispatch once, from its first row."""
        self._append(
            "all_dispatches",
            f"SELECT s.* EXCLUDE (counter, value) FROM {_STAGE} s WHERE s.row IN"
            f" (SELECT min(row) FROM {_STAGE} GROUP BY dispatch_id) AND {self._unseen}",
        )

    @property
    def _unseen(self) -> str:
        """That no kernel trace of the run has the dispatch."""
        return (
            f"NOT EXISTS (SELECT 1 FROM {INCOMING} i WHERE i.run_id = {self._run_id}"
            " AND i.dispatch_id = s.dispatch_id)"
        )

    def _repeated(self) -> tuple[int, int] | None:
        """Count pairs of dispatch and counter that have several rows, and how many of one."""
        if not repeats(self._sink, _STAGE):
            return None
        run = self._sink.connection.execute
        found = run(
            "SELECT count(*), any_value(n) FROM (SELECT count(*) AS n"
            f" FROM {_STAGE} GROUP BY dispatch_id, counter HAVING n > 1)"
        ).fetchone()
        return (int(found[0]), int(found[1])) if found and found[0] else None

    def _values(self) -> None:
        self._append(
            "counter_values",
            f"SELECT dispatch_id, counter, CASE WHEN {USABLE} THEN value END AS value,"
            f" {REASON} AS reason, row FROM {_STAGE}",
        )

    def _values_once(self) -> None:
        same = f"min(value) = max(value) AND bool_and({USABLE})"
        self._append(
            "counter_values",
            f"SELECT dispatch_id, counter, CASE WHEN {same} THEN min(value) END AS value,"
            f" CASE WHEN NOT ({same}) THEN 'recorded several times, with different values' END"
            f" AS reason, min(row) AS row FROM {_STAGE} GROUP BY dispatch_id, counter",
        )

    def _wrapped_grids(self) -> None:
        """Forget sizes of launches that ran more waves than these could have.

        rocprofv3 multiplies the three sizes in 32 bits.
        """
        run = self._sink.connection.execute
        within = f"run_id = {self._run_id} AND file_id = {self._file_id}"
        wrapped = (
            f"SELECT d.dispatch_id FROM {INCOMING} d JOIN {_STAGE} s USING (dispatch_id)"
            f" WHERE d.{within.replace(' AND ', ' AND d.')} AND s.counter = 'SQ_WAVES'"
            f" AND s.value > ceil(d.grid_size / d.workgroup_size)"
            f" * ceil(d.workgroup_size / {_SMALLEST_WAVE}) AND {USABLE}"
        )
        empty = f"SELECT count(*) FROM {INCOMING} WHERE {within} AND grid_size IS NULL"
        run(f"UPDATE {INCOMING} SET grid_size = NULL WHERE {within} AND dispatch_id IN ({wrapped})")
        row = run(empty).fetchone()
        if row and row[0]:
            self._sink.note(
                "warning",
                "grid-wrapped",
                f"{self._table.source.path.name}: {row[0]:,} dispatches whose grid is 0 or has"
                " wrapped at 2^32; it is unknown",
                file_id=self._file_id,
                rows=int(row[0]),
            )
