"""A JSON document of any size, walked piece by piece in bounded memory.

The C scanner of the standard library decodes one record at a time out of a window of the text.
Unlike an event parser it can tell at which byte a damaged file breaks off.
"""

from __future__ import annotations

import gzip
import json
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rocperf.errors import InputError
from rocperf.ingest.packed import size_text

#: Bytes read at a time. A choice of ours.
CHUNK = 1 << 20
#: Longest single record. A choice of ours, against a file that never closes a string.
LONGEST = 64 << 20

_SPACE = " \t\r\n"
_GZIP = b"\x1f\x8b"


class Document:
    """A JSON file, plain or gzipped, read from its start to its end once.

    Parameters
    ----------
    path
        The file.
    limit
        Bytes of text that a packed one may have.

    Attributes
    ----------
    first_invalid
        Byte offset of the first byte that is no UTF-8; None when all is well.
    invalid
        Strings with such bytes, which are replaced.
    """

    def __init__(self, path: Path, limit: int = sys.maxsize) -> None:
        self.path, self.limit = path, limit
        self.first_invalid: int | None = None
        self.invalid = 0
        self._raw = path.open("rb")
        packed = self._raw.read(2) == _GZIP
        self._raw.seek(0)
        self._file = gzip.GzipFile(fileobj=self._raw) if packed else self._raw
        self._scan = json.JSONDecoder(strict=False).raw_decode
        self._text, self._at = "", 0
        # Bytes before the window, and bytes read that do not make a whole character yet.
        self._before, self._rest = 0, b""
        self._last_invalid_open = False
        self._ended = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
        self._raw.close()

    @property
    def bytes_done(self) -> int:
        """Bytes of the file itself that were read so far."""
        return self._raw.tell()

    @property
    def offset(self) -> int:
        """Offset in bytes, of the uncompressed text, at which reading stands."""
        return self._before + len(self._text[: self._at].encode("utf-8", "replace"))

    def peek(self) -> str:
        """Return the next character that is no space; empty at the end of the file."""
        while True:
            text, at = self._text, self._at
            while at < len(text) and text[at] in _SPACE:
                at += 1
            self._at = at
            if at < len(text):
                return text[at]
            if not self._more():
                return ""

    def expect(self, character: str) -> None:
        """Step over a character that must come next."""
        found = self.peek()
        if found != character:
            raise self.broken(f"{character!r} is missing")
        self._at += 1

    def value(self) -> Any:
        """Decode the next value whole."""
        if not self.peek():
            raise self.broken("")
        while True:
            try:
                value, end = self._scan(self._text, self._at)
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated") or error.pos + 16 > len(self._text)
                if cut and self._more():
                    continue
                self._at = max(self._at, error.pos)
                raise self.broken(error.msg) from None
            except (RecursionError, ValueError):
                raise self.broken("a value is nested too deep or too long") from None
            # A number at the end of the window may go on after it.
            if end < len(self._text) or not self._more():
                self._at = end
                return value

    def items(self) -> Iterator[Any]:
        """Decode an array's elements one by one."""
        for _ in self.elements():
            yield self.value()

    def elements(self) -> Iterator[int]:
        """Step through an array; who asks must read each element before the next."""
        self.expect("[")
        number = 0
        if self.peek() == "]":
            self._at += 1
            return
        while True:
            yield number
            number += 1
            if self.peek() == "]":
                self._at += 1
                return
            self.expect(",")

    def fields(self) -> Iterator[str]:
        """Step through an object's keys; who asks must read each value before the next."""
        self.expect("{")
        if self.peek() == "}":
            self._at += 1
            return
        while True:
            if self.peek() != '"':
                raise self.broken("a key is missing")
            key = str(self.value())
            self.expect(":")
            yield key
            if self.peek() == "}":
                self._at += 1
                return
            self.expect(",")

    def skip(self) -> int:
        """Leave out the next value; return how many elements it had, if it is an array."""
        if self.peek() == "[":
            return sum(1 for _ in self.items())
        if self.peek() == "{":
            for _ in self.fields():
                self.skip()
            return 0
        self.value()
        return 0

    def broken(self, reason: str) -> InputError:
        """Make the error for a document that cannot be read on from here."""
        ended = self._ended and self._at >= len(self._text.rstrip(_SPACE))
        what = "the file ends in the middle" if ended or not reason else reason
        return InputError(
            f"{self.path}: no valid JSON at byte {self.offset:,}: {what}",
            hint="was the writer interrupted? --salvage keeps what is complete before it",
        )

    def _more(self) -> bool:
        """Read on; say whether there was anything."""
        if self._ended:
            return False
        if len(self._text) - self._at > LONGEST:
            raise InputError(
                f"{self.path}: one value at byte {self.offset:,} is longer than {LONGEST >> 20} MB",
                hint="this is not output of rocprofv3, or it is damaged",
            )
        try:
            chunk = self._file.read(CHUNK)
        except (EOFError, OSError, zlib.error) as error:
            self._ended = True
            raise InputError(
                f"{self.path}: the compressed file breaks off after {self.offset:,} bytes of text:"
                f" {error}",
                hint="compress or copy it again; --salvage keeps what is complete before it",
            ) from None
        self._before = self.offset
        if self._file is not self._raw and self._before > self.limit:
            raise InputError(
                f"{self.path.name}: unpacks to more than {size_text(self.limit)}",
                hint="--max-unpacked SIZE allows more",
            )
        done = self._decode(self._rest + chunk, final=not chunk)
        self._text = self._text[self._at :] + done
        self._at = 0
        self._ended = not chunk
        return bool(chunk) or bool(done)

    def _decode(self, data: bytes, *, final: bool) -> str:
        place = self._before + len(self._text[self._at :].encode("utf-8", "replace"))
        parts: list[str] = []
        while data:
            try:
                parts.append(data.decode())
                self._last_invalid_open &= b'"' not in data
                data = b""
            except UnicodeDecodeError as error:
                good = data[: error.start]
                parts.append(good.decode())
                if not final and error.end == len(data) and len(data) - error.start < 4:
                    self._rest = data[error.start :]
                    return "".join(parts)
                self._count_invalid(good, place + error.start)
                parts.append("\ufffd")
                place += error.end
                data = data[error.end :]
        self._rest = b""
        return "".join(parts)

    def _count_invalid(self, good: bytes, place: int) -> None:
        if self.first_invalid is None:
            self.first_invalid = place
        if not self._last_invalid_open or b'"' in good:
            self.invalid += 1
        self._last_invalid_open = True
