"""The text of what could not be judged, and of what was odd in the data."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from rocperf.model import Completed, Failed, Outcome, Skipped
from rocperf.report.unjudged import alike
from rocperf.report.visible import visible

#: Notes shown; how many more there are is said. A choice of ours.
MOST_NOTES = 200


def unjudged_text(
    outcomes: Sequence[Outcome] | str, notes: Sequence[tuple[str, str, int]] | str
) -> Text:
    """Return one paragraph for each analysis that could not judge, then the data notes.

    Parameters
    ----------
    outcomes
        Of every analysis; a sentence where there are none: they run, or could not be run.
    notes
        Each severity, message and number of records; a sentence where they are not known.
    """
    text = Text()
    text.append("Could not be judged\n", "bold")
    if isinstance(outcomes, str):
        text.append(f"{visible(outcomes)}\n")
    else:
        _outcomes(text, [o for o in outcomes if not isinstance(o, Completed)], len(outcomes))
    text.append("\nData notes\n", "bold")
    if isinstance(notes, str):
        text.append(f"{visible(notes)}\n")
    else:
        _notes(text, notes)
    return text


def _outcomes(text: Text, rest: Sequence[Skipped | Failed], ran: int) -> None:
    if not rest:
        text.append(
            "Every analysis could judge this profile.\n" if ran else "No analysis was run.\n"
        )
    for skipped in alike(rest):
        text.append(visible(skipped.analysis), "bold")
        text.append(f": needs {visible('; '.join(skipped.missing))}\n")
        if skipped.command:
            text.append(f"    $ {visible(skipped.command)}\n")
    for outcome in rest:
        if isinstance(outcome, Failed):
            text.append(visible(outcome.analysis), "bold")
            text.append(f": failed: {visible(outcome.error)}\n")


def _notes(text: Text, notes: Sequence[tuple[str, str, int]]) -> None:
    if not notes:
        text.append("Nothing was odd.\n")
    for severity, message, rows in notes[:MOST_NOTES]:
        count = f" ({rows:,} records)" if rows > 1 else ""
        text.append(f"{visible(severity)}: {visible(message)}{count}\n")
    if len(notes) > MOST_NOTES:
        text.append(f"… and {len(notes) - MOST_NOTES:,} more: rocperf query FILE ")
        text.append("'SELECT * FROM notes'\n")
