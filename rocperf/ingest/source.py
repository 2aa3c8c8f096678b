"""What a reader is given and what it gives: files in, runs and batches of rows out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import duckdb
    import polars as pl


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file, as a reader recognised it.

    Parameters
    ----------
    path
        The file.
    format
        Format of the reader, such as ``rocprofv3-csv``.
    kind
        What it holds, such as ``kernel_trace``; None when mixed.
    version
        Generation of the format, where it can be told.
    size
        Bytes.
    unpacked
        Where the text of a packed file lies meanwhile.
    """

    path: Path
    format: str
    kind: str | None
    version: str | None
    size: int
    unpacked: Path | None = None

    @property
    def text(self) -> Path:
        """The file to open: its text where it is packed."""
        return self.unpacked or self.path


@dataclass(slots=True)
class RunInfo:
    """What is known of one process in one pass; a reader fills what it can.

    Parameters
    ----------
    key
        Identity: files whose keys are equal belong to one run.
    role
        ``timing`` or ``counters``; None lets the rows decide.
    environment
        Variables, already reduced to the allow-list of `rocperf.ingest.secrets`.
    """

    key: tuple[str, ...]
    hostname: str | None = None
    pid: int | None = None
    rank: int | None = None
    command: str | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    tool: str | None = None
    tool_version: str | None = None
    rocm_version: str | None = None
    role: str | None = None
    pass_number: int | None = None
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    status: str = "complete"


class Sink(Protocol):
    """Where a reader puts what it read. Rows go in by batches of bounded size."""

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """Connection for temporary tables; the profile's tables are in it, too."""
        ...

    def run(self, info: RunInfo) -> int:
        """Return the id of the run; files with one key share one."""
        ...

    def file(self, source: SourceFile, run_id: int | None) -> int:
        """Register a file that is read, and return its id."""
        ...

    @property
    def salvage(self) -> bool:
        """Whether to keep the complete records of a file that breaks off."""
        ...

    @property
    def max_unpacked(self) -> int:
        """Bytes of text that a packed file may have."""
        ...

    def refuse(self, source: SourceFile, reason: str, *, empty: bool = False) -> None:
        """Register a file that cannot be read, and why; the others go on.

        One that is `empty` is whole, and there is nothing in it.
        """
        ...

    def ignore(self, source: SourceFile, reason: str) -> None:
        """Register a file that is known but not needed, and why."""
        ...

    def append(self, table: str, frame: pl.DataFrame, *, run_id: int, file_id: int | None) -> None:
        """Add rows: columns of the table without ``run_id``, ``file_id`` and ids of ours.

        Rows of ``all_dispatches`` carry ``kernel``, the full name, instead of ``kernel_id``.
        """
        ...

    def gathering(self) -> AbstractContextManager[None]:
        """Keep the small frames of a reader that asks nothing back, and store them together."""
        ...

    def append_sql(
        self,
        table: str,
        select: str,
        params: Sequence[object],
        *,
        run_id: int,
        file_id: int | None,
    ) -> int:
        """Add the rows of a query under the rules of `append`; return how many."""
        ...

    def records(self, file_id: int, *, stored: int, rejected: int) -> None:
        """Say how many records of a file were stored and how many were not."""
        ...

    def note(
        self,
        severity: str,
        code: str,
        message: str,
        *,
        file_id: int | None = None,
        row: int | None = None,
        rows: int | None = None,
        run_id: int | None = None,
    ) -> None:
        """Tell of an oddity; it is kept in the profile and shown to the user."""
        ...

    def progress(self, file: SourceFile, rows: int, bytes_done: int) -> None:
        """Tell how far a file is read."""
        ...

    def mark(self) -> tuple[int, int]:
        """Remember where files and rows stand."""
        ...

    def back_to(self, mark: tuple[int, int]) -> None:
        """Take back files that were begun since a mark, and their rows."""
        ...


class Reader(Protocol):
    """A module that reads one format."""

    FORMAT: str

    def recognise(self, path: Path, head: bytes) -> SourceFile | None:
        """Say which file of this format it is, by content; None when it is none."""
        ...

    def read(self, sources: list[SourceFile], sink: Sink) -> None:
        """Read files that belong together into a sink."""
        ...


OnEvent = Callable[[object], None]
