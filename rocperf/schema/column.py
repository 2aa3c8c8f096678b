"""What a table and a column are, and the columns that many tables share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Column:
    """One column: name, SQL type, one sentence, unit."""

    name: str
    type: str
    doc: str
    unit: str = ""
    required: bool = False


@dataclass(frozen=True)
class Table:
    """One table or view: what a row is, and its columns in order.

    Parameters
    ----------
    sql
        For a view, its definition; empty for a stored table.
    """

    name: str
    doc: str
    columns: tuple[Column, ...]
    sql: str = ""

    @property
    def ddl(self) -> str:
        """The statement that creates the table or view."""
        if self.sql:
            return f"CREATE VIEW {self.name} AS {self.sql}"
        parts = [f"{c.name} {c.type}{' NOT NULL' if c.required else ''}" for c in self.columns]
        return f"CREATE TABLE {self.name} ({', '.join(parts)})"

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(c.name for c in self.columns)


RUN = Column("run_id", "UINTEGER", "Run that recorded it.", required=True)
FILE = Column("file_id", "UINTEGER", "File it was read from.")
ROW = Column("row", "UBIGINT", "Number of the record in that file, from 1.")
START = Column("start_ns", "BIGINT", "Start; NULL when the file's time cannot be trusted.", "ns")
END = Column("end_ns", "BIGINT", "End, on the same clock.", "ns")
CORRELATION = Column("correlation_id", "UBIGINT", "API call that caused it; not unique.")
THREAD = Column("thread_id", "UBIGINT", "Host thread.")
