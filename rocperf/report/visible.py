"""Show text from anywhere letter by letter: nothing in it may act on a terminal."""

from __future__ import annotations

import re

# C0, DEL, C1, soft hyphen, zero-width, bidirectional controls, line and paragraph separators,
# byte-order mark, lone surrogates.
_ACTS = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
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
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"

    return _ACTS.sub(escape, text)
