"""One recorded process of a rocpd file: its tables, what they refer to, and who it was."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import duckdb
import polars as pl

from rocperf.ingest.agent_record import agent_row, link_rows, store_agents
from rocperf.ingest.results_file import rank_of, run_key
from rocperf.ingest.rocpd.database import BATCH_ROWS, TEXT_ROWS, Database, Field
from rocperf.ingest.rocpd.stream import UnfitError, open_stream
from rocperf.ingest.secrets import reduce
from rocperf.ingest.source import RunInfo
from rocperf.store import arrow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocperf.ingest.source import Sink, SourceFile
    from rocperf.ingest.topology.rows import Row

#: Where tables that rows refer to are put, each as ``<prefix><name>``.
SCRATCH = "scratch.main.rocpd_"

_REORDER = "join_order,build_side_probe_side"

# Columns of the tables that rows refer to. Where a table is absent, it is empty.
_REFERRED: dict[str, tuple[Field, ...]] = {
    "string": (Field("id", "t.id"), Field("string", "t.string", "text")),
    "info_agent": (Field("id", "t.id"), Field("node", "t.absolute_index")),
    "info_thread": (Field("id", "t.id"), Field("tid", "t.tid")),
    "info_queue": (Field("id", "t.id"),),
    "info_kernel_symbol": (
        Field("id", "t.id"),
        Field("display_name", "t.display_name", "text"),
        Field("kernel_name", "t.kernel_name", "text"),
        Field("group_segment_size", "t.group_segment_size"),
        Field("arch_vgpr_count", "t.arch_vgpr_count"),
        Field("accum_vgpr_count", "t.accum_vgpr_count"),
        Field("sgpr_count", "t.sgpr_count"),
    ),
    "info_pmc": (
        Field("id", "t.id"),
        Field("agent_id", "t.agent_id"),
        Field("name", "t.name", "text"),
        Field("units", "t.units", "text"),
    ),
}


class Part:
    """Tables of one suffix, of one identity where a file mixes several in them.

    Parameters
    ----------
    database
        The file.
    tables
        Physical names by name.
    guid
        Identity whose rows are read; None when the tables hold one only.
    source, sink
        The file, and where its rows go.
    """

    def __init__(
        self,
        database: Database,
        tables: Mapping[str, str],
        guid: str | None,
        source: SourceFile,
        sink: Sink,
    ) -> None:
        self.database, self.tables, self.guid = database, tables, guid
        self.source, self.sink = source, sink
        self.run_id = self.file_id = 0
        self.done = 0
        self._key: tuple[str, ...] = ()

    def column(self, table: str, name: str, otherwise: str = "NULL") -> str:
        """Name a column of the table being read, or what stands for it where it is absent."""
        physical = self.tables.get(table)
        known = physical is not None and name in self.database.columns(physical)
        return f"t.{name}" if known else otherwise

    def batches(
        self, table: str, fields: Sequence[Field], *, where: str = "", **options: Any
    ) -> Iterator[pl.DataFrame]:
        """Read a table of this part; an absent one has no rows. Absent columns are NULL."""
        physical = self.tables.get(table)
        if physical is None:
            return
        known = self.database.columns(physical)
        present = [self._present(field, known) for field in fields]
        conditions = " AND ".join(self._conditions(where, known))
        yield from self.database.batches(physical, present, where=conditions, **options)

    def whole(
        self,
        table: str,
        fields: Sequence[Field],
        use: Callable[[], object],
        *,
        joins: str = "",
        where: str = "",
    ) -> bool:
        """Let a query read a table of numbers as it goes, under the name ``batch``.

        Returns
        -------
        bool
            False when the table cannot be read this way: nothing was stored, and `batches` is
            to read it.
        """
        physical = self.tables.get(table)
        if physical is None:
            return True
        known = self.database.columns(physical)
        present = [self._present(field, known) for field in fields]
        conditions = " AND ".join(f"({each})" for each in self._conditions(where, known))
        source = f'"{physical}" t {joins} WHERE {conditions or "1"}'
        connection = self.sink.connection
        done = self.done
        try:
            with open_stream(self.database.path, source, present, self.advance) as stream:
                connection.register("batch", stream.reader)
                # How many rows a stream has is not known: joins are to keep the side they are
                # written on, the stream flowing past tables that are held.
                connection.execute(f"SET disabled_optimizers = '{_REORDER}'")
                try:
                    use()
                except duckdb.Error:
                    if not stream.failed:
                        raise
                    self.done = done
                    return False
                finally:
                    connection.execute("SET disabled_optimizers = ''")
                    connection.unregister("batch")
        except UnfitError:
            return False
        return True

    def relations(self, table: str, fields: Sequence[Field], *, joins: str = "") -> Iterator[None]:
        """Read a table of numbers for several queries, each time under the name ``batch``."""
        staged = f"{SCRATCH}staged"
        connection = self.sink.connection

        def stage() -> None:
            connection.execute(f"CREATE OR REPLACE TABLE {staged} AS SELECT * FROM batch")

        if table not in self.tables:
            return
        if self.whole(table, fields, stage, joins=joins):
            connection.execute(f"CREATE OR REPLACE TEMP VIEW batch AS SELECT * FROM {staged}")
            yield
            connection.execute("DROP VIEW batch")
            connection.execute(f"DROP TABLE {staged}")
            return
        for frame in self.batches(table, fields, joins=joins):
            connection.register("batch", arrow(frame))
            yield
            connection.unregister("batch")
            self.advance(frame.height)

    def _conditions(self, where: str, known: frozenset[str]) -> list[str]:
        conditions = [where] if where else []
        if self.guid is not None and "guid" in known:
            conditions.append("t.guid = '" + self.guid.replace("'", "''") + "'")
        return conditions

    @staticmethod
    def _present(field: Field, known: frozenset[str]) -> Field:
        """Replace a plain column that this generation does not have."""
        alias, _, name = field.sql.partition(".")
        absent = alias == "t" and name.isidentifier() and name not in known | {"rowid"}
        return Field(field.name, "NULL", field.kind) if absent else field

    @property
    def event_join(self) -> str:
        """Join each row's event, which says what caused it; a missing one loses no row."""
        event = self.tables.get("event")
        if event is None:
            return (
                "LEFT JOIN (SELECT NULL id, NULL guid, NULL stack_id, NULL category_id,"
                " NULL extdata) e ON 0"
            )
        # An id is unique in its table; identities matter only where the table mixes several.
        same = " AND e.guid = t.guid" if self.guid is not None else ""
        return f'LEFT JOIN "{event}" e ON e.id = t.event_id{same}'

    def refer(self) -> None:
        """Put what rows refer to into scratch tables."""
        for table, fields in _REFERRED.items():
            columns = ", ".join(
                f"{f.name} {'VARCHAR' if f.kind == 'text' else 'BIGINT'}" for f in fields
            )
            run = self.sink.connection.execute
            run(f"CREATE OR REPLACE TABLE {SCRATCH}{table} ({columns})")
            text = any(field.kind == "text" for field in fields)
            rows = TEXT_ROWS if text else BATCH_ROWS
            for frame in self.batches(table, fields, batch_rows=rows):
                self.put(f"{SCRATCH}{table}", frame)

    def put(self, table: str, frame: pl.DataFrame) -> None:
        """Add a batch to a scratch table that exists."""
        connection = self.sink.connection
        connection.register("given", arrow(frame))
        try:
            connection.execute(f"INSERT INTO {table} SELECT * FROM given").fetchall()
        finally:
            connection.unregister("given")

    def store(self, table: str, query: str) -> int:
        """Store what a query makes of what is known as ``batch``."""
        return self.sink.append_sql(table, query, (), run_id=self.run_id, file_id=self.file_id)

    def append(self, table: str, query: str, frame: pl.DataFrame) -> int:
        """Store what a query makes of a frame, which it knows as ``batch``."""
        connection = self.sink.connection
        connection.register("batch", arrow(frame))
        try:
            return self.store(table, query)
        finally:
            connection.unregister("batch")

    def advance(self, rows: int) -> None:
        """Count records and tell how far reading is; sizes of rows differ little."""
        self.done += rows
        self.sink.progress(self.source, self.done, min(self.done * 100, self.source.size))

    def note(self, severity: str, code: str, text: str, rows: int | None = None) -> None:
        """Note something about this part."""
        message = f"{self.source.path.name}: {text}"
        self.sink.note(severity, code, message, file_id=self.file_id, rows=rows, run_id=self.run_id)

    def salvaged(self, reason: str) -> None:
        """Say that a table broke off; the run is incomplete."""
        self.sink.run(RunInfo(key=self._key, status="incomplete"))
        message = f"{reason}; what could be read is kept"
        self.sink.note("warning", "truncated", message, file_id=self.file_id, run_id=self.run_id)

    # -- who it was ---------------------------------------------------------------------------

    def begin(self, place: int, file_id: int | None) -> bool:
        """Register run, file and agents; say whether the part has a process at all.

        Parameters
        ----------
        place
            Place of the part within the file, from 0.
        file_id
            Number of the file, when an earlier part has registered it.
        """
        found = self._first(
            "info_process",
            ("pid", "nid", "command", "environment", "start", "end", "init", "fini"),
        )
        if found is None:
            return False
        path = self.source.path
        environment = {str(k): str(v) for k, v in _object(found["environment"]).items()}
        kept = reduce(environment)
        pid = _whole(found["pid"])
        node = self._first("info_node", ("hostname",)) or {}
        self._key = run_key(path, pid, f":{place}" if place else "")
        info = RunInfo(
            key=self._key,
            hostname=str(node.get("hostname") or "") or None,
            pid=pid,
            rank=rank_of(path, kept),
            command=str(found["command"] or "") or None,
            start_ns=_whole(found["start"]) or _whole(found["init"]) or None,
            end_ns=_whole(found["end"]) or _whole(found["fini"]) or None,
            tool=self._tool(),
            environment=kept,
        )
        self.run_id = self.sink.run(info)
        self.file_id = self.sink.file(self.source, self.run_id) if file_id is None else file_id
        self._agents()
        return True

    def _first(self, table: str, names: Sequence[str]) -> dict[str, object] | None:
        physical = self.tables.get(table)
        if physical is None:
            return None
        known = self.database.columns(physical)
        columns = ", ".join(f't."{n}"' if n in known else "NULL" for n in names)
        chosen = self.guid is not None and "guid" in known
        rows = self.database.rows(
            f'SELECT {columns} FROM "{physical}" t'
            f"{' WHERE t.guid = ?' if chosen else ''} ORDER BY rowid LIMIT 1",
            [self.guid] if chosen else [],
        )
        return dict(zip(names, rows[0], strict=True)) if rows else None

    def _tool(self) -> str:
        """Tell rocprofiler-systems, which names its categories otherwise, from rocprofv3."""
        physical = self.tables.get("string")
        other = physical and self.database.rows(
            f"SELECT 1 FROM \"{physical}\" WHERE string = 'rocm_kernel_dispatch' LIMIT 1"
        )
        return "rocprofiler-systems" if other else "rocprofv3"

    def _agents(self) -> None:
        fields = [
            Field("kind", "t.type", "text"),
            *(Field(n, f"t.{n}") for n in ("absolute_index", "logical_index", "type_index")),
            *(Field(n, f"t.{n}", "text") for n in ("name", "product_name", "extdata")),
        ]
        agents: list[Row] = []
        links: list[Row] = []
        for frame in self.batches("info_agent", fields, batch_rows=TEXT_ROWS):
            for stated in frame.iter_rows(named=True):
                kind, node = stated["kind"], stated["absolute_index"]
                if kind not in ("CPU", "GPU") or node is None:
                    continue
                figures = _object(stated["extdata"])
                names = {n: stated[n] for n in ("name", "product_name") if stated[n]}
                row = agent_row(figures | names, kind, node)
                for name in ("logical_index", "type_index"):
                    row[name] = stated[name] if stated[name] is not None else row[name]
                agents.append(row)
                links += link_rows(figures, node)
        store_agents(self.sink, agents, links, run_id=self.run_id, file_id=self.file_id)


def clean(sink: Sink) -> None:
    """Remove the scratch tables."""
    prefix = SCRATCH.rpartition(".")[2]
    tables = sink.connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE database_name = 'scratch'"
        f" AND starts_with(table_name, '{prefix}')"
    ).fetchall()
    for (name,) in tables:
        sink.connection.execute(f'DROP TABLE scratch.main."{name}"')


def _object(text: object) -> dict[str, Any]:
    try:
        value = json.loads(str(text))
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None
