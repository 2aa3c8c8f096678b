"""Counter files: one row a dispatch and counter, into dispatches and values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rocperf.ingest.rocprofv3_csv.selects import counted, select
from rocperf.ingest.sink import INCOMING

if TYPE_CHECKING:
    from rocperf.ingest.rocprofv3_csv.table import Table
    from rocperf.ingest.source import Sink

_STAGE = "scratch.main.stage"
# Smallest wave there is: the most waves that a launch can have.
_SMALLEST_WAVE = 32


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
    """

    def __init__(
        self, table: Table, sink: Sink, run_id: int, file_id: int, nodes: Mapping[str, int]
    ) -> None:
        self._table, self._sink = table, sink
        self._run_id, self._file_id, self._nodes = run_id, file_id, nodes

    def store(self, relation: str) -> int:
        """Store the rows of a relation with the file's columns; return how many were read."""
        run = self._sink.connection.execute
        name = self._table.source.path.name
        # Over the staged file a view does: each query below scans the columns that it needs.
        kind = "VIEW" if self._table.relation in relation else "TABLE"
        expressions = counted(self._table.header, self._nodes, self._table.rounded)
        expressions |= {"counter": 'f."Counter_Name"', "value": 'f."Counter_Value"'}
        run(f"CREATE {kind} {_STAGE} AS {select(expressions, relation)}")
        row = run(f"SELECT count(*) FROM {_STAGE}").fetchone()
        self._dispatches()
        twice = run(
            f"SELECT count(*), any_value(n), bool_and(same) FROM (SELECT count(*) AS n,"
            f" min(value) = max(value) AS same FROM {_STAGE} GROUP BY dispatch_id, counter"
            " HAVING n > 1)"
        ).fetchone()
        if twice and twice[0]:
            self._values_once()
            self._sink.note(
                "warning",
                "counter-repeated",
                f"{name}: {twice[1]} rows for one counter of one dispatch (replay?);"
                " equal values are taken once, others not at all",
                file_id=self._file_id,
                rows=int(twice[0]),
            )
        else:
            self._values()
        self._wrapped_grids()
        run(f"DROP {kind} {_STAGE}")
        return int(row[0]) if row else 0

    def _append(self, table: str, query: str) -> int:
        return self._sink.append_sql(table, query, (), run_id=self._run_id, file_id=self._file_id)

    def _dispatches(self) -> None:
        """Store each dispatch once, unless a kernel trace of the run has it."""
        self._append(
            "all_dispatches",
            f"SELECT s.* EXCLUDE (counter, value) FROM {_STAGE} s WHERE s.row IN"
            f" (SELECT min(row) FROM {_STAGE} GROUP BY dispatch_id) AND NOT EXISTS (SELECT 1"
            f" FROM {INCOMING} i WHERE i.run_id = {self._run_id}"
            " AND i.dispatch_id = s.dispatch_id)",
        )

    def _values(self) -> None:
        usable = "value IS NOT NULL AND isfinite(value)"
        self._append(
            "counter_values",
            f"SELECT dispatch_id, counter, CASE WHEN {usable} THEN value END AS value,"
            f" CASE WHEN NOT ({usable}) THEN 'not a number: a division by zero, as a rule' END"
            f" AS reason, row FROM {_STAGE}",
        )

    def _values_once(self) -> None:
        same = "min(value) = max(value) AND isfinite(min(value))"
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
            f" * ceil(d.workgroup_size / {_SMALLEST_WAVE})"
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
