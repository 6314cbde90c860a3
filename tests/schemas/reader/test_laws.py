"""Laws of reading: a written text reads back, a second parser agrees, and nothing raises."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from ruamel.yaml.error import YAMLError

from schemas.reader import Unreadable, read
from schemas.reader.positions import UNKNOWN, Positions
from tests.schemas.reader import arbiter
from tests.schemas.reader.pointers import pointers
from tests.schemas.reader.yaml_texts import TRICKY, Written, write

# Bricks of YAML, so that random texts come close to meaning something.
BRICKS = st.sampled_from(
    [*TRICKY, "a: ", "- ", "\n", "\n  ", "\n ", "? ", ": ", "&a ", "*a", "!!int ", "!!set ", "! ", "---\n", "...\n", "|\n ", ">-\n  ",
     "[", "]", "{", "}", ",", "'", '"', "#", "%YAML 1.2\n", "<<: ", "\t", "\r", "1_0", "0b1", "a"]
)  # fmt: skip
GARBAGE = st.lists(BRICKS, max_size=25).map("".join) | st.text(max_size=60)


def same(one: object, other: object) -> bool:
    """Equal in value and type: 1 is neither 1.0 nor true."""
    return repr(one) == repr(other)


@given(write())
@example(Written('"\\udb80\\udc00": 1_0\n', ({"\U000f0000": "1_0"},)))
def test_a_written_text_reads_back(given_text: Written) -> None:
    assert same(read(given_text.text), given_text.documents)


@given(write())
@settings(max_examples=60)
def test_the_reader_agrees_with_the_arbiter(given_text: Written) -> None:
    # ruamel.yaml breaks lines at these as YAML 1.1 did, and knows no escaped slash.
    assume(not set("\x85\u2028\u2029") & set(given_text.text) and "\\/" not in given_text.text)
    try:
        judged = arbiter.documents(given_text.text)
    except YAMLError:
        assume(False)
    assert same(read(given_text.text), judged)


@given(GARBAGE)
@settings(max_examples=400)
@example("a: \ud800")
def test_any_text_is_read_or_refused_and_positions_never_raise(text: str) -> None:
    found = read(text)
    marks = Positions(text)
    assert marks.position(0, "/a/0/b") >= UNKNOWN
    if isinstance(found, Unreadable):
        assert found.message
        lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
        assert 0 <= found.line <= len(lines)
        assert found.column <= (len(lines[found.line - 1]) + 2 if found.line else 0)


@given(write())
@settings(max_examples=60)
def test_positions_agree_with_the_arbiter(given_text: Written) -> None:
    assume(
        not set("\x85\u2028\u2029") & set(given_text.text) and not re.search(r"\\(/|u[dD])", given_text.text)
    )
    try:
        judged = list(arbiter.places(given_text.text))
    except YAMLError:
        assume(False)
    marks = Positions(given_text.text)
    for document, pointer, place in judged:
        assert (pointer, marks.value(document, pointer)) == (pointer, place)


@given(write(most_documents=2))
@settings(max_examples=60)
def test_every_node_has_the_position_of_its_key(given_text: Written) -> None:
    marks = Positions(given_text.text)
    lines = given_text.text.removeprefix("\ufeff").splitlines() if given_text.text.isascii() else None
    for index, document in enumerate(given_text.documents):
        for pointer in pointers(document):
            line, column = marks.key(index, pointer)
            assert line > 0
            name = pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
            if lines is not None and name.isascii() and name.isalpha():
                assert name in lines[line - 1][column - 1 :]
            assert marks.position(index, pointer) in (marks.key(index, pointer), marks.value(index, pointer))


@pytest.mark.long
@given(write())
@settings(max_examples=5_000, deadline=None)
def test_many_written_texts_read_back(given_text: Written) -> None:
    assert same(read(given_text.text), given_text.documents)
