"""Where documents begin and end, by their markers: as many as the reader finds, and each of them the same alone."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.edit.document_spans import document_spans
from schemas.edit.verification import is_same_value
from schemas.reader import read

TABLE = [
    ("nothing", "", []),
    ("blank lines and comments", "\n# a\n  \n", []),
    ("one", "a: 1\n", ["a: 1\n"]),
    ("a byte order mark belongs to none", "\ufeffa: 1\n", ["a: 1\n"]),
    ("a byte order mark before a marker", "\ufeff---\na: 1\n", ["---\na: 1\n"]),
    ("a comment before the first", "# x\n---\na: 1\n", ["# x\n---\na: 1\n"]),
    ("two", "a: 1\n---\nb: 2\n", ["a: 1\n", "---\nb: 2\n"]),
    ("a comment belongs to what is above it", "a: 1\n# x\n---\nb: 2\n", ["a: 1\n# x\n", "---\nb: 2\n"]),
    ("an empty one", "---\n---\nb: 2\n", ["---\n", "---\nb: 2\n"]),
    ("an empty one last", "a: 1\n---\n", ["a: 1\n", "---\n"]),
    ("an end", "a: 1\n...\n# x\n", ["a: 1\n...\n"]),
    ("ends without anything", "...\n...\n", []),
    ("an end, and no start", "a: 1\n...\nb: 2\n", ["a: 1\n...\n", "b: 2\n"]),
    ("directives belong to what follows", "a: 1\n...\n%YAML 1.2\n---\nb: 2\n", ["a: 1\n...\n", "%YAML 1.2\n---\nb: 2\n"]),
    ("values on the line of the marker", "--- a\n--- {b: 2}\n", ["--- a\n", "--- {b: 2}\n"]),
    ("dashes inside a text", "a: ---\n---b: 2\n ---: 3\n", ["a: ---\n---b: 2\n ---: 3\n"]),
    ("dots inside a text", "a: ...\n...b: 2\n", ["a: ...\n...b: 2\n"]),
    ("in a block scalar they are indented", "a: |\n  ---\n  ...\n", ["a: |\n  ---\n  ...\n"]),
    ("in one without indentation they are not", " |\n---\nx:", [" |\n", "---\nx:"]),
    ("carriage returns", "a: 1\r---\rb: 2\r", ["a: 1\r", "---\rb: 2\r"]),
    ("carriage returns and line feeds", "a: 1\r\n---\r\nb: 2", ["a: 1\r\n", "---\r\nb: 2"]),
    ("a percent sign within", "a: x\n  %y\n---\nb: 2\n", ["a: x\n  %y\n", "---\nb: 2\n"]),
    ("other breaks of YAML 1.1 are none", "a: b\u2028--- c\n", ["a: b\u2028--- c\n"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "want"), [case[1:] for case in TABLE], ids=[case[0] for case in TABLE])
def test_documents_have_the_listed_spans(text: str, want: list[str]) -> None:
    assert [text[start:end] for start, end in document_spans(text)] == want
    found = read(text)
    if isinstance(found, tuple):
        assert len(found) == len(want)


LINES = ("---", "--- ", "--- # x", "--- a", "--- {a: b}", "---\t", "...", "... # x", "...x", "---x", "# c", " # c", "", "  ",
         "%YAML 1.2", "%TAG ! tag:x,2000:", "a: b", "a: |", " |", "--- >", "  ---", "  ...", "  text", "- x", "b: 'x", "y'", "{a: b}", "%a", "\t")  # fmt: skip


@given(
    st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from(("\n", "\n", "\r\n", "\r"))), max_size=8),
    st.sampled_from(("", "\ufeff")),
    st.booleans(),
)
def test_spans_agree_with_the_reader(lines: list[tuple[str, str]], mark: str, ends: bool) -> None:
    text = mark + "".join(line + eol for line, eol in lines)
    text = text if ends else text.rstrip("\r\n")
    whole = read(text)
    if not isinstance(whole, tuple):
        return
    spans = document_spans(text)
    neighbours = ["---\n" if at + 1 < len(spans) else "" for at in range(len(spans))]
    alone = [read(text[start:end] + behind) for (start, end), behind in zip(spans, neighbours, strict=True)]
    assert all(isinstance(part, tuple) for part in alone), (text, alone)
    assert is_same_value([part[0] for part in alone], list(whole)), text  # type: ignore[index]
    assert all(before.end <= after.start for before, after in pairwise(spans))
