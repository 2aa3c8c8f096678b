"""The process in which code that is not ours is imported and run.

A loop in Python cannot be stopped from inside, and a plugin may exit, crash or print. So foreign
plugins share one spawned process, which is ended and replaced after each failure. What they
return comes back as JSON, never as pickled objects.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from rocperf.errors import PluginError, UnjudgedError
from rocperf.model import Finding
from rocperf.plugin.loading import Address
from rocperf.plugin.wire import finding_from_dict

#: Seconds after which a plugin is ended. A choice of ours.
LIMIT_S = 60.0
#: Bytes that one answer may have. A choice of ours: ten thousand findings fit.
MOST_BYTES = 64_000_000
#: Bytes kept of what a plugin prints: enough for the first line.
_MOST_NOISE = 2_000
#: The worker sees the modules that this process sees: the same search path, nothing prepended.
_BOOT = "import sys; sys.path[:] = sys.argv[3:]; from rocperf.plugin.child import main; main()"


class Worker:
    """A process for foreign plugins, started when first needed; a context manager.

    Parameters
    ----------
    limit_s
        Seconds that one request may take.
    """

    def __init__(self, limit_s: float = LIMIT_S) -> None:
        self._limit_s = limit_s
        self._child: _Child | None = None

    def describe(self, address: Address) -> list[Mapping[str, Any]]:
        """Import a plugin and return what `rocperf.plugin.foreign.describe` says of its analyses.

        Raises
        ------
        PluginError
            If it cannot be imported, or provides no analysis.
        """
        value = self._ask("loading it", {"ask": "describe", "address": address})
        if not isinstance(value, list):
            self.close()
            raise PluginError("it describes itself with garbage")
        return cast("list[Mapping[str, Any]]", value)

    def run(
        self, address: Address, name: str, options: Any, profile: Path, region: str | None = None
    ) -> list[Finding]:
        """Run one analysis over a profile.

        Parameters
        ----------
        address
            How to load its plugin.
        name
            Its id.
        options
            A dataclass of plain values.
        profile, region
            The file to open, and the roctx range to look inside of.

        Raises
        ------
        PluginError
            If it raised, exited, died, hung, printed or answered with something else than
            findings.
        UnjudgedError
            If it says that it cannot judge.
        """
        request = {
            "ask": "run",
            "address": address,
            "analysis": name,
            "options": dataclasses.asdict(options),
            "profile": str(profile.resolve()),
            "region": region,
        }
        value = self._ask("it", request)
        try:
            return [finding_from_dict(row) for row in cast("list[Mapping[str, Any]]", value)]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            self.close()
            raise PluginError(f"it answered with garbage: {error!r}") from error

    def _ask(self, what: str, request: Mapping[str, Any]) -> object:
        if self._child is None:
            self._child = _Child()
        try:
            return self._child.exchange(what, json.dumps(request), self._limit_s)
        except UnjudgedError:
            raise
        except BaseException:
            self.close()  # a failed plugin may leave threads and changed modules behind
            raise

    def interrupt(self) -> None:
        """End the process from another thread; the one that waits for an answer tidies up."""
        if (child := self._child) is not None:
            child.kill()

    def close(self) -> None:
        """End the process, if there is one."""
        if self._child is not None:
            self._child.end()
            self._child = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class _Child:
    """One spawned process with a pipe for answers and one for whatever is printed."""

    def __init__(self) -> None:
        self._answers, answers = os.pipe()
        self._noise, noise = os.pipe()
        # -P: the current folder is not searched. Warnings would count as printing.
        python = [sys.executable, "-P", "-W", "ignore", "-c", _BOOT]
        path = [entry for entry in sys.path if entry]
        try:
            self._process = subprocess.Popen(
                [*python, str(answers), str(os.getpid()), *path],
                stdin=subprocess.PIPE,
                stdout=noise,
                stderr=noise,
                pass_fds=(answers,),
                start_new_session=True,  # Ctrl-C is for the main process, which ends this one
            )
        finally:
            os.close(answers)
            os.close(noise)
        os.set_blocking(self._noise, False)

    def exchange(self, what: str, request: str, limit_s: float) -> object:
        """Send one line, return the value of the one that comes back."""
        pipe = self._process.stdin
        assert pipe is not None  # noqa: S101  # it was asked for above
        with contextlib.suppress(BrokenPipeError):
            pipe.write(request.encode() + b"\n")
            pipe.flush()
        line, noise = self._wait(what, time.monotonic() + limit_s, limit_s)
        try:
            answer: object = json.loads(line)
        except ValueError as error:
            raise PluginError("it answered with garbage") from error
        if not isinstance(answer, dict):
            raise PluginError("it answered with garbage")
        answer = cast("dict[str, object]", answer)
        if "error" in answer:
            raise PluginError(str(answer["error"]))
        if "unjudged" in answer:
            hint = answer.get("hint")
            raise UnjudgedError(str(answer["unjudged"]), hint=str(hint) if hint else None)
        if noise:
            first = noise.decode(errors="replace").strip().splitlines() or [""]
            raise PluginError(f"it printed {first[0][:200]!r}: findings are yielded, not printed")
        return answer.get("value")

    def _wait(self, what: str, until: float, limit_s: float) -> tuple[bytes, bytes]:
        answer, noise = bytearray(), bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(self._answers, selectors.EVENT_READ)
            selector.register(self._noise, selectors.EVENT_READ)
            while not answer.endswith(b"\n"):
                left = until - time.monotonic()
                if left <= 0:
                    raise PluginError(f"{what} took more than {limit_s:g} s and was ended")
                ready = {key.fd for key, _ in selector.select(left)}
                if self._noise in ready and not self._listen(noise):
                    selector.unregister(self._noise)  # it closed both of its streams
                if self._answers in ready:
                    part = os.read(self._answers, 1 << 16)
                    if not part:
                        raise PluginError(self._death())
                    answer += part
                    if len(answer) > MOST_BYTES:
                        raise PluginError(f"{what} answered with more than {MOST_BYTES:,} bytes")
        while self._listen(noise):
            pass  # what was printed before the answer is in the pipe by now
        return bytes(answer), bytes(noise)

    def _listen(self, noise: bytearray) -> bool:
        try:
            part = os.read(self._noise, 1 << 16)
        except BlockingIOError:
            return False
        noise += part[: max(0, _MOST_NOISE - len(noise))]
        return bool(part)

    def _death(self) -> str:
        try:
            code = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return "it closed the pipe to rocperf"
        if code >= 0:
            return f"it ended its process (exit code {code}) without an answer"
        with contextlib.suppress(ValueError):
            return f"it crashed: {signal.Signals(-code).name}"
        return f"it crashed: signal {-code}"

    def kill(self) -> None:
        """End the process and what it started, and wait for neither."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> None:
        """End the process and what it started."""
        self.kill()
        self._process.wait()
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        os.close(self._answers)
        os.close(self._noise)
