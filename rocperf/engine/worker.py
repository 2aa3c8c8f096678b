"""Run analyses that are not ours in a process of their own.

A loop in Python cannot be stopped from inside, and a plugin may exit, crash or print. So they
share one spawned process, which is ended and replaced when one of them hangs, exits or dies.
Findings come back as plain dictionaries, never as pickled objects of the plugin.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from rocperf.engine.wire import finding_from_dict
from rocperf.errors import PluginError
from rocperf.model import Finding

#: Bytes that one answer may have. A choice of ours: ten thousand findings fit.
MOST_BYTES = 64_000_000


class Worker:
    """A process for foreign analyses; started when first needed.

    Parameters
    ----------
    path
        The profile; None when it is only in memory, which another process cannot read.
    limit_s
        Seconds that one analysis may take.
    """

    def __init__(self, path: Path | None, limit_s: float) -> None:
        self._path = path
        self._limit_s = limit_s

    def run(self, address: tuple[str, str], name: str, options: Any) -> list[Finding]:
        """Run one analysis.

        Raises
        ------
        PluginError
            If it raised, exited, died, hung or answered with something else than findings.
        """
        if self._path is None:
            raise PluginError(f"{name} runs outside this process, and the profile is in memory")
        request = {
            "profile": str(self._path.resolve()),
            "address": address,
            "analysis": name,
            "options": dataclasses.asdict(options),
        }
        answer = self._exchange(name, json.dumps(request))
        if "error" in answer:
            raise PluginError(str(answer["error"]))
        try:
            return [finding_from_dict(row) for row in answer["findings"]]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise PluginError(f"{name} answered with garbage: {error!r}") from error

    def _exchange(self, name: str, request: str) -> Mapping[str, Any]:
        command = [sys.executable, "-m", "rocperf.engine.child"]
        read, write = os.pipe()
        try:
            process = subprocess.Popen(
                [*command, str(write)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(write,),
                start_new_session=True,
            )
        finally:
            os.close(write)
        try:
            return self._talk(name, process, read, request)
        finally:
            os.close(read)
            if process.poll() is None:
                process.kill()
            process.wait()
            if process.stdin is not None:
                process.stdin.close()

    def _talk(
        self, name: str, process: subprocess.Popen[bytes], read: int, request: str
    ) -> Mapping[str, Any]:
        import select
        import time

        assert process.stdin is not None  # noqa: S101  # it was asked for above
        try:
            process.stdin.write(request.encode())
            process.stdin.close()
        except BrokenPipeError:
            pass
        until = time.monotonic() + self._limit_s
        parts = bytearray()
        while True:
            left = until - time.monotonic()
            if left <= 0 or not select.select([read], [], [], left)[0]:
                raise PluginError(f"{name} took more than {self._limit_s:g} s and was ended")
            part = os.read(read, 1 << 16)
            if not part:
                break
            parts += part
            if len(parts) > MOST_BYTES:
                raise PluginError(f"{name} answered with more than {MOST_BYTES:,} bytes")
        try:
            answer = json.loads(parts)
        except ValueError as error:
            code = process.wait(timeout=5)
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            raise PluginError(f"{name} ended its process ({how}) without an answer") from error
        if not isinstance(answer, dict):
            raise PluginError(f"{name} answered with garbage")
        return cast("dict[str, Any]", answer)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass
