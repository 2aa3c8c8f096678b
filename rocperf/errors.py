"""Every error that a user can meet: what happened, and what to do about it.

The exit codes are part of the command line's contract: 0 fine, 1 a gate was reached,
2 usage, configuration or refused input, 3 environment, 4 nothing collected or nothing to
analyse, 5 partial result under ``--strict``, 6 profile busy, 7 no space left,
130 interrupted.
"""

from __future__ import annotations

from typing import ClassVar


class RocperfError(Exception):
    """An error to be shown without a traceback; raised only through its leaves.

    Parameters
    ----------
    message
        What went wrong, in one sentence, naming the thing it went wrong with.
    hint
        What to do next: a command or an edit.
    details
        Names that the message speaks of, shown one a line below it.
    """

    exit_code: ClassVar[int] = 2

    def __init__(
        self, message: str, *, hint: str | None = None, details: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details

    def __reduce__(self) -> tuple[object, ...]:
        """Survive the trip from a worker process with all that it says."""
        return (_rebuild, (type(self), self.message, self.hint, self.details))


def _rebuild(
    kind: type[RocperfError], message: str, hint: str | None, details: tuple[str, ...]
) -> RocperfError:
    return kind(message, hint=hint, details=details)


class UsageError(RocperfError):
    """The command line asks for something that cannot be meant."""

    exit_code = 2


class ConfigError(RocperfError):
    """An option has an unknown name or a value outside its bounds."""

    exit_code = 2


class PluginError(RocperfError):
    """A plugin is declared wrongly, or failed while loading."""

    exit_code = 2


class InputError(RocperfError):
    """A file is refused: unknown, damaged, from another tool, or too new."""

    exit_code = 2


class MetricError(RocperfError):
    """A metric, counter or formula is unknown or malformed."""

    exit_code = 2


class MachineError(RocperfError):
    """The machine lacks something: rocprofv3, a GPU, a permission."""

    exit_code = 3


class NothingError(RocperfError):
    """Nothing was collected, or there is nothing to analyse."""

    exit_code = 4


class UnjudgedError(RocperfError):
    """An analysis has what it requires and still cannot judge: the message says what lacks."""

    exit_code = 4


class PartialError(RocperfError):
    """A result is incomplete, and ``--strict`` makes that a failure."""

    exit_code = 5


class BusyError(RocperfError):
    """A profile is held by another program."""

    exit_code = 6


class SpaceError(RocperfError):
    """The disk is full."""

    exit_code = 7


class InterruptedRunError(RocperfError):
    """The user stopped the work; what was finished is kept."""

    exit_code = 130
