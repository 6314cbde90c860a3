"""docs/settings.md: every setting that a schema has, and none that it has not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.docs.pages import ROOT, Page, rows

PAGE = Page(ROOT / "docs" / "settings.md")


def of_schema(root: dict[str, Any], rule: dict[str, Any], at: str = "") -> Iterator[tuple[str, Any]]:
    """Every field that holds a value, with its default."""
    if "$ref" in rule:
        rule = {**root["$defs"][rule["$ref"].rpartition("/")[2]], **rule}
    if "properties" in rule:
        for name, inner in rule["properties"].items():
            yield from of_schema(root, inner, f"{at}.{name}".lstrip("."))
    elif isinstance(rule.get("items"), dict) and "properties" in rule["items"]:
        yield from of_schema(root, rule["items"], f"{at}[]")
    elif isinstance(rule.get("additionalProperties"), dict) and "properties" in rule["additionalProperties"]:
        yield from of_schema(root, rule["additionalProperties"], f"{at}.<name>")
    else:
        yield at, rule.get("default")


def of_page(heading: str) -> dict[str, str]:
    """Field by field, with the cell of its default. `, .other` shares the beginning of the name before it."""
    found = {}
    for names, default, _ in rows(PAGE.section(heading))[1:]:
        first, *others = re.findall(r"`([^`]+)`", names)
        found[first] = default
        for other in others:
            assert other.startswith("."), other
            found[first.rpartition(".")[0] + other] = default
    return found


@pytest.mark.parametrize(
    ("heading", "schema"), [("gitvirt.yaml", "fleet.json"), ("poollet.yaml", "host.json")]
)
def test_the_page_has_what_the_schema_has(heading: str, schema: str) -> None:
    root = json.loads((ROOT / "schemas" / schema).read_text())
    wanted = dict(of_schema(root, root))
    documented = of_page(heading)
    assert set(documented) == set(wanted)
    for name, default in wanted.items():
        if default is not None:
            shown = default or '""'
            assert f"`{shown}`" in documented[name], name
