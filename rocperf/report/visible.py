"""Show text from anywhere letter by letter: nothing in it may act on a terminal."""

from __future__ import annotations

import re

# C0, DEL, C1, soft hyphen, zero-width, bidirectional controls, line and paragraph separators,
# fillers that look like nothing, byte-order mark, interlinear marks, lone surrogates, tags.
_ACTS = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: str, *, newlines: bool = False) -> str:
    """Return a text with every character that acts replaced by a visible escape.

    Parameters
    ----------
    text
        Text of unknown origin.
    newlines
        Leave line feeds as they are.
    """

    def escape(match: re.Match[str]) -> str:
        code = ord(match[0])
        if newlines and match[0] == "\n":
            return "\n"
        if code > 0xFFFF:
            return f"\\U{code:08x}"
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"

    return _ACTS.sub(escape, text)
