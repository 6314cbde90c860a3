"""Line and column of what a JSON pointer names, for values, for keys, and for what cannot be found."""

from __future__ import annotations

import pytest

from schemas.reader.events import Position
from schemas.reader.positions import UNKNOWN, Positions

TEXT = """\
kind: X
spec:
  a: 1
  b:
    - x
    - y: 2
      z: {q: [1, "2"]}
  empty:
  base: &b
    m: 1
  use:
    <<: *b
    n: 2
  list: &l [*b]
  many: {<<: [*b, {k: 4, m: 5}]}
  a/b~c: 'v'
---
? - complex
: v
&k key : w
other: *k
"""


@pytest.mark.parametrize(
    ("pointer", "position", "key", "value"),
    [
        ("", (1, 1), (1, 1), (1, 1)),
        ("/spec", (2, 1), (2, 1), (3, 3)),
        ("/spec/a", (3, 6), (3, 3), (3, 6)),
        ("/spec/b", (4, 3), (4, 3), (5, 5)),
        ("/spec/b/1", (6, 7), (6, 7), (6, 7)),
        ("/spec/b/1/z", (7, 10), (7, 7), (7, 10)),
        ("/spec/b/1/z/q/1", (7, 18), (7, 18), (7, 18)),
        ("/spec/empty", (8, 3), (8, 3), (8, 9)),
        ("/spec/use/m", (10, 8), (10, 5), (10, 8)),
        ("/spec/list/0/m", (10, 8), (10, 5), (10, 8)),
        ("/spec/many/k", (15, 23), (15, 20), (15, 23)),
        ("/spec/many/m", (10, 8), (10, 5), (10, 8)),
        ("/spec/a~1b~0c", (16, 10), (16, 3), (16, 10)),
        # what is not there: the nearest around it
        ("/spec/nope/x", (2, 1), (2, 1), (3, 3)),
        ("/spec/b/7", (4, 3), (4, 3), (5, 5)),
        ("/spec/b/-1", (4, 3), (4, 3), (5, 5)),
        ("/spec/b/²", (4, 3), (4, 3), (5, 5)),
        ("/spec/a/b/c", (3, 6), (3, 3), (3, 6)),
        ("spec", (1, 1), (1, 1), (1, 1)),
    ],
)
def test_each_pointer_has_its_position(
    pointer: str, position: Position, key: Position, value: Position
) -> None:
    marks = Positions(TEXT)
    assert marks.position(0, pointer) == position
    assert marks.key(0, pointer) == key
    assert marks.value(0, pointer) == value


@pytest.mark.parametrize(
    ("text", "document", "pointer", "want"),
    [
        (TEXT, 1, "", (18, 1)),
        (TEXT, 1, "/key", (20, 10)),
        (TEXT, 2, "", UNKNOWN),
        (TEXT, -1, "", UNKNOWN),
        ("", 0, "/a", UNKNOWN),
        ("\ufeffa: 1", 0, "/a", (1, 4)),
        ("a: 1\r\nb: 2\r\n", 0, "/b", (2, 4)),
        ("a: x\u2028\u2029\x85\nb: 2\n", 0, "/b", (2, 4)),
        ("é日😀: 2\n", 0, "/é日😀", (1, 6)),
        ('{"\\ud83d\\ude00": 1, "b": 2}', 0, "/b", (1, 26)),
        ("a: \ud800\nb: 1", 0, "/b", (2, 4)),
        ("*x : 1\n", 0, "/b", (1, 1)),
        # libyaml gives up in the third line; what precedes it keeps its position
        ("a:\n  b: 1\n  c: @\n  d: 2\n", 0, "/a/b", (2, 6)),
        ("a:\n  b: 1\n  c: @\n  d: 2\n", 0, "/a/d", (1, 1)),
        # aliases and merges in circles
        ("a: &a [*a]", 0, "/a/0/0/0", (1, 8)),
        ("&a {<<: *a, b: 1}", 0, "/b", (1, 16)),
        ("&a {<<: *a, b: 1}", 0, "/c", (1, 1)),
        ("&a {<<: [*a, *a]}", 0, "/c", (1, 1)),
        ("a: &a {b: *c, d: &c {<<: *a}}", 0, "/a/d/b", (1, 11)),
    ],
)
def test_unusual_texts_have_positions(text: str, document: int, pointer: str, want: Position) -> None:
    assert Positions(text).position(document, pointer) == want


def test_depth_costs_no_stack() -> None:
    for text in ("[" * 100_000, "- " * 100_000, "{a: " * 100_000):
        assert Positions(text).position(0, "/0" * 100_000) > UNKNOWN
