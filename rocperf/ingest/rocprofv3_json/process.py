"""Processes of a document into runs and rows."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import polars as pl

from rocperf.errors import InputError
from rocperf.ingest.agent_record import KINDS, agent_row, link_rows, store_agents
from rocperf.ingest.instances import store_counters
from rocperf.ingest.results_file import replace_twice_recorded, run_key
from rocperf.ingest.rocprofv3_json.counted import Counted
from rocperf.ingest.rocprofv3_json.kinds import Kind, kind_of
from rocperf.ingest.rocprofv3_json.metadata import run_info
from rocperf.ingest.rocprofv3_json.names import Names, Record, agent, handle, listing
from rocperf.ingest.rocprofv3_json.records import symbol
from rocperf.ingest.rocprofv3_json.stream import Document
from rocperf.ingest.source import RunInfo

if TYPE_CHECKING:
    from rocperf.ingest.source import Sink, SourceFile
    from rocperf.ingest.topology.rows import Row

#: Records of one batch. A choice of ours.
BATCH_ROWS = 20_000

# What records refer to; rocprofv3 writes these sections first.
_NAMES = ("metadata", "agents", "counters", "strings", "code_objects", "kernel_symbols")
_RECORDS = ("callback_records", "buffer_records")


def read_document(source: SourceFile, sink: Sink, *, salvage: bool) -> None:
    """Read a document, twice where its records come before the names that they refer to.

    Parameters
    ----------
    source
        The file.
    sink
        Takes runs, files and rows.
    salvage
        Whether to keep what a document that breaks off holds.

    Raises
    ------
    InputError
        If it is damaged.
    """
    processes: list[Process] = []
    error: InputError | None = None
    invalid, first_invalid = 0, 0
    for again in (False, True):
        with Document(source.path, sink.max_unpacked) as document:
            try:
                for number in _process_numbers(document):
                    if not again:
                        processes.append(Process(document, source, sink, number))
                    processes[number].walk(document)
            except InputError as broken:
                error = broken
            invalid, first_invalid = document.invalid, document.first_invalid or 0
        if error is not None or not any(process.late for process in processes):
            break
    if error is not None and not (salvage and any(p.done for p in processes)):
        raise error
    for process in processes:
        process.finish(error)
    if invalid and processes:
        sink.note(
            "warning",
            "invalid-utf8",
            f"{source.path.name}: invalid UTF-8 at byte {first_invalid:,} in {invalid:,}"
            f" string{'s' * (invalid > 1)}, replaced",
            file_id=processes[0].file_id,
        )


def _process_numbers(document: Document) -> Iterator[int]:
    for key in document.fields():
        if key == "rocprofiler-sdk-tool":
            yield from document.elements()
        else:
            document.skip()
    if document.peek():
        raise document.broken("something follows the document")


class Process:
    """One process of a document.

    Parameters
    ----------
    document
        The file as it is walked.
    source, sink
        The file, and where its rows go.
    number
        Place within the file, from 0.
    """

    def __init__(self, document: Document, source: SourceFile, sink: Sink, number: int) -> None:
        self._document, self._source, self._sink = document, source, sink
        self._number = number
        self._names = Names()
        self._seen: set[str] = set()
        self._read: set[str] = set()
        self._info = RunInfo(key=run_key(source.path, None), tool="rocprofv3")
        self._agents: list[Row] = []
        self._links: list[Row] = []
        self._code: list[Row] = []
        self._ids: tuple[int, int] | None = None
        self._counted = Counted()
        self.late: set[str] = set()
        self.done = 0

    @property
    def file_id(self) -> int:
        """Number of the file."""
        return self._started()[1]

    def walk(self, document: Document) -> None:
        """Read the sections of the process; leave those for later whose names are not known."""
        self._document = document
        self.late = set()
        for section in document.fields():
            if section in _NAMES and section not in self._seen:
                self._read_names(section)
                self._seen.add(section)
            elif section not in _RECORDS or section in self._read:
                document.skip()
            elif set(_NAMES) <= self._seen:
                self._read_records(section)
                self._read.add(section)
            else:
                self.late.add(section)
                document.skip()
        # A section that a generation does not write is as good as empty.
        self._seen |= set(_NAMES)

    def _read_names(self, section: str) -> None:
        document = self._document
        if document.peek() not in ("[", "{"):
            document.skip()
        elif section == "metadata":
            stated = document.value()
            with self._guarded(section):
                self._info = run_info(self._source.path, stated, self._number)
        elif section == "strings":
            with self._guarded(section):
                self._strings()
        else:
            readers = {
                "agents": self._agent,
                "counters": self._counter,
                "code_objects": self._code_object,
                "kernel_symbols": self._symbol,
            }
            for each in document.items():
                with self._guarded(section):
                    readers[section](each)

    def _symbol(self, stated: Record) -> None:
        found = symbol(stated)
        if found is not None:
            self._names.kernels[found[0]] = found[1]

    def _agent(self, stated: Record) -> None:
        kind, node = KINDS.get(stated.get("type") or 0), handle(stated.get("node_id"))
        number = handle(stated.get("id"))
        if number is not None and node is not None:
            self._names.nodes[number] = node
        if kind is not None and node is not None:
            self._agents.append(agent_row(stated, kind, node))
            self._links += link_rows(stated, node)

    def _counter(self, stated: Record) -> None:
        number = handle(stated.get("id"))
        if number is not None and stated.get("name"):
            self._names.counters[number] = str(stated["name"])

    def _code_object(self, stated: Record) -> None:
        number = handle(stated.get("code_object_id"))
        loaded_for = stated.get("agent_id", stated.get("rocp_agent"))
        if number:
            self._code.append(
                {
                    "code_object_id": number,
                    "agent_id": agent(loaded_for, self._names),
                    "uri": str(stated.get("uri") or "") or None,
                    "load_base": handle(stated.get("load_base")),
                    "load_bytes": handle(stated.get("load_size")),
                    "row": len(self._code) + 1,
                }
            )

    def _strings(self) -> None:
        document, names = self._document, self._names
        for key in document.fields():
            if key == "buffer_records":
                for each in document.items():
                    operations = listing(each.get("operations"))
                    names.kinds.append((str(each.get("kind")), [str(o) for o in operations]))
            elif key == "marker_api":
                for each in document.items():
                    names.messages[each["key"]] = str(each.get("value", ""))
            elif key == "pc_sample_instructions":
                names.instructions = [str(each) for each in document.items()]
            elif key == "pc_sample_comments":
                names.comments = [str(each) for each in document.items()]
            else:
                document.skip()

    def _read_records(self, section: str) -> None:
        document = self._document
        for key in document.fields():
            kind = kind_of(key) if section == "buffer_records" else None
            if kind is not None and document.peek() == "[":
                self._rows(key, kind)
            elif section == "callback_records" and key == "counter_collection":
                self._counters()
            else:
                left_out = document.skip()
                if left_out:
                    self._note_left_out(key, left_out)

    def _rows(self, key: str, kind: Kind) -> None:
        for first, batch in self._batches():
            with self._guarded(key):
                rows = [kind.build(n, each, self._names) for n, each in enumerate(batch, first)]
            frame = pl.DataFrame(rows, schema=kind.schema, orient="row")
            run_id, file_id = self._started()
            self._sink.append(kind.table, frame, run_id=run_id, file_id=file_id)
            self._advance(len(rows))

    def _counters(self) -> None:
        for first, batch in self._batches():
            with self._guarded("counter_collection"):
                for n, each in enumerate(batch, first):
                    self._counted.add(n, each, self._names)
            self._started()
            self._advance(self._counted.flush(self._sink))

    def _batches(self) -> Iterator[tuple[int, list[Record]]]:
        batch: list[Record] = []
        first = 1
        try:
            for record in self._document.items():
                batch.append(record)
                if len(batch) == BATCH_ROWS:
                    yield first, batch
                    first += BATCH_ROWS
                    batch = []
        except InputError:
            # What was complete before the break may be kept.
            yield first, batch
            raise
        if batch:
            yield first, batch

    @contextlib.contextmanager
    def _guarded(self, what: str) -> Generator[None]:
        """Turn surprises of a record's form into an error that says where it is."""
        try:
            yield
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise InputError(
                f"{self._source.path}: a record of {what} before byte"
                f" {self._document.offset:,} is not as rocprofv3 writes it: {error!r}",
                hint="record it again, or take CSV or rocpd",
            ) from error

    def _advance(self, rows: int) -> None:
        self.done += rows
        self._sink.progress(self._source, self.done, self._document.bytes_done)

    def _started(self) -> tuple[int, int]:
        """Register run and file with the first rows, when everything about them is known."""
        if self._ids is None:
            run_id = self._sink.run(self._info)
            self._ids = run_id, self._sink.file(self._source, run_id)
            store_agents(self._sink, self._agents, self._links, run_id=run_id, file_id=self._ids[1])
            if self._code:
                columns: dict[str, Any] = dict.fromkeys(self._code[0], pl.UInt64)
                frame = pl.DataFrame(self._code, schema=columns | {"uri": pl.String})
                self._sink.append("code_objects", frame, run_id=run_id, file_id=self._ids[1])
        return self._ids

    def _note_left_out(self, key: str, rows: int) -> None:
        self._sink.note(
            "info",
            "records-left-out",
            f"{self._source.path.name}: {rows:,} records of {key} are of no kind that is kept",
            file_id=self._started()[1],
            rows=rows,
        )

    def finish(self, error: InputError | None) -> None:
        """Store what had to wait for everything else, and say how many records there were."""
        run_id, file_id = self._started()
        name = self._source.path.name
        if self._counted.any:
            self._counted.store_dispatches(self._sink, run_id, file_id)
            store_counters(
                self._sink, self._counted.values, run_id=run_id, file_id=file_id, name=name
            )
            self._counted.drop(self._sink)
        self._sink.records(file_id, stored=self.done, rejected=0)
        replace_twice_recorded(self._sink, self._source, run_id, file_id)
        if error is not None:
            self._info.status = "incomplete"
            self._sink.run(self._info)
            self._sink.note(
                "warning", "truncated", f"{error.message}; {self.done:,} records kept",
                file_id=file_id, run_id=run_id,
            )  # fmt: skip
