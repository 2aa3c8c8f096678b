"""How severity looks: a sign and a word say it, colour only repeats it."""

from __future__ import annotations

from rocperf.model import Severity

SIGNS = {
    Severity.CRITICAL: "!!!",
    Severity.MAJOR: "!!",
    Severity.MINOR: "!",
    Severity.INFO: "i",
}

#: Rich styles. Nothing is told by them alone.
STYLES = {
    Severity.CRITICAL: "bold red",
    Severity.MAJOR: "yellow",
    Severity.MINOR: "cyan",
    Severity.INFO: "",
}


def label(severity: Severity) -> str:
    """Return sign and word in a column of their own width, such as ``!!  major``."""
    return f"{SIGNS[severity]:<3} {severity.word}"
