"""What acts on a terminal is written out; what people read is left alone."""

from __future__ import annotations

import unicodedata

import pytest

from rocperf.report.visible import visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("a\nb\tc\rd", "a\\x0ab\\x09c\\x0dd"),
        ("\x7f\x9b2J", "\\x7f\\x9b2J"),
        ("abc\u202edcba", "abc\\u202edcba"),
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("\u2066isolated\u2069", "\\u2066isolated\\u2069"),
        ("filler\u3164", "filler\\u3164"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("half \ud800", "half \\ud800"),
        ("[bold]kernel<int, 4>[/] {} %s 雪 é µ", "[bold]kernel<int, 4>[/] {} %s 雪 é µ"),
    ],
)
def test_what_acts_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_line_feeds_stay_where_they_are_wanted() -> None:
    assert visible("a\nb\rc", newlines=True) == "a\nb\\x0dc"


def test_no_control_or_format_character_of_the_basic_plane_is_sent() -> None:
    # Format characters that draw something themselves: signs above Arabic, Syriac and Kaithi.
    drawn = {*range(0x0600, 0x0606), 0x06DD, 0x070F, 0x0890, 0x0891, 0x08E2}
    acting = [
        code
        for code in range(0x10000)
        if unicodedata.category(chr(code)) in ("Cc", "Cf", "Zl", "Zp", "Cs") and code not in drawn
    ]
    assert len(acting) > 2000  # 2048 surrogates alone
    assert [hex(code) for code in acting if visible(chr(code)) == chr(code)] == []
