"""Bytes to values: whatever comes in, a value or a finding with a place in the text comes out."""

from __future__ import annotations

from reconciler.cli.codes import CODES
from schemas.reader import Unreadable, read
from schemas.reader.positions import Positions
from tests.schemas.reader.yaml_texts import TRICKY

SEEDS = [
    b"a: &x [1, 2]\nb: *x\n<<: {c: 3}\n",
    b"--- |\n  text\n...\n%YAML 1.2\n--- !!set {a, b}\n",
    b'{"a": [1_000, 0b11, "\\ud83d\\ude00"], "b": {}}',
    b"? - complex\n: - - x\n  - y: 'q'' q'\n",
    *(f"a: {word}\n".encode() for word in TRICKY),
]


def once(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    found = read(text)
    if isinstance(found, Unreadable):
        assert found.code in CODES
        assert found.message.isprintable(), found.message
        assert found.hint.isprintable(), found.hint
        assert 0 <= found.line <= text.count("\n") + text.count("\r") + 1
    Positions(text).position(0, "/a/0")
