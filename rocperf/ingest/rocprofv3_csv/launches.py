"""Rows of one counter, kept aside while a counter file is read."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from rocperf.ingest.rocprofv3_csv.plain import UnfitError, registered
from rocperf.store import pyarrow, scratch_prefix

if TYPE_CHECKING:
    from rocperf.ingest.source import Sink

_NAME = "plain_launches"


class Launches:
    """A file of Arrow batches for the rows of one counter, to be closed.

    They tell everything of the launches that the rows of the other counters only repeat, and may
    be as many as there are dispatches, so they are kept on disk.

    Parameters
    ----------
    counter
        The counter.
    """

    def __init__(self, counter: str) -> None:
        self._counter = counter
        self._ipc, self._compute = pyarrow("ipc"), pyarrow("compute")
        self._file = tempfile.TemporaryFile(prefix=scratch_prefix())  # noqa: SIM115
        self._writer: Any = None

    def close(self) -> None:
        """Remove the file."""
        self._file.close()

    def take(self, found: Any) -> None:
        """Keep the rows of the counter from an Arrow table."""
        mine = self._compute.equal(found["Counter_Name"], self._counter)
        kept = found.filter(mine)
        if self._writer is None:
            self._writer = self._ipc.new_stream(self._file, kept.schema)
        self._writer.write_table(kept)

    @contextlib.contextmanager
    def relation(self, sink: Sink, once: str) -> Generator[str]:
        """Make what was kept a relation, which can be read once.

        Parameters
        ----------
        sink
            Its connection gets the relation.
        once
            The counter whose rows are wanted.

        Raises
        ------
        UnfitError
            If others were kept.
        """
        if self._writer is None or once != self._counter:
            raise UnfitError("another counter is needed")
        self._writer.close()
        self._file.seek(0)
        with registered(sink, _NAME, self._ipc.open_stream(self._file)):
            yield _NAME
