"""The official YAML test suite: what the reader gets right, and exactly which cases it does not, with the reason.

tools/yaml-suite fetches it. A parser that changes any of this has to change the tables below.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from schemas.reader import Unreadable, Value, read
from schemas.reader.positions import UNKNOWN, Positions
from tests.schemas.reader.pointers import pointers

SUITE = Path(sys.prefix) / "yaml-test-suite"

# Valid YAML that is refused.
REFUSED = {
    "2JQS": "two empty keys in one mapping are duplicates",
    "X38W": "two keys that are the same list, one of them by alias, are duplicates",
    "2SXE": "an anchor whose name ends in a colon: libyaml cannot tell what aliases stand for",
    "W5VH": "an anchor whose name is made of indicators: libyaml cannot tell what aliases stand for",
    "6M2F": "an anchor on nothing: libyaml cannot tell what aliases stand for",
}


@dataclass(frozen=True)
class Case:
    name: str
    text: str
    is_valid: bool
    json: str | None

    @property
    def want(self) -> list[Value] | None:
        return None if self.json is None else list(_json_documents(self.json))


def _json_documents(text: str) -> Iterator[Value]:
    decoder, at = json.JSONDecoder(), 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        value, at = decoder.raw_decode(text, at)
        yield value


def _cases() -> Iterator[Case]:
    for file in sorted(SUITE.rglob("in.yaml")):
        folder, expected = file.parent, file.parent / "in.json"
        yield Case(
            name=folder.relative_to(SUITE).as_posix(),
            text=file.read_bytes().decode(),
            is_valid=not (folder / "error").exists(),
            json=expected.read_bytes().decode() if expected.exists() else None,
        )


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    found = list(_cases())
    assert len(found) == 402, f"tools/yaml-suite brings the suite to {SUITE}"
    return found


def _with_text_keys(value: Value) -> Value:
    """JSON has only keys that are text."""
    if isinstance(value, dict):
        return {
            key if isinstance(key, str) else json.dumps(key): _with_text_keys(child)
            for key, child in value.items()
        }
    return [_with_text_keys(child) for child in value] if isinstance(value, list) else value


def test_every_invalid_text_is_refused(cases: list[Case]) -> None:
    invalid = [case for case in cases if not case.is_valid]
    assert len(invalid) == 94
    assert [case.name for case in invalid if not isinstance(read(case.text), Unreadable)] == []


def test_every_valid_text_is_read_apart_from_the_listed_ones(cases: list[Case]) -> None:
    refused = {case.name for case in cases if case.is_valid and isinstance(read(case.text), Unreadable)}
    assert refused == set(REFUSED)


def test_every_value_is_that_of_the_suite(cases: list[Case]) -> None:
    judged = [case for case in cases if case.is_valid and case.json is not None and case.name not in REFUSED]
    assert len(judged) == 277
    for case in judged:
        documents = read(case.text)
        assert not isinstance(documents, Unreadable)
        assert (case.name, [_with_text_keys(document) for document in documents]) == (case.name, case.want)


def test_refusals_and_nearly_all_values_have_a_position(cases: list[Case]) -> None:
    placeless, known, nodes = [], 0, 0
    for case in cases:
        found = read(case.text)
        if isinstance(found, Unreadable):
            placeless += [case.name] * (not found.line)
            continue
        marks = Positions(case.text)
        for at, document in enumerate(found):
            for pointer in pointers(document):
                around = pointer.rpartition("/")[0]
                places = {marks.key(at, pointer), marks.value(at, pointer)}
                nodes += 1
                known += UNKNOWN not in places and (
                    not pointer or places != {marks.key(at, around), marks.value(at, around)}
                )
    assert placeless == ["2JQS", "X38W"]
    assert (known, nodes) == (1032, 1128)
