"""What verbs print for programs moves no cursor of a person who reads it in a terminal."""

from __future__ import annotations

import io
import json
import unicodedata
from typing import Any

import pytest
from ruamel.yaml import YAML

from reconciler.cli.output import quote_controls, show_value
from reconciler.cli.terminal import Terminal
from schemas.edit import render

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


CONTROLS = [*range(0x7F, 0xA0), 0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF]
HOSTILE = "a" + "".join(map(chr, CONTROLS)) + "b"
VALUE = {
    "metadata": {"name": "web", "annotations": {"note": HOSTILE, "plain": "größer ü"}},
    "list": ["x\u009b31m"],
}


@pytest.mark.parametrize("format", ["json", "yaml"])
@pytest.mark.parametrize("is_one_of_many", [False, True])
def test_hostile_characters_are_escaped_and_the_value_stays(format: str, is_one_of_many: bool) -> None:
    stream = io.StringIO()
    show_value(Terminal(stream, {}), format, VALUE, is_one_of_many=is_one_of_many)
    text = stream.getvalue()
    assert not {chr(each) for each in CONTROLS} & set(text)
    assert (json.loads(text) if format == "json" else YAML(typ="safe", pure=True).load(text)) == VALUE


@pytest.mark.parametrize("point", [0x9B, 0x85, 0x202E, 0x2066])
def test_a_document_with_a_hostile_character_is_printed_without_it(point: int) -> None:
    body: dict[str, Any] = {"metadata": {"annotations": {"note": f"a{chr(point)}b"}}}
    text = quote_controls(render(body).decode(), body)
    assert chr(point) not in text
    assert YAML(typ="safe", pure=True).load(text) == body
    plain: dict[str, Any] = {"metadata": {"annotations": {"note": "größer"}}}
    assert quote_controls(render(plain).decode(), plain) == render(plain).decode()
