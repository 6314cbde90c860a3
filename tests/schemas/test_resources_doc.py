"""docs/resources.md: every example is valid, every kind has one, and its tables say what the schemas say."""

from __future__ import annotations

import json
import re

import pytest

from schemas.kinds import Kind, recognize_document
from schemas.manifest.schema_check import violations
from tests.schemas.resource_tables import DOCUMENT, render
from tests.schemas.samples import load

TEXT = DOCUMENT.read_text()
EXAMPLES = re.findall(r"```yaml\n(.*?)```", TEXT, flags=re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_every_example_is_valid(number: int) -> None:
    body = load(EXAMPLES[number])
    kind = recognize_document(body)
    assert isinstance(kind, Kind)
    assert violations(kind, body) == ()


def test_every_kind_has_an_example_and_a_table_in_its_section() -> None:
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", TEXT, flags=re.DOTALL | re.MULTILINE))
    for kind in Kind:
        assert f"\nkind: {kind}\n" in sections[kind]
        assert f"<!-- fields of {kind} -->" in sections[kind]


def test_the_tables_are_those_of_the_schemas() -> None:
    """When this fails: python -m tests.schemas.resource_tables"""
    assert render(TEXT) == TEXT


def test_the_editor_settings_are_json() -> None:
    for block in re.findall(r"```json\n(.*?)```", TEXT, flags=re.DOTALL):
        json.loads(block)
