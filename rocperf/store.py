"""Write a profile: always a new generation beside the old one, put in place at the end.

A profile is never changed where it lies. `Store` writes a temporary file in the same folder,
and `Store.commit` makes it durable and renames it, so that after a failure or a kill the old
file is as it was.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import socket
import tempfile
import uuid
import zlib
from collections.abc import Generator
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

import duckdb

import rocperf
from rocperf.errors import BusyError, InputError, SpaceError
from rocperf.schema import BY_NAME, SCHEMA_VERSION, STORAGE_VERSION, TABLES, VIEWS

if TYPE_CHECKING:
    import polars as pl

#: Memory that writing may take before it spills to disk. A choice of ours: together with
#: Python it keeps an ingest under 600 MB.
MEMORY_LIMIT = "360MB"

#: What DuckDB makes of Ctrl-C while it works.
INTERRUPTED = "Query interrupted"

_SPILL = ".spill"
_SCRATCH = ".scratch"
_UNPACKED = ".unpacked"


class Store:
    """A profile being written.

    Parameters
    ----------
    target
        Where the finished profile will be.
    temporary
        The file that is written meanwhile.
    connection
        DuckDB connection whose default database is that file. Its database ``scratch``, for
        rows on their way, is removed in the end.
    """

    def __init__(
        self, target: Path, temporary: Path, connection: duckdb.DuckDBPyConnection
    ) -> None:
        self.target = target
        self.connection = connection
        self._temporary = temporary
        self._open = True
        # DuckDB takes what follows a question mark in a path for options: go another way.
        self._around = Path(tempfile.mkdtemp(prefix=scratch_prefix()))
        odd = "?" in str(temporary.resolve())
        self._working = self._around / temporary.name if odd else temporary

    @classmethod
    def create(cls, target: Path, *, replace: bool = False, base: Path | None = None) -> Self:
        """Begin a profile.

        Parameters
        ----------
        target
            Where it will be.
        replace
            Whether a file that is already there may be replaced on commit.
        base
            A profile whose rows are copied first, to append to.

        Raises
        ------
        InputError
            If the target exists and must not be replaced, or its folder cannot be written.
        SpaceError
            If the disk is full.
        """
        if target.exists() and not replace:
            raise InputError(
                f"{target} already exists", hint="--force replaces it, --append adds runs to it"
            )
        if target.exists() and not target.is_file():
            raise InputError(f"{target} is no regular file", hint="choose another -o")
        folder = target.parent
        if not folder.is_dir():
            raise InputError(f"there is no folder {folder}", hint="make it, or choose another -o")
        if not os.access(folder, os.W_OK):
            raise InputError(f"{folder} cannot be written", hint="choose another place with -o")
        temporary = folder / temporary_name()
        with explained(target):
            connection = duckdb.connect()
            store = cls(target, temporary, connection)
            try:
                store._begin(base)
            except BaseException:
                store.abandon()
                raise
        return store

    def _begin(self, base: Path | None) -> None:
        run = self.connection.execute
        run(f"SET memory_limit = '{MEMORY_LIMIT}'")
        run("SET preserve_insertion_order = false")
        run("SET enable_progress_bar = false")
        place = self._working
        run(f"SET temp_directory = {_quoted(str(place) + _SPILL)}")
        scratch = _quoted(str(place) + _SCRATCH)
        run(f"ATTACH {scratch} AS scratch (STORAGE_VERSION '{STORAGE_VERSION}')")
        path = _quoted(str(place))
        run(f"ATTACH {path} AS profile (STORAGE_VERSION '{STORAGE_VERSION}')")
        run("USE profile")
        for table in (*TABLES, *VIEWS):
            run(table.ddl)
        if base is not None:
            if "?" in str(base.resolve()):
                base = Path(shutil.copyfile(base, self._around / "base"))
            run(f"ATTACH {_quoted(str(base))} AS base (READ_ONLY)")
            for table in TABLES:
                if table.name != "meta":
                    run(f"INSERT INTO {table.name} BY NAME SELECT * FROM base.main.{table.name}")
            run("DETACH base")
        facts = {
            "schema_version": str(SCHEMA_VERSION),
            "rocperf_version": rocperf.__version__,
            "profile_id": uuid.uuid4().hex,
        }
        self.connection.executemany("INSERT INTO meta VALUES (?, ?)", list(facts.items()))

    def append(self, table: str, frame: pl.DataFrame) -> int:
        """Add the rows of a frame, by column name; columns that it lacks become NULL.

        Parameters
        ----------
        table
            Name of a stored table.
        frame
            Rows, shape (rows, columns).

        Returns
        -------
        int
            How many rows were added.

        Raises
        ------
        ValueError
            If the frame has a column that the table has not: an error of the reader.
        """
        unknown = set(frame.columns) - set(BY_NAME[table].column_names)
        if unknown:
            raise ValueError(f"{table} has no column {sorted(unknown)}")
        if frame.height:
            columns = ", ".join(f'"{name}"' for name in frame.columns)
            self.connection.register("incoming", arrow(frame))
            try:
                self.connection.execute(
                    f"INSERT INTO {table} ({columns}) SELECT {columns} FROM incoming"
                )
            finally:
                self.connection.unregister("incoming")
        return frame.height

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
        """Add one note: what was odd, where, and how many rows it concerns."""
        self.connection.execute(
            "INSERT INTO notes (severity, code, message, file_id, row, rows, run_id)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            [severity, code, message, file_id, row, rows, run_id],
        )

    def commit(self) -> Path:
        """Make the profile durable and put it in place.

        Returns
        -------
        Path
            The target.
        """
        with explained(self.target):
            self.connection.execute("CHECKPOINT profile")
            self._close()
            if self._working != self._temporary:
                shutil.copyfile(self._working, self._temporary)
            self._tidy(self._spill, self._scratch, self.unpacked, self._around)
            _sync(self._temporary)
            self._temporary.replace(self.target)
            _sync(self.target.parent)
        return self.target

    def abandon(self) -> None:
        """Remove what was written; the target stays as it was."""
        with contextlib.suppress(duckdb.Error):
            self._close()
        self._tidy(self._temporary, self._spill, self._scratch, self.unpacked, self._around)

    @property
    def unpacked(self) -> Path:
        """A folder for unpacked input, which whoever needs it makes; removed in the end."""
        return Path(str(self._temporary) + _UNPACKED)

    @property
    def _spill(self) -> Path:
        return Path(str(self._working) + _SPILL)

    @property
    def _scratch(self) -> Path:
        return Path(str(self._working) + _SCRATCH)

    def _tidy(self, *paths: Path) -> None:
        for path in paths:
            with contextlib.suppress(OSError):
                if path.is_dir():
                    shutil.rmtree(path)
                path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                Path(f"{path}.wal").unlink(missing_ok=True)

    def _close(self) -> None:
        if self._open:
            self._open = False
            self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.abandon()


@contextlib.contextmanager
def explained(target: Path) -> Generator[None]:
    """Turn what DuckDB and the system say of a full disk or a lock into our own errors."""
    try:
        yield
    except (duckdb.Error, OSError, RuntimeError) as error:
        text = str(error)
        if text == INTERRUPTED:
            raise KeyboardInterrupt from error
        full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
        if full or "No space left" in text or "Disk quota" in text or "File too large" in text:
            raise SpaceError(
                f"no space left while writing {target}", hint="free some, or choose another -o"
            ) from error
        if "lock on file" in text:
            raise BusyError(
                f"{target} is in use by another program", hint="close it there and try again"
            ) from error
        raise


def scratch_prefix() -> str:
    """Begin a temporary name with this machine and process: whoever finds it can ask after them."""
    host = zlib.crc32(socket.gethostname().encode())
    return f"rocperf-{host:08x}-{os.getpid()}-"


def temporary_name() -> str:
    """Make a hidden name that no other process takes and that does not look like a profile."""
    return f".{scratch_prefix()}{uuid.uuid4().hex[:12]}.part"


def pyarrow(part: str = "") -> Any:
    """Import pyarrow, or a part of it such as ``csv``: it comes without types."""
    return import_module(f"pyarrow.{part}" if part else "pyarrow")


def arrow(frame: pl.DataFrame) -> object:
    """Hand a frame to DuckDB as Arrow, the only way in that copies nothing."""
    # pyarrow comes without types.
    return cast("object", frame.to_arrow())  # pyright: ignore[reportUnknownMemberType]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
