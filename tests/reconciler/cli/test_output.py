"""What verbs print for programs moves no cursor of a person who reads it in a terminal."""

from __future__ import annotations

import io
import json
import unicodedata

import pytest

from reconciler.cli.output import show_value
from reconciler.cli.terminal import Terminal

TEXT = "grüß\x1b[2J\x9b2J\x7f\u2028\u202e"


@pytest.mark.parametrize("format", ["json", "yaml"])
def test_control_characters_are_escaped(format: str) -> None:
    stream = io.StringIO()
    show_value(Terminal(stream, {}), format, {"message": TEXT})
    shown = stream.getvalue()
    assert not any(unicodedata.category(letter) == "Cc" for letter in shown if letter != "\n")
    assert "grüß" in shown


def test_json_has_no_unprintable_character_and_the_same_value() -> None:
    stream = io.StringIO()
    show_value(Terminal(stream, {}), "json", {"message": TEXT})
    shown = stream.getvalue()
    assert shown.replace("\n", "").isprintable()
    assert json.loads(shown) == {"message": TEXT}
