"""Text of guests on a terminal: whatever they write, no byte of it steers the terminal."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from iri.cli.log_text import LONGEST_SEQUENCE, LogText


def read(*parts: bytes) -> str:
    text = LogText()
    return "".join(text.add(part) for part in parts) + text.add(b"", is_last=True)


@pytest.mark.parametrize(
    ("data", "want"),
    [
        (b"plain\r\nlines\n", "plain\nlines\n"),
        (b"50%\r100%\r\n", "50%\n100%\n"),
        ("tab\tgrüße €".encode(), "tab\tgrüße €"),
        (b"\x1b[0;32m[ OK ]\x1b[0m Started", "[ OK ] Started"),
        (b"\x1b[2J\x1b[H\x1b[?25lcleared", "cleared"),
        (b"\x1b]0;a title\x07after \x1b]8;;http://x\x1b\\link", "after link"),
        (b"\x1bPq#0\x1b\\sixel", "sixel"),
        (b"\x1b(B\x1bcreset", "reset"),
        (b"bell\x07 back\x08 null\x00", "bell\\x07 back\\x08 null\\x00"),
        ("c1 \x9b31m bidi \u202e".encode(), "c1 \\x9b31m bidi \\u202e"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"unfinished \x1b[31", "unfinished \\x1b[31"),
    ],
)
def test_a_part(data: bytes, want: str) -> None:
    assert read(data) == want


def test_a_sequence_without_an_end_hides_nothing_after_it_for_long() -> None:
    data = b"\x1b]" + b"x" * (2 * LONGEST_SEQUENCE)
    text = LogText()
    assert "x" * LONGEST_SEQUENCE in text.add(data) + text.add(b"y")


@example([b"\x1b", b"[", b"31", b"mred"])
@example([b"\xe2\x82", b"\xac\r", b"\n"])
@given(
    st.lists(
        st.one_of(
            st.sampled_from([b"\x1b", b"[", b"]0;", b"31m", b"\x07", b"\r", b"\n", b"\\"]),
            st.binary(max_size=5),
        ),
        max_size=12,
    )
)
def test_however_it_is_divided_the_text_is_the_same_and_harmless(parts: list[bytes]) -> None:
    found = read(*parts)
    assert found == read(b"".join(parts))
    assert all(each.isprintable() or each in "\n\t" for each in found)
